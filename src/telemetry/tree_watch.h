/* What a process tree uses, looked at often: cheap enough for ten looks a second at hundreds of processes. Files stay
 * open between looks, processor time comes from the processes' clocks, and who belongs to the tree is found out anew
 * only as often as that costs 0.2 % of a core. */
#ifndef BL_TELEMETRY_TREE_WATCH_H
#define BL_TELEMETRY_TREE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct bl_tree_watch bl_tree_watch;

typedef struct bl_tree_usage {
    size_t n_processes;  /* living descendants */
    int64_t resident_b;  /* their sum; pages that processes share count once for each of them, but
                            for those of a child that was forked just now */
    int64_t cpu_ns;      /* user and system time since the watch began, of processes that have ended too; what a process
                            used after the last look before its end is missing */
    pid_t largest;       /* the process with the most resident memory; 0: none */
    size_t n_unreadable; /* that no memory could be read of */
} bl_tree_usage;

/* proc: the root of procfs, copied. root: its descendants are watched, itself left out. */
int bl_tree_watch_new(const char *proc, pid_t root, bl_tree_watch **out, bl_error *err);
void bl_tree_watch_free(bl_tree_watch *watch); /* NULL is fine */
/* BL_ERR_ENV where procfs cannot be read, BL_ERR_NOMEM. */
int bl_tree_watch_look(bl_tree_watch *watch, bl_tree_usage *out, bl_error *err);
/* The next look finds out who belongs to the tree, whatever that costs. */
void bl_tree_watch_renew(bl_tree_watch *watch);
/* The tree has ended: closes the files of its processes. */
void bl_tree_watch_forget(bl_tree_watch *watch);
/* As of the last look. */
bool bl_tree_watch_has(const bl_tree_watch *watch, pid_t pid);
/* One process of the tree, to look up where it belongs; 0 where there is none. */
pid_t bl_tree_watch_any(const bl_tree_watch *watch);

#endif
