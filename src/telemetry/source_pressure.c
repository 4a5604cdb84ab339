/* Pressure stall information: for how long something waited for a processor, for memory, for input and output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/procfs_text.h"
#include "telemetry/source.h"

static const struct {
    const char *file;
    bl_metric metric;
} kinds[] = {
    {"cpu", BL_METRIC_CPU_STALL},
    {"memory", BL_METRIC_MEMORY_STALL},
    {"io", BL_METRIC_IO_STALL},
};

typedef struct pressure {
    char paths[BL_ARRAY_LEN(kinds)][BL_SYSFILE_PATH_MAX];
    int series[BL_ARRAY_LEN(kinds)];
} pressure;

static int open_pressure(bl_source *source)
{
    pressure *p = source->data = bl_calloc(1, sizeof *p);
    if (!p)
        return BL_ERR_NOMEM;
    char text[512];
    int64_t us;
    size_t n = 0;
    int error = ENOENT;
    for (size_t i = 0; i < BL_ARRAY_LEN(kinds); i++) {
        p->series[i] = -1;
        if (!bl_sysfile_path(p->paths[i], sizeof p->paths[i], source->spec->root, "/proc/pressure/%s", kinds[i].file))
            continue;
        if (bl_sysfile_read(p->paths[i], text, sizeof text) < 0 || !bl_text_pressure_us(text, "some", &us)) {
            error = errno;
            continue;
        }
        if ((p->series[i] = bl_source_add(source, kinds[i].metric, "machine")) < 0)
            return BL_ERR_NOMEM;
        n++;
    }
    if (n > 0)
        bl_source_found(source, "/proc/pressure");
    else if (error == EOPNOTSUPP) /* built in, and switched off */
        bl_source_absent(source, "start the kernel with psi=1", "pressure stall information is switched off");
    else
        bl_source_absent(source, "a kernel with CONFIG_PSI, started with psi=1", "this kernel has no /proc/pressure");
    return BL_OK;
}

static void look_pressure(bl_source *source, int64_t now_ns)
{
    const pressure *p = source->data;
    char text[512];
    int64_t us;
    for (size_t i = 0; i < BL_ARRAY_LEN(kinds); i++) {
        if (p->series[i] < 0)
            continue;
        if (bl_sysfile_read(p->paths[i], text, sizeof text) > 0 && bl_text_pressure_us(text, "some", &us))
            bl_source_set(source, p->series[i], (double)us / 1e6);
        else
            bl_source_miss(source, p->series[i], "/proc/pressure/%s could not be read", kinds[i].file);
    }
}

static void close_pressure(bl_source *source)
{
    free(source->data);
}

const bl_source_kind bl_source_pressure = {
    .version = BL_SOURCE_VERSION,
    .name = "pressure",
    .period_ns = 500000000,
    .open = open_pressure,
    .look = look_pressure,
    .close = close_pressure,
};
