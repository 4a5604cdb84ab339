/* NVIDIA's devices, by the driver's management library. Every value may be missing on some device or driver, and some
 * are known to be wrong now and then: what cannot be true is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "telemetry/nvml.h"
#include "telemetry/source.h"
#include "telemetry/tree_watch.h"
#include "telemetry/visible_devices.h"

#define DEVICES_MAX   64
#define PROCESSES_MAX 1024
#define POWER_MAX_W   10000.0

typedef enum what {
    BUSY,
    MEMORY_BUSY,
    MEMORY,
    MEMORY_TOTAL,
    PROCESS_MEMORY,
    POWER,
    POWER_AVERAGE,
    ENERGY,
    ENERGY_INTEGRATED,
    TEMPERATURE,
    DEVICE_CLOCK,
    MEMORY_CLOCK,
    THROTTLE_REASONS,
    WHATS
} what;

static const bl_metric metrics[WHATS] = {
    [BUSY] = BL_METRIC_BUSY,
    [MEMORY_BUSY] = BL_METRIC_MEMORY_BUSY,
    [MEMORY] = BL_METRIC_MEMORY,
    [MEMORY_TOTAL] = BL_METRIC_MEMORY_TOTAL,
    [PROCESS_MEMORY] = BL_METRIC_PROCESS_MEMORY,
    [POWER] = BL_METRIC_POWER,
    [POWER_AVERAGE] = BL_METRIC_POWER_AVERAGE,
    [ENERGY] = BL_METRIC_ENERGY,
    [ENERGY_INTEGRATED] = BL_METRIC_ENERGY_INTEGRATED,
    [TEMPERATURE] = BL_METRIC_TEMPERATURE,
    [DEVICE_CLOCK] = BL_METRIC_DEVICE_CLOCK,
    [MEMORY_CLOCK] = BL_METRIC_MEMORY_CLOCK,
    [THROTTLE_REASONS] = BL_METRIC_THROTTLE_REASONS,
};

typedef struct device {
    bl_nvml_handle handle;
    int first; /* its series, in the order of `what` */
    double last_w, integrated_j;
    int64_t last_ns;          /* 0: no power yet */
    double first_mj, last_mj; /* NaN: none yet */
} device;

typedef struct nvml_data {
    bl_nvml nvml;
    device *devices;
    size_t n;
} nvml_data;

/* ---- opening ---- */

typedef struct found {
    bl_nvml_handle handles[DEVICES_MAX];
    char uuids[DEVICES_MAX][96], names[DEVICES_MAX][96];
    bl_known_device known[DEVICES_MAX];
    size_t n, n_broken;
} found;

/* One device that has fallen off the bus does not hide the others. */
static void find_devices(const bl_nvml *nvml, found *f)
{
    unsigned count = 0;
    if (nvml->count(&count) != BL_NVML_OK)
        return;
    for (unsigned i = 0; i < count && f->n < DEVICES_MAX; i++) {
        bl_nvml_handle handle = NULL;
        if (nvml->handle(i, &handle) != BL_NVML_OK) {
            f->n_broken++;
            continue;
        }
        f->handles[f->n] = handle;
        if (!nvml->uuid || nvml->uuid(handle, f->uuids[f->n], sizeof f->uuids[0]) != BL_NVML_OK)
            snprintf(f->uuids[f->n], sizeof f->uuids[0], "GPU %u", i);
        if (!nvml->name || nvml->name(handle, f->names[f->n], sizeof f->names[0]) != BL_NVML_OK)
            snprintf(f->names[f->n], sizeof f->names[0], "device");
        f->known[f->n] = (bl_known_device){.uuid = f->uuids[f->n], .name = f->names[f->n]};
        f->n++;
    }
}

static int add_devices(bl_source *source, nvml_data *data, const found *f)
{
    data->devices = bl_calloc(f->n, sizeof *data->devices);
    if (!data->devices)
        return BL_ERR_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        if (!f->known[i].visible)
            continue;
        device *d = &data->devices[data->n++];
        *d = (device){.handle = f->handles[i], .first_mj = NAN, .last_mj = NAN};
        for (int k = 0; k < WHATS; k++) {
            int series = bl_source_add(source, metrics[k], f->uuids[i]);
            if (series < 0)
                return BL_ERR_NOMEM;
            d->first = k == 0 ? series : d->first;
        }
    }
    return BL_OK;
}

static int open_nvml(bl_source *source)
{
    nvml_data *data = source->data = bl_calloc(1, sizeof *data);
    found *f = bl_calloc(1, sizeof *f);
    bl_error err = {0};
    int code = data && f ? BL_OK : BL_ERR_NOMEM;
    if (code == BL_OK && bl_nvml_open(source->spec->nvml, &data->nvml, &err) != BL_OK) {
        bl_source_absent(source, err.remedy, "%s", err.message);
    } else if (code == BL_OK) {
        char driver[96] = "of unknown version";
        if (data->nvml.driver_version)
            data->nvml.driver_version(driver, sizeof driver);
        find_devices(&data->nvml, f);
        const char *note =
            bl_visible_devices(source->spec->visible_devices, source->spec->device_order, f->known, f->n);
        code = add_devices(source, data, f);
        if (data->n > 0)
            bl_source_found(source, "%zu of %zu devices (%s), driver %s%s%s", data->n, f->n + f->n_broken, f->names[0],
                            driver, note ? "; " : "", note ? note : "");
        else if (f->n > 0)
            bl_source_absent(source, "unset CUDA_VISIBLE_DEVICES, or let it name a device",
                             "CUDA_VISIBLE_DEVICES hides all %zu devices", f->n);
        else
            bl_source_absent(source, "", "driver %s shows no device%s", driver,
                             f->n_broken ? " that answers: look for Xid in the kernel's log" : "");
    }
    free(f);
    return code;
}

static void begin_nvml(bl_source *source)
{
    nvml_data *data = source->data;
    for (size_t i = 0; i < data->n; i++) {
        device *d = &data->devices[i];
        d->last_ns = 0;
        d->integrated_j = 0;
        d->first_mj = d->last_mj = NAN;
    }
}

/* ---- looking ---- */

typedef struct looking {
    bl_source *source;
    const bl_nvml *nvml;
    device *d;
    int64_t now_ns;
} looking;

/* Sets a value, or why there is none. */
static void put(const looking *l, what w, int result, double value, double max)
{
    int series = l->d->first + (int)w;
    if (result != BL_NVML_OK)
        bl_source_miss(l->source, series, "%s", bl_nvml_why(l->nvml, result));
    else if (!(value >= 0 && value <= max))
        bl_source_miss(l->source, series, "the driver said %g, which makes no sense", value);
    else
        bl_source_set(l->source, series, value);
}

static void look_utilization(const looking *l)
{
    bl_nvml_utilization u = {0};
    int result = l->nvml->utilization ? l->nvml->utilization(l->d->handle, &u) : BL_NVML_NOT_SUPPORTED;
    put(l, BUSY, result, u.gpu / 100.0, 1);
    put(l, MEMORY_BUSY, result, u.memory / 100.0, 1);
}

/* Version 2 keeps the driver's own share apart; version 1 counts it as used. */
static void look_memory(const looking *l)
{
    bl_nvml_memory_2 m2 = {.version = (unsigned)sizeof m2 | 2U << 24};
    bl_nvml_memory m = {0};
    int result = l->nvml->memory_2 ? l->nvml->memory_2(l->d->handle, &m2) : BL_NVML_NOT_SUPPORTED;
    if (result == BL_NVML_OK) {
        m = (bl_nvml_memory){.total = m2.total, .free = m2.free, .used = m2.used};
    } else if (l->nvml->memory) {
        result = l->nvml->memory(l->d->handle, &m);
        bl_source_note(l->source, l->d->first + MEMORY, "with what the driver keeps for itself");
    }
    /* Devices that share the host's memory say nothing, or all ones. */
    put(l, MEMORY_TOTAL, result, (double)m.total, 1e15);
    put(l, MEMORY, result, (double)m.used, m.total > 0 ? (double)m.total : 1e15);
}

/* The sum over our own processes. The driver's process numbers are those of the host: in a container none is ours. */
static void look_processes(const looking *l)
{
    static const uint64_t not_available = UINT64_MAX;
    bl_tree_watch *tree = bl_source_tree_watch(l->source);
    int series = l->d->first + PROCESS_MEMORY, result = BL_NVML_NOT_SUPPORTED;
    unsigned n = PROCESSES_MAX, n_ours = 0;
    bl_nvml_process_2 *list = bl_calloc(PROCESSES_MAX, sizeof *list);
    bl_nvml_process_1 *old = bl_calloc(PROCESSES_MAX, sizeof *old);
    double sum = 0;
    bool missing = false;
    if (list && l->nvml->processes_2)
        result = l->nvml->processes_2(l->d->handle, &n, list);
    if (result == BL_NVML_NOT_SUPPORTED && list && old && l->nvml->processes_1) {
        n = PROCESSES_MAX;
        result = l->nvml->processes_1(l->d->handle, &n, old);
        for (unsigned i = 0; result == BL_NVML_OK && i < n && i < PROCESSES_MAX; i++)
            list[i] = (bl_nvml_process_2){.pid = old[i].pid, .used = old[i].used};
    }
    for (unsigned i = 0; result == BL_NVML_OK && i < n && i < PROCESSES_MAX; i++) {
        if (!tree || !bl_tree_watch_has(tree, (pid_t)list[i].pid))
            continue;
        n_ours++;
        missing = missing || list[i].used == not_available;
        sum += list[i].used == not_available ? 0 : (double)list[i].used;
    }
    free(list);
    free(old);
    if (result != BL_NVML_OK)
        put(l, PROCESS_MEMORY, result, 0, 0);
    else if (!tree)
        bl_source_miss(l->source, series, "no process tree is watched");
    else if (missing)
        bl_source_miss(l->source, series, "the driver does not tell it of single processes here");
    else if (n > 0 && n_ours == 0)
        bl_source_miss(l->source, series,
                       "none of the device's %u processes is of the trial: in a container the driver's process numbers "
                       "are the host's",
                       n);
    else
        bl_source_set(l->source, series, sum);
}

static void integrate(const looking *l, double power_w)
{
    device *d = l->d;
    if (d->last_ns > 0)
        d->integrated_j += (d->last_w + power_w) / 2 * (double)(l->now_ns - d->last_ns) / 1e9;
    d->last_w = power_w;
    d->last_ns = l->now_ns;
    bl_source_set(l->source, d->first + ENERGY_INTEGRATED, d->integrated_j);
}

/* False where there is none. */
static bool instant_power_w(const looking *l, double *out)
{
    bl_nvml_field field = {.id = BL_NVML_FIELD_POWER_INSTANT};
    int result = l->nvml->fields ? l->nvml->fields(l->d->handle, 1, &field) : BL_NVML_NOT_SUPPORTED;
    if (result == BL_NVML_OK)
        result = field.result;
    *out = (double)field.value.u32 / 1000;
    if (result == BL_NVML_OK && field.type != 1) /* 1: an unsigned int, which this field always is */
        result = BL_NVML_NOT_SUPPORTED;
    put(l, POWER, result, *out, POWER_MAX_W);
    return result == BL_NVML_OK && *out <= POWER_MAX_W;
}

static void look_power(const looking *l)
{
    unsigned mw = 0;
    double instant_w;
    int series = l->d->first + ENERGY_INTEGRATED;
    bool instant = instant_power_w(l, &instant_w);
    int result = l->nvml->power ? l->nvml->power(l->d->handle, &mw) : BL_NVML_NOT_SUPPORTED;
    put(l, POWER_AVERAGE, result, mw / 1000.0, POWER_MAX_W);
    bool average = result == BL_NVML_OK && mw / 1000.0 <= POWER_MAX_W;
    if (instant || average) {
        integrate(l, instant ? instant_w : mw / 1000.0);
        bl_source_note(l->source, series,
                       instant ? "from the power of the instant"
                               : "from a power that the driver averages, on newer devices over a second");
    } else {
        bl_source_miss(l->source, series, "there is no power to integrate");
    }
}

static void look_energy(const looking *l)
{
    device *d = l->d;
    unsigned long long mj = 0;
    int result = l->nvml->energy ? l->nvml->energy(d->handle, &mj) : BL_NVML_NOT_SUPPORTED;
    if (result != BL_NVML_OK) {
        put(l, ENERGY, result, 0, 0);
        return;
    }
    if (isnan(d->first_mj))
        d->first_mj = (double)mj;
    if (!isnan(d->last_mj) && (double)mj < d->last_mj) {
        bl_source_miss(l->source, d->first + ENERGY, "the counter went backwards: the driver was loaded anew");
        d->first_mj = INFINITY; /* what went before is lost: no value from here on */
        d->last_mj = INFINITY;
        return;
    }
    d->last_mj = (double)mj;
    bl_source_set(l->source, d->first + ENERGY, ((double)mj - d->first_mj) / 1000);
}

static void look_clocks(const looking *l)
{
    unsigned value = 0;
    int result = l->nvml->clock ? l->nvml->clock(l->d->handle, BL_NVML_CLOCK_SM, &value) : BL_NVML_NOT_SUPPORTED;
    put(l, DEVICE_CLOCK, result, 1e6 * value, 2e10);
    result = l->nvml->clock ? l->nvml->clock(l->d->handle, BL_NVML_CLOCK_MEMORY, &value) : BL_NVML_NOT_SUPPORTED;
    put(l, MEMORY_CLOCK, result, 1e6 * value, 1e11);
    value = 0;
    result = l->nvml->temperature ? l->nvml->temperature(l->d->handle, 0, &value) : BL_NVML_NOT_SUPPORTED;
    put(l, TEMPERATURE, result, value, 150);
    unsigned long long bits = 0;
    result = l->nvml->throttle_reasons ? l->nvml->throttle_reasons(l->d->handle, &bits) : BL_NVML_NOT_SUPPORTED;
    put(l, THROTTLE_REASONS, result, (double)bits, 0x1p53);
}

static void look_nvml(bl_source *source, int64_t now_ns)
{
    nvml_data *data = source->data;
    for (size_t i = 0; i < data->n; i++) {
        looking l = {.source = source, .nvml = &data->nvml, .d = &data->devices[i], .now_ns = now_ns};
        look_utilization(&l);
        look_memory(&l);
        look_processes(&l);
        look_power(&l);
        look_energy(&l);
        look_clocks(&l);
    }
}

static void close_nvml(bl_source *source)
{
    nvml_data *data = source->data;
    if (!data)
        return;
    bl_nvml_close(&data->nvml);
    free(data->devices);
    free(data);
}

const bl_source_kind bl_source_nvml = {
    .version = BL_SOURCE_VERSION,
    .name = "NVML",
    .open = open_nvml,
    .begin = begin_nvml,
    .look = look_nvml,
    .close = close_nvml,
};

void bl_throttle_names(uint64_t bits, char *out, size_t size)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {{0x4, "power cap"},   {0x8, "hardware slowdown"}, {0x20, "heat (by software)"},
                 {0x40, "heat"},       {0x80, "power brake"},      {0x2, "clocks set by an application"},
                 {0x10, "sync boost"}, {0x100, "display"}}; /* 0x1: it idles */
    out[0] = '\0';
    size_t n = 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        if ((bits & names[i].bit) && n + 1 < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", names[i].name);
}
