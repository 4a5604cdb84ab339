/* All descendants of a process, and the memory they hold, from /proc. */
#ifndef BL_TELEMETRY_PROCESS_TREE_H
#define BL_TELEMETRY_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BL_PROCESS_TREE_MAX 65536 /* processes; further ones are not looked at */

typedef struct bl_process_tree {
    const char *proc; /* the root of procfs, borrowed; "/proc", or a fixture in tests */
    bool scan_all;    /* this kernel lists no children: the parents in PID/stat of every process are read instead */
    pid_t *pids;      /* of the last scan, parents before children */
    size_t len, cap;
} bl_process_tree;

typedef struct bl_tree_memory {
    int64_t resident_b;     /* sum over the tree; pages that processes share count once for each of them */
    int64_t largest_peak_b; /* the highest VmHWM of a single process: what no sampling can miss */
    int64_t largest_data_b; /* the most private writable memory that one process has reserved (VmData), used or not */
    size_t n_processes;     /* that could be read */
} bl_tree_memory;

void bl_process_tree_init(bl_process_tree *tree, const char *proc);
void bl_process_tree_clear(bl_process_tree *tree);
/* Lists the descendants of `root` (itself left out) into tree->pids. A process that ends meanwhile is simply not
 * there. BL_ERR_ENV where procfs cannot be read, BL_ERR_NOMEM. */
int bl_process_tree_scan(bl_process_tree *tree, pid_t root, bl_error *err);
/* Over the processes of the last scan. */
void bl_process_tree_memory(const bl_process_tree *tree, bl_tree_memory *out);
/* The same processes' memory with shared pages counted once (Pss of smaps_rollup); -1 where the kernel tells that of
 * none of them. Costs much more than the above. */
int64_t bl_process_tree_proportional_b(const bl_process_tree *tree);
/* How many of them have a thread that is neither stopped nor ended. */
size_t bl_process_tree_awake(const bl_process_tree *tree);
/* The first accelerator that one of them has open, such as /dev/nvidia0, into `path`; false where none has. */
bool bl_process_tree_device(const bl_process_tree *tree, char *path, size_t size);
/* VmHWM of one process, its own peak, in bytes; 0 where it cannot be read. */
int64_t bl_process_peak_b(const char *proc, pid_t pid);
/* Its number among the processes of one training, as the environment that a launcher (mpirun, srun, torchrun) gave it
 * says; -1 where it says none. */
long bl_process_rank(const char *proc, pid_t pid);

#endif
