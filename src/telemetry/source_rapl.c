/* Energy of processors and memory by RAPL, from the kernel's powercap. The counters wrap: with 32 bits of 61 uJ after
 * 262 kJ, or 65 kJ with finer units, which a loaded machine draws in minutes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/source.h"

#define DOMAINS_MAX 64
/* No package draws more: a difference beyond is no wrap-around but a counter that was reset, and after a pause in which
 * even this much would have wrapped it, nobody knows how often it did. */
#define POWER_MAX_W 2000.0

typedef struct domain {
    char energy[BL_SYSFILE_PATH_MAX];
    double range_j; /* it counts from 0 to here */
    int series;
    double last_j, total_j; /* last_j: NaN before the first */
    int64_t last_ns;
    bool broken; /* part of the energy is lost: later values would mislead */
} domain;

typedef struct rapl {
    domain domains[DOMAINS_MAX];
    size_t n;
} rapl;

/* 0, or the reason why this domain cannot be used; ENODATA: it has no range. */
static int check_domain(const char *folder, domain *d)
{
    char path[BL_SYSFILE_PATH_MAX];
    int64_t uj, range_uj;
    *d = (domain){.last_j = NAN};
    if (!bl_sysfile_path(d->energy, sizeof d->energy, folder, "/energy_uj") ||
        !bl_sysfile_path(path, sizeof path, folder, "/max_energy_range_uj"))
        return ENAMETOOLONG;
    if (!bl_sysfile_i64(d->energy, &uj))
        return errno;
    if (!bl_sysfile_i64(path, &range_uj) || range_uj <= 0)
        return ENODATA;
    d->range_j = (double)range_uj / 1e6;
    return 0;
}

/* "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it: its cores are counted in it already, its memory is not.
 * The same package appears once more as "intel-rapl-mmio:0", and "psys" is the whole board. */
static bool is_wanted(const char *entry, const char *name)
{
    if (strncmp(entry, "intel-rapl:", 11) != 0)
        return false;
    return strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0;
}

static int find_domains(bl_source *source, rapl *r, int *error, bool *any_entry)
{
    bl_strv names;
    bl_strv_init(&names);
    char base[BL_SYSFILE_PATH_MAX], folder[BL_SYSFILE_PATH_MAX], path[BL_SYSFILE_PATH_MAX], name[32], scope[80];
    int code = bl_sysfile_path(base, sizeof base, source->spec->root, "/sys/class/powercap")
                   ? bl_sysfile_list(base, "intel-rapl:", &names)
                   : BL_OK;
    *any_entry = names.len > 0;
    for (size_t i = 0; code == BL_OK && i < names.len && r->n < DOMAINS_MAX; i++) {
        if (!bl_sysfile_path(folder, sizeof folder, base, "/%s", names.items[i]) ||
            !bl_sysfile_path(path, sizeof path, folder, "/name") || !bl_sysfile_line(path, name, sizeof name) ||
            !is_wanted(names.items[i], name))
            continue;
        domain *d = &r->domains[r->n];
        int why = check_domain(folder, d);
        if (why != 0) {
            *error = *error ? *error : why;
            continue;
        }
        /* Every package's memory is called "dram". */
        snprintf(scope, sizeof scope, "%s%s%.10s", name, strcmp(name, "dram") == 0 ? " of package-" : "",
                 strcmp(name, "dram") == 0 ? names.items[i] + 11 : "");
        if (strcmp(name, "dram") == 0 && strchr(scope, ':'))
            *strchr(scope, ':') = '\0';
        d->series = bl_source_add(source, BL_METRIC_ENERGY, scope);
        if (d->series < 0)
            code = BL_ERR_NOMEM;
        r->n++;
    }
    bl_strv_clear(&names);
    return code;
}

static int open_rapl(bl_source *source)
{
    rapl *r = source->data = bl_calloc(1, sizeof *r);
    int error = 0;
    bool any_entry = false;
    if (!r)
        return BL_ERR_NOMEM;
    int code = find_domains(source, r, &error, &any_entry);
    if (code != BL_OK)
        return code;
    if (r->n > 0)
        bl_source_found(source, "%zu domain%s", r->n, r->n == 1 ? "" : "s");
    else if (error == EACCES || error == EPERM)
        bl_source_absent(source, "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (as root, until the next start)",
                         "only root may read the energy counters");
    else if (error == ENODATA)
        bl_source_absent(source, "", "the counters' range cannot be read, so a wrap-around could not be told");
    else if (error)
        bl_source_absent(source, "", "the energy counters cannot be read: %s", strerror(error));
    else if (any_entry)
        bl_source_absent(source, "", "no domain of a package or of memory is shown");
    else
        bl_source_absent(source, "modprobe intel_rapl_msr, on the machine itself (virtual ones have none)",
                         "there is no /sys/class/powercap/intel-rapl:0");
    return BL_OK;
}

static void begin_rapl(bl_source *source)
{
    rapl *r = source->data;
    for (size_t i = 0; i < r->n; i++) {
        r->domains[i].last_j = NAN;
        r->domains[i].total_j = 0;
        r->domains[i].broken = false;
        bl_source_note(source, r->domains[i].series, "");
    }
}

static void advance(bl_source *source, domain *d, double now_j, int64_t now_ns)
{
    double pause_s = (double)(now_ns - d->last_ns) / 1e9;
    double step_j = now_j - d->last_j;
    if (step_j < 0)
        step_j += d->range_j;
    if (pause_s * POWER_MAX_W >= d->range_j) {
        d->broken = true;
        bl_source_miss(source, d->series, "not read for %.0f s: how often the counter wrapped in them is not known",
                       pause_s);
    } else if (step_j > POWER_MAX_W * (pause_s > 0.05 ? pause_s : 0.05)) {
        d->broken = true;
        bl_source_miss(source, d->series, "%.0f J in %.2f s make no sense: the counter was reset", step_j, pause_s);
    } else {
        d->total_j += step_j;
    }
}

static void look_domain(bl_source *source, domain *d, int64_t now_ns)
{
    int64_t uj;
    if (d->broken)
        return;
    if (!bl_sysfile_i64(d->energy, &uj)) {
        bl_source_miss(source, d->series, "the counter could not be read: %s", strerror(errno));
        return;
    }
    double now_j = (double)uj / 1e6;
    if (uj < 0 || now_j > d->range_j) {
        bl_source_miss(source, d->series, "%.0f J lie beyond the counter's range", now_j);
        return;
    }
    if (!isnan(d->last_j))
        advance(source, d, now_j, now_ns);
    d->last_j = now_j;
    d->last_ns = now_ns;
    if (!d->broken)
        bl_source_set(source, d->series, d->total_j);
}

static void look_rapl(bl_source *source, int64_t now_ns)
{
    rapl *r = source->data;
    for (size_t i = 0; i < r->n; i++)
        look_domain(source, &r->domains[i], now_ns);
}

static void close_rapl(bl_source *source)
{
    free(source->data);
}

const bl_source_kind bl_source_rapl = {
    .version = BL_SOURCE_VERSION,
    .name = "RAPL",
    .open = open_rapl,
    .begin = begin_rapl,
    .look = look_rapl,
    .close = close_rapl,
};
