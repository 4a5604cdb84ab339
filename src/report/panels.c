#include "report/panels.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

const bl_panel bl_panels[] = {
    {"trial_cpu", "One trial: processors at work", "processors", true},
    {"trial_memory", "One trial: memory", "GiB", true},
    {"trial_busy", "One trial: devices at work", "% of the time", true},
    {"trial_clock", "One trial: clocks", "GHz", false},
    {"trial_temperature", "One trial: temperature", "\302\260C", false},
    {"trial_power", "One trial: power", "W", true},
};
const size_t bl_n_panels = BL_ARRAY_LEN(bl_panels);

/* What goes where; name NULL: the series' own scope. */
static const struct {
    const char *panel, *metric, *source;
    double scale;
    const char *name;
} places[] = {
    {"trial_cpu", "cpu_time", "process tree", 1, "its processes"},
    {"trial_cpu", "cpu_time", "machine", 1, "everybody's"},
    {"trial_memory", "memory", "process tree", 1.0 / (1 << 30), "its processes"},
    {"trial_memory", "memory", "NVML", 1.0 / (1 << 30), NULL},
    {"trial_memory", "memory", "amdgpu", 1.0 / (1 << 30), NULL},
    {"trial_busy", "busy", NULL, 100, NULL},
    {"trial_clock", "frequency", NULL, 1e-9, NULL},
    {"trial_clock", "device_clock", NULL, 1e-9, NULL},
    {"trial_temperature", "temperature", NULL, 1, NULL},
    {"trial_power", "power", NULL, 1, NULL},
    {"trial_power", "power_average", NULL, 1, NULL},
    {"trial_power", "energy", "RAPL", 1, NULL},
};

size_t bl_panel_lines(const bl_stored_telemetry *t, const bl_panel *panel, bl_panel_line *out)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_series; i++) {
        const bl_stored_series *s = &t->series[i];
        for (size_t k = 0; s->metric && s->values && k < BL_ARRAY_LEN(places) && n < BL_PANEL_LINES_MAX; k++)
            if (strcmp(places[k].panel, panel->id) == 0 && strcmp(places[k].metric, s->metric) == 0 &&
                (!places[k].source || strcmp(places[k].source, s->source) == 0)) {
                const char *scope = s->scope && s->scope[0] ? s->scope : s->source;
                out[n++] = (bl_panel_line){s, places[k].name ? places[k].name : scope, places[k].scale};
                break;
            }
    }
    return n;
}

bool bl_panel_has(const bl_trial_record *t)
{
    return t->telemetry && t->telemetry->n >= 2;
}

static size_t lines_of(const bl_stored_telemetry *t)
{
    bl_panel_line lines[BL_PANEL_LINES_MAX];
    size_t n = 0;
    for (size_t p = 0; p < bl_n_panels; p++)
        n += bl_panel_lines(t, &bl_panels[p], lines);
    return n;
}

bl_panel_plan bl_panel_plan_make(const bl_experiment *e)
{
    enum { LEAST = 40 };
    bl_panel_plan plan = {.stride = 1, .points = BL_PANEL_POINTS_MAX};
    size_t most = 0;
    for (size_t i = 0; i < e->n_trials; i++)
        if (bl_panel_has(&e->trials[i])) {
            size_t n = 1 + lines_of(e->trials[i].telemetry);
            most = n > most ? n : most;
            plan.n_trials++;
        }
    if (plan.n_trials == 0)
        return plan;
    size_t points = BL_PANEL_NUMBERS / (plan.n_trials * most);
    if (points < plan.points)
        plan.points = points < LEAST ? LEAST : points;
    while ((plan.n_trials + plan.stride - 1) / plan.stride * most * plan.points > BL_PANEL_NUMBERS &&
           plan.stride < plan.n_trials)
        plan.stride++;
    return plan;
}

static size_t looks_a_stretch(size_t n, size_t cap)
{
    return n > cap ? (n + cap - 1) / cap : 1;
}

size_t bl_panel_times(const bl_stored_telemetry *t, size_t cap, double *x)
{
    size_t every = looks_a_stretch(t->n, cap), n = 0;
    for (size_t from = 0; from < t->n; from += every) {
        size_t last = from + every < t->n ? from + every - 1 : t->n - 1;
        double sum = (double)(t->t_ns[from] - t->t_ns[0]) + (double)(t->t_ns[last] - t->t_ns[0]);
        x[n++] = sum / 2e9;
    }
    return n;
}

/* From the last look before the stretch that gave a value to the last one inside. */
static double rate(const bl_stored_telemetry *t, const double *values, size_t from, size_t to)
{
    size_t before = from, last = to;
    while (before > 0 && isnan(values[before - 1]))
        before--;
    while (last > from && isnan(values[last - 1]))
        last--;
    if (last == from)
        return NAN;
    size_t first = before > 0 ? before - 1 : from;
    while (first < last - 1 && isnan(values[first]))
        first++;
    double seconds = (double)(t->t_ns[last - 1] - t->t_ns[first]) / 1e9;
    return seconds > 0 ? (values[last - 1] - values[first]) / seconds : NAN;
}

void bl_panel_values(const bl_stored_telemetry *t, const bl_panel_line *line, size_t cap, double *y)
{
    size_t every = looks_a_stretch(t->n, cap), n = 0;
    const double *values = line->series->values;
    for (size_t from = 0; from < t->n; from += every) {
        size_t to = from + every < t->n ? from + every : t->n;
        double value = NAN;
        if (line->series->counter)
            value = rate(t, values, from, to);
        for (size_t i = from; !line->series->counter && i < to; i++)
            value = fmax(value, values[i]); /* leaves out NaN */
        y[n++] = line->scale * value;
    }
}

double bl_panel_warm(const bl_trial_record *t, const bl_trial_figure *figure)
{
    if (!t->steps || t->n_steps == 0 || figure->warm_from >= t->n_steps || !isfinite(figure->seconds))
        return 0;
    const bl_stored_step *first = &t->steps[figure->warm_from];
    double seconds = (double)(first->end_ns - first->time_ns - t->telemetry->t_ns[0]) / 1e9;
    return seconds > 0 ? seconds : 0;
}
