/* AMD's devices, by what the amdgpu driver shows in /sys. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/source.h"

#define DEVICES_MAX 32

/* What is read of a device: files of one number. */
static const struct {
    const char *file; /* below the device, or its hwmon */
    bool hwmon;
    bl_metric metric;
    double scale, max; /* to the metric's unit; what lies beyond makes no sense */
} kinds[] = {
    {"gpu_busy_percent", false, BL_METRIC_BUSY, 1e-2, 1},
    {"mem_busy_percent", false, BL_METRIC_MEMORY_BUSY, 1e-2, 1},
    {"mem_info_vram_used", false, BL_METRIC_MEMORY, 1, 1e15},
    {"mem_info_vram_total", false, BL_METRIC_MEMORY_TOTAL, 1, 1e15},
    {"power1_input", true, BL_METRIC_POWER, 1e-6, 5000},
    {"power1_average", true, BL_METRIC_POWER_AVERAGE, 1e-6, 5000},
    {"temp1_input", true, BL_METRIC_TEMPERATURE, 1e-3, 150},
    {"freq1_input", true, BL_METRIC_DEVICE_CLOCK, 1, 1e10},
    {"freq2_input", true, BL_METRIC_MEMORY_CLOCK, 1, 1e11},
};

#define KINDS BL_ARRAY_LEN(kinds)

typedef struct device {
    char paths[KINDS][BL_SYSFILE_PATH_MAX];
    int series[KINDS];
    char status[BL_SYSFILE_PATH_MAX]; /* whether it sleeps */
    int energy;                       /* series of its integrated power */
    double last_w, total_j;
    int64_t last_ns; /* 0: no power yet */
} device;

typedef struct amdgpu {
    device *devices;
    size_t n;
} amdgpu;

static bool is_amd(const char *folder)
{
    char path[BL_SYSFILE_PATH_MAX], text[32];
    return bl_sysfile_path(path, sizeof path, folder, "/vendor") && bl_sysfile_line(path, text, sizeof text) &&
           strcmp(text, "0x1002") == 0;
}

/* The device's name for people: its serial number, else where it is plugged in. */
static void name_device(const char *folder, const char *card, char *out, size_t size)
{
    char path[BL_SYSFILE_PATH_MAX], text[64];
    if (bl_sysfile_path(path, sizeof path, folder, "/unique_id") && bl_sysfile_line(path, text, sizeof text) && text[0])
        snprintf(out, size, "%s %s", card, text);
    else
        snprintf(out, size, "%s", card);
}

static int open_device(bl_source *source, amdgpu *a, const char *folder, const char *card)
{
    device *more = bl_realloc(a->devices, a->n + 1, sizeof *more);
    if (!more)
        return BL_ERR_NOMEM;
    a->devices = more;
    device *d = &a->devices[a->n++];
    *d = (device){.energy = -1};
    char scope[80], hwmon[BL_SYSFILE_PATH_MAX], text[32];
    name_device(folder, card, scope, sizeof scope);
    bl_strv monitors;
    bl_strv_init(&monitors);
    int code = bl_sysfile_path(hwmon, sizeof hwmon, folder, "/hwmon") ? bl_sysfile_list(hwmon, "hwmon", &monitors) : 0;
    if (!bl_sysfile_path(d->status, sizeof d->status, folder, "/power/runtime_status"))
        d->status[0] = '\0';
    bool power = false;
    for (size_t i = 0; code == BL_OK && i < KINDS; i++) {
        d->series[i] = -1;
        bool fits = kinds[i].hwmon ? monitors.len > 0 && bl_sysfile_path(d->paths[i], sizeof d->paths[i], hwmon,
                                                                         "/%s/%s", monitors.items[0], kinds[i].file)
                                   : bl_sysfile_path(d->paths[i], sizeof d->paths[i], folder, "/%s", kinds[i].file);
        /* A file that is there may refuse while the device sleeps: it is asked again at each look. */
        if (!fits || (bl_sysfile_read(d->paths[i], text, sizeof text) < 0 && errno == ENOENT))
            continue;
        if ((d->series[i] = bl_source_add(source, kinds[i].metric, scope)) < 0)
            code = BL_ERR_NOMEM;
        power = power || kinds[i].metric == BL_METRIC_POWER || kinds[i].metric == BL_METRIC_POWER_AVERAGE;
    }
    if (code == BL_OK && power && (d->energy = bl_source_add(source, BL_METRIC_ENERGY_INTEGRATED, scope)) < 0)
        code = BL_ERR_NOMEM;
    bl_strv_clear(&monitors);
    return code;
}

static int open_amdgpu(bl_source *source)
{
    amdgpu *a = source->data = bl_calloc(1, sizeof *a);
    bl_strv cards;
    bl_strv_init(&cards);
    char base[BL_SYSFILE_PATH_MAX], folder[BL_SYSFILE_PATH_MAX];
    int code = !a ? BL_ERR_NOMEM
               : bl_sysfile_path(base, sizeof base, source->spec->root, "/sys/class/drm")
                   ? bl_sysfile_list(base, "card", &cards)
                   : BL_OK;
    for (size_t i = 0; code == BL_OK && i < cards.len && a->n < DEVICES_MAX; i++)
        if (!strchr(cards.items[i], '-') && /* card0-DP-1 is a plug of card0 */
            bl_sysfile_path(folder, sizeof folder, base, "/%s/device", cards.items[i]) && is_amd(folder))
            code = open_device(source, a, folder, cards.items[i]);
    bl_strv_clear(&cards);
    if (code == BL_OK && a->n > 0)
        bl_source_found(source, "%zu device%s", a->n, a->n == 1 ? "" : "s");
    else if (code == BL_OK)
        bl_source_absent(source, "", "there is no device of AMD's with the amdgpu driver in /sys/class/drm");
    return code;
}

static void begin_amdgpu(bl_source *source)
{
    amdgpu *a = source->data;
    for (size_t i = 0; i < a->n; i++) {
        a->devices[i].last_ns = 0;
        a->devices[i].total_j = 0;
    }
}

/* Reading its sensors would wake it. */
static bool sleeps(const device *d)
{
    char text[32];
    return d->status[0] && bl_sysfile_line(d->status, text, sizeof text) && strcmp(text, "suspended") == 0;
}

static void integrate(bl_source *source, device *d, double power_w, int64_t now_ns)
{
    if (d->last_ns > 0)
        d->total_j += (d->last_w + power_w) / 2 * (double)(now_ns - d->last_ns) / 1e9;
    d->last_w = power_w;
    d->last_ns = now_ns;
    bl_source_set(source, d->energy, d->total_j);
}

static void look_device(bl_source *source, device *d, int64_t now_ns)
{
    bool asleep = sleeps(d), integrated = false;
    for (size_t i = 0; i < KINDS; i++) {
        int64_t raw;
        if (d->series[i] < 0)
            continue;
        if (asleep) {
            bl_source_miss(source, d->series[i], "the device sleeps, and is not woken for this");
            continue;
        }
        if (!bl_sysfile_i64(d->paths[i], &raw)) {
            bl_source_miss(source, d->series[i], "%s: %s", kinds[i].file, strerror(errno));
            continue;
        }
        double value = (double)raw * kinds[i].scale;
        if (raw < 0 || value > kinds[i].max) {
            bl_source_miss(source, d->series[i], "%s said %lld, which makes no sense", kinds[i].file, (long long)raw);
            continue;
        }
        bl_source_set(source, d->series[i], value);
        bool power = kinds[i].metric == BL_METRIC_POWER || kinds[i].metric == BL_METRIC_POWER_AVERAGE;
        if (power && !integrated)
            integrate(source, d, value, now_ns);
        integrated = integrated || power;
    }
}

static void look_amdgpu(bl_source *source, int64_t now_ns)
{
    amdgpu *a = source->data;
    for (size_t i = 0; i < a->n; i++)
        look_device(source, &a->devices[i], now_ns);
}

static void close_amdgpu(bl_source *source)
{
    amdgpu *a = source->data;
    if (a)
        free(a->devices);
    free(a);
}

const bl_source_kind bl_source_amdgpu = {
    .version = BL_SOURCE_VERSION,
    .name = "amdgpu",
    .open = open_amdgpu,
    .begin = begin_amdgpu,
    .look = look_amdgpu,
    .close = close_amdgpu,
};
