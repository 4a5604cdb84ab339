/* The control group that the trial's processes are in, read only. Where it is the lab's own too, it counts others
 * besides, and says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/procfs_text.h"
#include "telemetry/source.h"
#include "telemetry/tree_watch.h"

typedef struct cgroup {
    char memory[BL_SYSFILE_PATH_MAX], cpu[BL_SYSFILE_PATH_MAX]; /* folders; "" where there is none */
    bool memory_is_2, cpu_is_2;                                 /* version 2 of control groups */
    bool settled, shared;
    int series_memory, series_cpu, series_throttled;
} cgroup;

/* The folder of a group. In a container the path may be the one outside, of which only the end, or nothing, is
 * mounted here. */
static bool find_folder(const char *root, const char *mount, const char *path, const char *file, char *out, size_t size)
{
    char probe[BL_SYSFILE_PATH_MAX], text[16];
    for (int inside = 0; inside < 2; inside++) {
        const char *below = inside || strcmp(path, "/") == 0 ? "" : path;
        if (bl_sysfile_path(out, size, root, "%s%s", mount, below) &&
            bl_sysfile_path(probe, sizeof probe, out, "/%s", file) && bl_sysfile_read(probe, text, sizeof text) >= 0)
            return true;
    }
    out[0] = '\0';
    return false;
}

/* Version 2 is mounted alone, or beside version 1 at "unified". */
static void find_groups(const char *root, const char *text, cgroup *c)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char path[BL_SYSFILE_PATH_MAX];
    c->memory[0] = c->cpu[0] = '\0';
    for (size_t i = 0; i < BL_ARRAY_LEN(mounts) && bl_text_cgroup(text, NULL, path, sizeof path); i++) {
        if (!c->memory[0])
            c->memory_is_2 = find_folder(root, mounts[i], path, "memory.current", c->memory, sizeof c->memory);
        if (!c->cpu[0])
            c->cpu_is_2 = find_folder(root, mounts[i], path, "cpu.stat", c->cpu, sizeof c->cpu);
    }
    if (!c->memory[0] && bl_text_cgroup(text, "memory", path, sizeof path))
        find_folder(root, "/sys/fs/cgroup/memory", path, "memory.usage_in_bytes", c->memory, sizeof c->memory);
    if (!c->cpu[0] && bl_text_cgroup(text, "cpuacct", path, sizeof path) &&
        !find_folder(root, "/sys/fs/cgroup/cpuacct", path, "cpuacct.usage", c->cpu, sizeof c->cpu))
        find_folder(root, "/sys/fs/cgroup/cpu,cpuacct", path, "cpuacct.usage", c->cpu, sizeof c->cpu);
}

static bool read_membership(const char *root, const char *process, char *text, size_t size)
{
    char path[BL_SYSFILE_PATH_MAX];
    return bl_sysfile_path(path, sizeof path, root, "/proc/%s/cgroup", process) &&
           bl_sysfile_read(path, text, size) > 0;
}

static int open_cgroup(bl_source *source)
{
    cgroup *c = source->data = bl_calloc(1, sizeof *c);
    char text[4096];
    if (!c)
        return BL_ERR_NOMEM;
    if (!read_membership(source->spec->root, "self", text, sizeof text)) {
        bl_source_absent(source, "", "/proc/self/cgroup cannot be read");
        return BL_OK;
    }
    find_groups(source->spec->root, text, c);
    if (!c->memory[0] && !c->cpu[0]) {
        bl_source_absent(source, "mount -t cgroup2 none /sys/fs/cgroup",
                         "the group's folder below /sys/fs/cgroup cannot be found");
        return BL_OK;
    }
    bl_source_found(source, "memory: %s, processor time: %s",
                    !c->memory[0]    ? "none"
                    : c->memory_is_2 ? "version 2"
                                     : "version 1",
                    !c->cpu[0]    ? "none"
                    : c->cpu_is_2 ? "version 2"
                                  : "version 1");
    c->series_memory = bl_source_add(source, BL_METRIC_MEMORY, "control group");
    c->series_cpu = bl_source_add(source, BL_METRIC_CPU_TIME, "control group");
    c->series_throttled = bl_source_add(source, BL_METRIC_THROTTLED_TIME, "control group");
    return c->series_memory >= 0 && c->series_cpu >= 0 && c->series_throttled >= 0 ? BL_OK : BL_ERR_NOMEM;
}

static void begin_cgroup(bl_source *source)
{
    cgroup *c = source->data;
    c->settled = false;
}

/* The lab may move the trial's first process into its group a moment after that has begun, so a shared one is looked up
 * again. */
static void settle(bl_source *source, cgroup *c)
{
    char own[4096], theirs[4096], process[32];
    bl_tree_watch *watch = bl_source_tree_watch(source);
    pid_t pid = watch ? bl_tree_watch_any(watch) : 0;
    snprintf(process, sizeof process, "%ld", (long)pid);
    if (pid == 0 || !read_membership(source->spec->root, process, theirs, sizeof theirs) ||
        !read_membership(source->spec->root, "self", own, sizeof own))
        return;
    find_groups(source->spec->root, theirs, c);
    c->shared = strcmp(own, theirs) == 0;
    c->settled = !c->shared;
    const char *note = c->shared ? "the group is not the trial's alone: others count too" : "";
    bl_source_note(source, c->series_memory, note);
    bl_source_note(source, c->series_cpu, note);
    bl_source_note(source, c->series_throttled, note);
}

static bool read_file(const char *folder, const char *file, char *text, size_t size)
{
    char path[BL_SYSFILE_PATH_MAX];
    return folder[0] && bl_sysfile_path(path, sizeof path, folder, "/%s", file) &&
           bl_sysfile_read(path, text, size) > 0;
}

static void look_cgroup(bl_source *source, int64_t now_ns)
{
    cgroup *c = source->data;
    char text[4096];
    const char *at = text;
    int64_t value, throttled;
    if (!c->settled)
        settle(source, c);
    if (read_file(c->memory, c->memory_is_2 ? "memory.current" : "memory.usage_in_bytes", text, sizeof text) &&
        bl_text_take_i64(&at, &value) && value >= 0)
        bl_source_set(source, c->series_memory, (double)value);
    else
        bl_source_miss(source, c->series_memory, "the group has no controller of memory here");
    at = text;
    if (c->cpu_is_2 && read_file(c->cpu, "cpu.stat", text, sizeof text) && bl_text_field(text, "usage_usec", &value)) {
        bl_source_set(source, c->series_cpu, (double)value / 1e6);
        if (bl_text_field(text, "throttled_usec", &throttled))
            bl_source_set(source, c->series_throttled, (double)throttled / 1e6);
        else
            bl_source_miss(source, c->series_throttled, "the group has no quota of processor time");
    } else if (!c->cpu_is_2 && read_file(c->cpu, "cpuacct.usage", text, sizeof text) && bl_text_take_i64(&at, &value)) {
        bl_source_set(source, c->series_cpu, (double)value / 1e9);
        bl_source_miss(source, c->series_throttled, "control groups of version 1 are not asked for it");
    } else {
        bl_source_miss(source, c->series_cpu, "the group has no accounting of processor time here");
        bl_source_miss(source, c->series_throttled, "the group has no accounting of processor time here");
    }
}

static void close_cgroup(bl_source *source)
{
    free(source->data);
}

const bl_source_kind bl_source_cgroup = {
    .version = BL_SOURCE_VERSION,
    .name = "cgroup",
    .open = open_cgroup,
    .begin = begin_cgroup,
    .look = look_cgroup,
    .close = close_cgroup,
};
