/* The processors' clock, temperature, and how often heat has slowed them down. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/procfs_text.h"
#include "telemetry/source.h"

#define FILES_MAX         1024
#define CPUINFO_PERIOD_NS 10000000000LL

/* Paths to files of one number each. */
typedef struct file_list {
    bl_strv paths;
    int series;
} file_list;

typedef struct cpu {
    file_list frequencies, temperatures, throttles;
    char cpuinfo[BL_SYSFILE_PATH_MAX]; /* in place of frequencies; "" */
    int64_t cpuinfo_ns;                /* when it is read again: it is long where there are many processors */
} cpu;

static int add_path(file_list *list, const char *path)
{
    char text[64];
    if (list->paths.len >= FILES_MAX || bl_sysfile_read(path, text, sizeof text) < 0)
        return BL_OK;
    return bl_strv_push(&list->paths, path);
}

static bool is_processor(const char *name)
{
    return name[3] >= '0' && name[3] <= '9'; /* not cpufreq or cpuidle */
}

/* Throttling: a count of events of each core, which its hardware threads share, and of each package. */
static int find_processors(const char *root, cpu *c)
{
    bl_strv names;
    bl_strv_init(&names);
    char folder[BL_SYSFILE_PATH_MAX], path[BL_SYSFILE_PATH_MAX];
    int code = bl_sysfile_path(folder, sizeof folder, root, "/sys/devices/system/cpu")
                   ? bl_sysfile_list(folder, "cpu", &names)
                   : BL_OK;
    for (size_t i = 0; code == BL_OK && i < names.len; i++) {
        if (!is_processor(names.items[i]))
            continue;
        if (bl_sysfile_path(path, sizeof path, folder, "/%s/cpufreq/scaling_cur_freq", names.items[i]))
            code = add_path(&c->frequencies, path);
        if (code == BL_OK &&
            bl_sysfile_path(path, sizeof path, folder, "/%s/thermal_throttle/core_throttle_count", names.items[i]))
            code = add_path(&c->throttles, path);
    }
    bl_strv_clear(&names);
    return code;
}

/* Drivers of processors' own sensors; others measure disks, boards and batteries. */
static bool is_processor_sensor(const char *driver)
{
    static const char *const drivers[] = {"coretemp", "k10temp", "k8temp", "zenpower", "cpu_thermal", "fam15h_power"};
    for (size_t i = 0; i < BL_ARRAY_LEN(drivers); i++)
        if (strcmp(driver, drivers[i]) == 0)
            return true;
    return false;
}

static int find_hwmon(const char *root, cpu *c)
{
    bl_strv monitors, sensors;
    bl_strv_init(&monitors);
    bl_strv_init(&sensors);
    char folder[BL_SYSFILE_PATH_MAX], path[BL_SYSFILE_PATH_MAX], driver[64];
    int code = bl_sysfile_path(folder, sizeof folder, root, "/sys/class/hwmon")
                   ? bl_sysfile_list(folder, "hwmon", &monitors)
                   : BL_OK;
    for (size_t i = 0; code == BL_OK && i < monitors.len; i++) {
        if (!bl_sysfile_path(path, sizeof path, folder, "/%s/name", monitors.items[i]) ||
            !bl_sysfile_line(path, driver, sizeof driver) || !is_processor_sensor(driver) ||
            !bl_sysfile_path(path, sizeof path, folder, "/%s", monitors.items[i]))
            continue;
        bl_strv_clear(&sensors);
        code = bl_sysfile_list(path, "temp", &sensors);
        for (size_t k = 0; code == BL_OK && k < sensors.len; k++) {
            const char *ending = strrchr(sensors.items[k], '_');
            if (ending && strcmp(ending, "_input") == 0 &&
                bl_sysfile_path(path, sizeof path, folder, "/%s/%s", monitors.items[i], sensors.items[k]))
                code = add_path(&c->temperatures, path);
        }
    }
    bl_strv_clear(&sensors);
    bl_strv_clear(&monitors);
    return code;
}

/* Where no driver of sensors is loaded, the kernel's thermal zones may know; only those that are the processor's. */
static int find_zones(const char *root, cpu *c)
{
    bl_strv zones;
    bl_strv_init(&zones);
    char folder[BL_SYSFILE_PATH_MAX], path[BL_SYSFILE_PATH_MAX], type[64];
    int code = bl_sysfile_path(folder, sizeof folder, root, "/sys/class/thermal")
                   ? bl_sysfile_list(folder, "thermal_zone", &zones)
                   : BL_OK;
    for (size_t i = 0; code == BL_OK && i < zones.len; i++) {
        if (!bl_sysfile_path(path, sizeof path, folder, "/%s/type", zones.items[i]) ||
            !bl_sysfile_line(path, type, sizeof type) ||
            (strcmp(type, "x86_pkg_temp") != 0 && !strstr(type, "cpu") && !strstr(type, "CPU") &&
             !strstr(type, "soc")) ||
            !bl_sysfile_path(path, sizeof path, folder, "/%s/temp", zones.items[i]))
            continue;
        code = add_path(&c->temperatures, path);
    }
    bl_strv_clear(&zones);
    return code;
}

static bool cpuinfo_hz(const cpu *c, double *out)
{
    static const size_t size = 1 << 20;
    char *text = c->cpuinfo[0] ? bl_calloc(1, size) : NULL;
    bool found = text && bl_sysfile_read(c->cpuinfo, text, size) > 0 && bl_text_cpuinfo_hz(text, out);
    free(text);
    return found;
}

static int add_series(bl_source *source, cpu *c)
{
    double hz;
    c->frequencies.series = c->temperatures.series = c->throttles.series = -1;
    bool from_cpuinfo = c->frequencies.paths.len == 0 &&
                        bl_sysfile_path(c->cpuinfo, sizeof c->cpuinfo, source->spec->root, "/proc/cpuinfo") &&
                        cpuinfo_hz(c, &hz);
    if (!from_cpuinfo)
        c->cpuinfo[0] = '\0';
    bool failed = false;
    if (from_cpuinfo || c->frequencies.paths.len > 0)
        failed = (c->frequencies.series = bl_source_add(source, BL_METRIC_FREQUENCY, "processors")) < 0;
    if (from_cpuinfo)
        bl_source_note(source, c->frequencies.series, "of /proc/cpuinfo: in virtual machines a constant");
    if (c->temperatures.paths.len > 0)
        failed |= (c->temperatures.series = bl_source_add(source, BL_METRIC_TEMPERATURE, "processors")) < 0;
    if (c->throttles.paths.len > 0)
        failed |= (c->throttles.series = bl_source_add(source, BL_METRIC_THROTTLE_EVENTS, "processors")) < 0;
    return failed ? BL_ERR_NOMEM : BL_OK;
}

static int open_cpu(bl_source *source)
{
    cpu *c = source->data = bl_calloc(1, sizeof *c);
    if (!c)
        return BL_ERR_NOMEM;
    int code = find_processors(source->spec->root, c);
    if (code == BL_OK)
        code = find_hwmon(source->spec->root, c);
    if (code == BL_OK && c->temperatures.paths.len == 0)
        code = find_zones(source->spec->root, c);
    if (code == BL_OK)
        code = add_series(source, c);
    if (code != BL_OK)
        return code;
    if (c->frequencies.series < 0 && c->temperatures.series < 0)
        bl_source_absent(source, "run on the machine itself, with its cpufreq driver and coretemp or k10temp loaded",
                         "this kernel or virtual machine shows neither the processors' clock nor their temperature");
    else
        bl_source_found(source, "clock: %s, temperature: %s, throttling by heat: %s",
                        c->frequencies.paths.len > 0 ? "cpufreq"
                        : c->frequencies.series >= 0 ? "/proc/cpuinfo"
                                                     : "not shown",
                        c->temperatures.series >= 0 ? "yes" : "not shown (modprobe coretemp or k10temp)",
                        c->throttles.series >= 0 ? "counted" : "not counted");
    return BL_OK;
}

static void look_frequency(bl_source *source, cpu *c, int64_t now_ns)
{
    double sum = 0, hz;
    int64_t khz;
    size_t n = 0;
    for (size_t i = 0; i < c->frequencies.paths.len; i++)
        if (bl_sysfile_i64(c->frequencies.paths.items[i], &khz) && khz > 0 && khz < 100000000) {
            sum += 1e3 * (double)khz;
            n++;
        }
    if (n > 0)
        bl_source_set(source, c->frequencies.series, sum / (double)n);
    else if (c->cpuinfo[0] && now_ns < c->cpuinfo_ns)
        return;
    else if (cpuinfo_hz(c, &hz))
        bl_source_set(source, c->frequencies.series, hz);
    else
        bl_source_miss(source, c->frequencies.series, "no processor's clock could be read");
    c->cpuinfo_ns = now_ns + CPUINFO_PERIOD_NS;
}

static void look_temperature(bl_source *source, const cpu *c)
{
    double hottest = 0;
    bool any = false;
    int64_t millidegrees, odd = 0;
    for (size_t i = 0; i < c->temperatures.paths.len; i++) {
        if (!bl_sysfile_i64(c->temperatures.paths.items[i], &millidegrees))
            continue;
        /* Sensors that are not connected say 0, -128, 255 and the like. */
        if (millidegrees <= 0 || millidegrees >= 150000) {
            odd = millidegrees;
            continue;
        }
        double degrees = (double)millidegrees / 1000;
        hottest = any && hottest > degrees ? hottest : degrees;
        any = true;
    }
    if (any)
        bl_source_set(source, c->temperatures.series, hottest);
    else if (odd)
        bl_source_miss(source, c->temperatures.series, "%.1f degrees make no sense", (double)odd / 1000);
    else
        bl_source_miss(source, c->temperatures.series, "no sensor could be read");
}

static void look_throttles(bl_source *source, const cpu *c)
{
    double sum = 0;
    int64_t count;
    for (size_t i = 0; i < c->throttles.paths.len; i++)
        sum += bl_sysfile_i64(c->throttles.paths.items[i], &count) && count > 0 ? (double)count : 0;
    bl_source_set(source, c->throttles.series, sum);
}

static void look_cpu(bl_source *source, int64_t now_ns)
{
    cpu *c = source->data;
    if (c->frequencies.series >= 0)
        look_frequency(source, c, now_ns);
    if (c->temperatures.series >= 0)
        look_temperature(source, c);
    if (c->throttles.series >= 0)
        look_throttles(source, c);
}

static void close_cpu(bl_source *source)
{
    cpu *c = source->data;
    if (!c)
        return;
    bl_strv_clear(&c->frequencies.paths);
    bl_strv_clear(&c->temperatures.paths);
    bl_strv_clear(&c->throttles.paths);
    free(c);
}

const bl_source_kind bl_source_cpu = {
    .version = BL_SOURCE_VERSION,
    .name = "processors",
    .period_ns = 1000000000,
    .open = open_cpu,
    .look = look_cpu,
    .close = close_cpu,
};
