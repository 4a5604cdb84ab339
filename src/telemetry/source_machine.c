/* The whole machine: processor time of everybody, and memory that is left. What others use disturbs a trial. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "telemetry/procfs_text.h"
#include "telemetry/source.h"

/* The kernel makes the whole of /proc/stat for each reader, which takes long where there are many processors. */
#define STAT_B 4096

typedef struct machine {
    char stat[BL_SYSFILE_PATH_MAX], meminfo[BL_SYSFILE_PATH_MAX];
    int cpu_time, stolen_time, available;
} machine;

static int open_machine(bl_source *source)
{
    char text[STAT_B];
    int64_t busy, stolen;
    machine *m = source->data = bl_calloc(1, sizeof *m);
    if (!m)
        return BL_ERR_NOMEM;
    if (!bl_sysfile_path(m->stat, sizeof m->stat, source->spec->root, "/proc/stat") ||
        !bl_sysfile_path(m->meminfo, sizeof m->meminfo, source->spec->root, "/proc/meminfo") ||
        bl_sysfile_read(m->stat, text, sizeof text) < 0 || !bl_text_cpu_ticks(text, &busy, &stolen)) {
        bl_source_absent(source, "", "/proc/stat cannot be read");
        return BL_OK;
    }
    m->cpu_time = bl_source_add(source, BL_METRIC_CPU_TIME, "machine");
    m->stolen_time = bl_source_add(source, BL_METRIC_STOLEN_TIME, "machine");
    m->available = bl_source_add(source, BL_METRIC_MEMORY_AVAILABLE, "machine");
    bl_source_found(source, "/proc/stat, /proc/meminfo");
    return m->cpu_time >= 0 && m->stolen_time >= 0 && m->available >= 0 ? BL_OK : BL_ERR_NOMEM;
}

static void look_machine(bl_source *source, int64_t now_ns)
{
    const machine *m = source->data;
    char text[STAT_B];
    int64_t busy, stolen, kib;
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    if (bl_sysfile_read(m->stat, text, sizeof text) > 0 && bl_text_cpu_ticks(text, &busy, &stolen)) {
        bl_source_set(source, m->cpu_time, (double)busy * tick_s);
        bl_source_set(source, m->stolen_time, (double)stolen * tick_s);
    } else {
        bl_source_miss(source, m->cpu_time, "/proc/stat could not be read");
        bl_source_miss(source, m->stolen_time, "/proc/stat could not be read");
    }
    if (bl_sysfile_read(m->meminfo, text, sizeof text) > 0 && bl_text_field(text, "MemAvailable", &kib) && kib >= 0)
        bl_source_set(source, m->available, (double)kib * 1024);
    else
        bl_source_miss(source, m->available, "/proc/meminfo does not say");
}

static void close_machine(bl_source *source)
{
    free(source->data);
}

const bl_source_kind bl_source_machine = {
    .version = BL_SOURCE_VERSION,
    .name = "machine",
    .period_ns = 500000000,
    .open = open_machine,
    .look = look_machine,
    .close = close_machine,
};
