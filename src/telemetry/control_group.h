/* Control groups of version 2, where the group that this process is in was delegated to us: a group for each trial,
 * with a limit of memory, counts and an exact peak. All paths lie under `root`: "" for the machine's own /proc and
 * /sys, or the folder of a fixture. */
#ifndef BL_TELEMETRY_CONTROL_GROUP_H
#define BL_TELEMETRY_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BL_GROUP_PATH_MAX 1024

typedef struct bl_groups {
    bool usable;
    char reason[600];              /* why not; "" where usable */
    char base[BL_GROUP_PATH_MAX];  /* the folder of the group in which trials get theirs */
    char aside[BL_GROUP_PATH_MAX]; /* where `pids` were moved to make that possible; "" where they were not */
    pid_t pids[4];
    size_t n_pids;
    bool switched_on; /* the memory controller, by us */
} bl_groups;

/* Finds out whether groups can be made. A group that has members cannot have children with limits, so `pids` (those of
 * the lab, at most 4) move into one beside; where the group has other members, nothing is changed and usable is false.
 */
void bl_groups_open(const char *root, const pid_t *pids, size_t n_pids, bl_groups *out);
/* Undoes what _open did. */
void bl_groups_close(bl_groups *groups);

typedef struct bl_group {
    char path[BL_GROUP_PATH_MAX + 64]; /* "": none */
} bl_group;

/* limit_b: most bytes that its processes may hold together, swap left out; 0: no limit. At the limit the kernel kills
 * all of them. BL_ERR_ENV where the system refuses; nothing is left behind then. */
int bl_group_make(const bl_groups *groups, const char *name, uint64_t limit_b, bl_group *out, bl_error *err);

typedef struct bl_group_memory {
    int64_t peak_b;    /* of all its processes, with the page cache that they filled; -1 where this kernel tells none */
    int64_t oom_kills; /* processes killed because memory was out in the group; -1 where not known */
    int64_t max_hits;  /* how often the limit was met, and memory had to be freed first; -1 where not known */
} bl_group_memory;

void bl_group_read(const bl_group *group, bl_group_memory *out);
/* Kills what lives in it, and removes it. False where it is still there after a second. */
bool bl_group_remove(bl_group *group);

#endif
