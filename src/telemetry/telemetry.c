#include "telemetry/telemetry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "telemetry/source.h"
#include "telemetry/tree_watch.h"

#define SOURCES_MAX 16
/* Series are asked for by index while a sampler runs: they lie in blocks, so that none moves when more come. */
#define BLOCK      64
#define BLOCKS_MAX 64

struct bl_telemetry {
    bl_telemetry_spec spec;
    bl_arena arena;
    bl_source sources[SOURCES_MAX];
    size_t n_sources;
    bl_series *blocks[BLOCKS_MAX];
    size_t n_series;
    bl_tree_watch *tree; /* borrowed from its source */
};

const bl_metric_info *bl_metric_get(bl_metric metric)
{
    static const bl_metric_info table[BL_METRICS] = {
        [BL_METRIC_PROCESSES] = {"processes", "1", false},
        [BL_METRIC_CPU_TIME] = {"cpu_time", "s", true},
        [BL_METRIC_STOLEN_TIME] = {"stolen_time", "s", true},
        [BL_METRIC_MEMORY] = {"memory", "B", false},
        [BL_METRIC_MEMORY_AVAILABLE] = {"memory_available", "B", false},
        [BL_METRIC_MEMORY_TOTAL] = {"memory_total", "B", false},
        [BL_METRIC_THROTTLED_TIME] = {"throttled_time", "s", true},
        [BL_METRIC_CPU_STALL] = {"cpu_stall", "s", true},
        [BL_METRIC_MEMORY_STALL] = {"memory_stall", "s", true},
        [BL_METRIC_IO_STALL] = {"io_stall", "s", true},
        [BL_METRIC_FREQUENCY] = {"frequency", "Hz", false},
        [BL_METRIC_TEMPERATURE] = {"temperature", "C", false},
        [BL_METRIC_THROTTLE_EVENTS] = {"throttle_events", "1", true},
        [BL_METRIC_ENERGY] = {"energy", "J", true},
        [BL_METRIC_ENERGY_INTEGRATED] = {"energy_integrated", "J", true},
        [BL_METRIC_POWER] = {"power", "W", false},
        [BL_METRIC_POWER_AVERAGE] = {"power_average", "W", false},
        [BL_METRIC_BUSY] = {"busy", "1", false},
        [BL_METRIC_MEMORY_BUSY] = {"memory_busy", "1", false},
        [BL_METRIC_PROCESS_MEMORY] = {"process_memory", "B", false},
        [BL_METRIC_DEVICE_CLOCK] = {"device_clock", "Hz", false},
        [BL_METRIC_MEMORY_CLOCK] = {"memory_clock", "Hz", false},
        [BL_METRIC_THROTTLE_REASONS] = {"throttle_reasons", "bits", false},
    };
    static const bl_metric_info none = {"none", "", false};
    return (size_t)metric < BL_METRICS ? &table[metric] : &none;
}

/* ---- for the sources ---- */

static bl_series *series_at(const bl_telemetry *t, size_t index)
{
    return index < t->n_series ? &t->blocks[index / BLOCK][index % BLOCK] : NULL;
}

int bl_source_add(bl_source *source, bl_metric metric, const char *scope)
{
    bl_telemetry *t = source->telemetry;
    size_t block = t->n_series / BLOCK;
    if (block == BLOCKS_MAX)
        return -1;
    if (!t->blocks[block] && !(t->blocks[block] = bl_calloc(BLOCK, sizeof(bl_series))))
        return -1;
    bl_series *series = &t->blocks[block][t->n_series % BLOCK];
    *series = (bl_series){.metric = metric, .source = source->kind->name, .value = NAN};
    snprintf(series->scope, sizeof series->scope, "%s", scope);
    return (int)t->n_series++;
}

void bl_source_set(bl_source *source, int index, double value)
{
    bl_series *series = index >= 0 ? series_at(source->telemetry, (size_t)index) : NULL;
    if (series)
        series->value = value;
}

void bl_source_note(bl_source *source, int index, const char *note)
{
    bl_series *series = index >= 0 ? series_at(source->telemetry, (size_t)index) : NULL;
    if (series)
        snprintf(series->reason, sizeof series->reason, "%s", note);
}

void bl_source_miss(bl_source *source, int index, const char *format, ...)
{
    bl_series *series = index >= 0 ? series_at(source->telemetry, (size_t)index) : NULL;
    if (!series)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(series->reason, sizeof series->reason, format, args);
    va_end(args);
    series->value = NAN;
}

void bl_source_absent(bl_source *source, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(source->state.reason, sizeof source->state.reason, format, args);
    va_end(args);
    snprintf(source->state.remedy, sizeof source->state.remedy, "%s", remedy);
    source->state.available = false;
}

void bl_source_found(bl_source *source, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(source->state.found, sizeof source->state.found, format, args);
    va_end(args);
    source->state.available = true;
}

bl_tree_watch *bl_source_tree_watch(const bl_source *source)
{
    return source->telemetry->tree;
}

void bl_source_share_tree(bl_source *source, bl_tree_watch *watch)
{
    source->telemetry->tree = watch;
}

/* ---- for everybody else ---- */

static const char *copy(bl_telemetry *t, const char *text, bool *failed)
{
    if (!text)
        return NULL;
    char *out = bl_arena_strdup(&t->arena, text);
    *failed = *failed || !out;
    return out;
}

int bl_telemetry_new(const bl_telemetry_spec *spec, bl_telemetry **out, bl_error *err)
{
    bool failed = false;
    bl_telemetry *t = bl_calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry");
    bl_arena_init(&t->arena);
    t->spec = *spec;
    t->spec.root = copy(t, spec->root ? spec->root : "", &failed);
    t->spec.nvml = copy(t, spec->nvml, &failed);
    t->spec.visible_devices = copy(t, spec->visible_devices, &failed);
    t->spec.device_order = copy(t, spec->device_order, &failed);
    for (size_t i = 0; !failed && i < bl_n_source_kinds && i < SOURCES_MAX; i++) {
        bl_source *source = &t->sources[t->n_sources++];
        *source = (bl_source){.kind = bl_source_kinds[i], .telemetry = t, .spec = &t->spec};
        source->state.name = source->kind->name;
        failed = source->kind->open(source) != BL_OK;
    }
    if (failed) {
        bl_telemetry_free(t);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for telemetry");
    }
    *out = t;
    return BL_OK;
}

void bl_telemetry_free(bl_telemetry *t)
{
    if (!t)
        return;
    for (size_t i = t->n_sources; i-- > 0;)
        if (t->sources[i].kind->close)
            t->sources[i].kind->close(&t->sources[i]);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        free(t->blocks[i]);
    bl_arena_clear(&t->arena);
    free(t);
}

void bl_telemetry_look(bl_telemetry *t, int64_t now_ns)
{
    for (size_t i = 0; i < t->n_series; i++)
        series_at(t, i)->value = NAN;
    for (size_t i = 0; i < t->n_sources; i++) {
        bl_source *source = &t->sources[i];
        if (!source->state.available || now_ns < source->due_ns)
            continue;
        source->kind->look(source, now_ns);
        source->due_ns = now_ns + source->kind->period_ns;
    }
}

void bl_telemetry_begin(bl_telemetry *t)
{
    for (size_t i = 0; i < t->n_sources; i++) {
        t->sources[i].due_ns = 0;
        if (t->sources[i].state.available && t->sources[i].kind->begin)
            t->sources[i].kind->begin(&t->sources[i]);
    }
}

const bl_series *bl_telemetry_series(const bl_telemetry *t, size_t index)
{
    return series_at(t, index);
}

size_t bl_telemetry_n_series(const bl_telemetry *t)
{
    return t->n_series;
}

const bl_source_state *bl_telemetry_source(const bl_telemetry *t, size_t index)
{
    return index < t->n_sources ? &t->sources[index].state : NULL;
}

size_t bl_telemetry_n_sources(const bl_telemetry *t)
{
    return t->n_sources;
}
