/* Charts of what the machine did: utilisation, energy, temperature. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart_parts.h"
#include "report/telemetry_figures.h"

typedef enum measure { PROCESSORS, DEVICES, ENERGY, MEASURES } measure;

/* One line of a chart: this measure of one group's cases. */
typedef struct line {
    const bl_analysis *a;
    size_t group;
    measure what;
    const char *unit;
    double scale;
} line;

static double processors_of(const bl_experiment *e)
{
    double n = NAN;
    for (size_t i = 0; i < e->environment.len; i++)
        if (strcmp(e->environment.items[i].name, "cpus online") == 0 && e->environment.items[i].value)
            n = strtod(e->environment.items[i].value, NULL);
    return n > 0 && isfinite(n) ? n : NAN;
}

/* A case's value in each block, NaN where there is none. */
static bool fill_blocks(const line *l, size_t c, double *values)
{
    const bl_experiment *e = l->a->experiment;
    bool any = false;
    for (size_t b = 0; b < l->a->n_blocks; b++)
        values[b] = NAN;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (t->case_index != c || t->block >= l->a->n_blocks || !t->telemetry || strcmp(t->outcome, "ok") != 0)
            continue;
        bl_telemetry_figure f;
        bl_telemetry_figure_compute(t, &l->a->trials[i], &f);
        double value = l->what == PROCESSORS ? f.cpu_cores : l->what == DEVICES ? f.device_busy : f.joules_per_sample;
        values[t->block] = value > 0 && isfinite(value) ? l->scale * value : NAN;
        any = any || !isnan(values[t->block]);
    }
    return any;
}

static void add_line(bl_chart_maker *m, bl_chart *chart, const line *l, const char *suffix)
{
    const bl_analysis *a = l->a;
    size_t others = bl_chart_n_others(a);
    double *values = bl_chart_take(m, a->n_blocks, sizeof *values);
    bl_chart_series *s = &chart->series[chart->n_series];
    if (m->failed || !bl_chart_take_series(m, s, a->n_cases, true))
        return;
    for (size_t c = l->group; c < a->n_cases; c += others) {
        bl_interval value;
        if (!fill_blocks(l, c, values) ||
            bl_case_interval(values, a->n_blocks, BL_REPORT_LEVEL, &value, NULL) != BL_OK || !isfinite(value.estimate))
            continue;
        size_t i = s->n++;
        s->x[i] = (double)a->cases[c].batch;
        s->y[i] = value.estimate;
        s->low[i] = value.has_interval ? value.low : NAN;
        s->high[i] = value.has_interval ? value.high : NAN;
        s->special[i] = a->cases[c].batch > 0 && (a->cases[c].batch & (a->cases[c].batch - 1)) == 0;
        s->notes[i] = bl_chart_note(m, a->cases[c].label, l->unit, s->y[i], s->low[i], s->high[i]);
    }
    char name[200];
    const char *group = bl_chart_series_name(m, a, l->group);
    snprintf(name, sizeof name, "%.120s%s%s", group, group[0] && suffix[0] ? ": " : "", suffix);
    s->name = bl_chart_keep(m, name);
    s->color = chart->n_series;
    chart->n_series += s->n > 0;
}

static void begin(bl_chart_maker *m, bl_chart *chart)
{
    size_t room = 0;
    for (size_t k = 0; k < m->n; k++)
        room += 2 * bl_chart_n_others(m->analyses[k]);
    chart->x_label = "batch size";
    chart->special = "power of two";
    chart->batch_axis = true;
    chart->from_zero = true;
    chart->band = chart->limit = NAN;
    chart->series = bl_chart_take(m, room, sizeof *chart->series);
}

static void make_over_batch(bl_chart_maker *m, bl_chart chart, bool energy)
{
    begin(m, &chart);
    for (size_t k = 0; k < m->n; k++)
        for (size_t group = 0; group < bl_chart_n_others(m->analyses[k]) && !m->failed; group++) {
            const bl_analysis *a = m->analyses[k];
            line l = {.a = a, .group = group, .what = ENERGY, .unit = "J", .scale = 1};
            if (energy) {
                add_line(m, &chart, &l, "");
                continue;
            }
            l.unit = "%";
            l.what = PROCESSORS;
            l.scale = 100 / processors_of(a->experiment);
            add_line(m, &chart, &l, "processors");
            l.what = DEVICES;
            l.scale = 100;
            add_line(m, &chart, &l, "devices");
        }
    bl_chart_add(m, &chart);
}

static void make_temperature(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    const bl_experiment *e = a->experiment;
    bl_chart chart = {.id = "temperature",
                      .title = "Temperature in the order of the trials",
                      .x_label = "minutes since the first trial began",
                      .y_label = "\302\260C, the hottest",
                      .caption = "The hottest of all processors and devices in each trial's warm part. A time that "
                                 "drifts along with it, above, is the machine's doing.",
                      .special = "held back by heat or power",
                      .band = NAN,
                      .limit = NAN,
                      .n_series = 1};
    chart.series = bl_chart_take(m, 1, sizeof *chart.series);
    if (m->failed || e->n_trials == 0 || !bl_chart_take_series(m, chart.series, e->n_trials, false))
        return;
    bl_chart_series *s = chart.series;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (!t->telemetry || t->case_index >= a->n_cases)
            continue;
        bl_telemetry_figure f;
        bl_telemetry_figure_compute(t, &a->trials[i], &f);
        if (!isfinite(f.hottest_c))
            continue;
        char note[300];
        int n = snprintf(note, sizeof note, "trial %zu, block %zu, %.120s: %.0f \302\260C", i + 1, t->block + 1,
                         a->cases[t->case_index].label, f.hottest_c);
        if (f.throttled > 0)
            snprintf(note + n, sizeof note - (size_t)n, ", held back %.0f %% of the time", 100 * f.throttled);
        s->x[s->n] = (double)(t->started_ns - e->trials[0].started_ns) / 60e9;
        s->y[s->n] = f.hottest_c;
        s->special[s->n] = f.throttled > 0;
        s->notes[s->n++] = bl_chart_keep(m, note);
    }
    bl_chart_add(m, &chart);
}

void bl_chart_make_machine(bl_chart_maker *m)
{
    make_over_batch(m,
                    (bl_chart){.id = "utilisation",
                               .title = "Utilisation over batch size",
                               .y_label = "% busy",
                               .caption = "Of the warm steps: the processor time of the trial's processes, of all "
                                          "processors; and the share of time in which a device was at work at all, "
                                          "which tells nothing of how full it was."},
                    false);
    make_over_batch(m,
                    (bl_chart){.id = "energy",
                               .title = "Energy of a sample over batch size",
                               .y_label = "J a sample",
                               .caption = "Of the warm steps, of all processors and devices whose energy is known, "
                                          "idle power included, with intervals over the blocks."},
                    true);
    if (m->n == 1)
        make_temperature(m);
}
