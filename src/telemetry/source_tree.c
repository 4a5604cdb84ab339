/* The trial's processes: how many, their memory, their processor time. */
#include <stdio.h>

#include "telemetry/source.h"
#include "telemetry/tree_watch.h"

enum { PROCESSES, MEMORY, CPU_TIME, SERIES };

static int open_tree(bl_source *source)
{
    bl_tree_watch *watch = NULL;
    char proc[BL_SYSFILE_PATH_MAX];
    if (source->spec->tree_root <= 0) {
        bl_source_absent(source, "", "no trial runs");
        return BL_OK;
    }
    if (!bl_sysfile_path(proc, sizeof proc, source->spec->root, "/proc")) {
        bl_source_absent(source, "", "the path to /proc is too long");
        return BL_OK;
    }
    if (bl_tree_watch_new(proc, source->spec->tree_root, &watch, NULL) != BL_OK)
        return BL_ERR_NOMEM;
    source->data = watch;
    bl_error err = {0};
    bl_tree_usage usage;
    int code = bl_tree_watch_look(watch, &usage, &err);
    if (code == BL_ERR_NOMEM)
        return code;
    if (code != BL_OK) {
        bl_source_absent(source, "mount -t proc proc /proc", "%s", err.message);
        return BL_OK;
    }
    bl_source_share_tree(source, watch);
    bl_source_found(source, "%s", proc);
    int first = bl_source_add(source, BL_METRIC_PROCESSES, "tree");
    return first == PROCESSES && bl_source_add(source, BL_METRIC_MEMORY, "tree") == MEMORY &&
                   bl_source_add(source, BL_METRIC_CPU_TIME, "tree") == CPU_TIME
               ? BL_OK
               : BL_ERR_NOMEM;
}

static void begin_tree(bl_source *source)
{
    bl_tree_watch_renew(source->data);
}

/* The tree's source is the first, so its series are too. */
static void look_tree(bl_source *source, int64_t now_ns)
{
    bl_tree_usage usage;
    bl_error err = {0};
    if (bl_tree_watch_look(source->data, &usage, &err) != BL_OK) {
        for (int i = 0; i < SERIES; i++)
            bl_source_miss(source, i, "%s", err.message);
        return;
    }
    bl_source_set(source, PROCESSES, (double)usage.n_processes);
    bl_source_set(source, CPU_TIME, (double)usage.cpu_ns / 1e9);
    if (usage.n_unreadable > 0)
        bl_source_miss(source, MEMORY, "the memory of %zu processes cannot be read", usage.n_unreadable);
    else if (usage.n_processes > 0) /* at the end none is left: that is no reason to tell */
        bl_source_set(source, MEMORY, (double)usage.resident_b);
}

static void close_tree(bl_source *source)
{
    bl_source_share_tree(source, NULL);
    bl_tree_watch_free(source->data);
}

const bl_source_kind bl_source_tree = {
    .version = BL_SOURCE_VERSION,
    .name = "process tree",
    .open = open_tree,
    .begin = begin_tree,
    .look = look_tree,
    .close = close_tree,
};
