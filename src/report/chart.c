#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/format.h"
#include "stats/fit.h"

/* What the charts are made of; `failed` stays set once memory was out. */
typedef struct maker {
    const bl_analysis *const *analyses;
    size_t n;
    bl_arena *arena;
    bl_chart *charts;
    size_t *n_charts;
    bool failed;
} maker;

static void *take(maker *m, size_t count, size_t size)
{
    void *block = bl_arena_alloc(m->arena, count > 0 ? count : 1, size);
    m->failed = m->failed || !block;
    return block;
}

static const char *keep(maker *m, const char *text)
{
    char *copy = bl_arena_strdup(m->arena, text);
    m->failed = m->failed || !copy;
    return copy ? copy : "";
}

static size_t n_others(const bl_analysis *a)
{
    return a->n_cases / a->experiment->factors[0].n_values;
}

static bool is_power_of_two(int64_t batch)
{
    return batch > 0 && (batch & (batch - 1)) == 0;
}

/* Empty series with room for n points each; false when memory is out. */
static bool take_series(maker *m, bl_chart_series *s, size_t n, bool intervals)
{
    *s = (bl_chart_series){.name = "",
                           .x = take(m, n, sizeof *s->x),
                           .y = take(m, n, sizeof *s->y),
                           .special = take(m, n, sizeof *s->special),
                           .notes = take(m, n, sizeof *s->notes)};
    if (intervals) {
        s->low = take(m, n, sizeof *s->low);
        s->high = take(m, n, sizeof *s->high);
    }
    return !m->failed;
}

/* The chart counts once it has a point. */
static void add_chart(maker *m, const bl_chart *chart)
{
    size_t n = 0;
    for (size_t s = 0; s < chart->n_series; s++)
        n += chart->series[s].n;
    if (n > 0 && !m->failed)
        m->charts[(*m->n_charts)++] = *chart;
}

static const char *series_name(maker *m, const bl_analysis *a, size_t group)
{
    const bl_experiment *e = a->experiment;
    const char *other = strchr(a->cases[group].label, ' ');
    bl_str name;
    bl_str_init(&name);
    if (m->n > 1)
        bl_str_printf(&name, "%lld%s%s", (long long)e->id, e->name ? " " : "", e->name ? e->name : "");
    if (n_others(a) > 1 && other)
        bl_str_printf(&name, "%s%s", m->n > 1 ? ": " : "", other + 1);
    bl_str clean;
    bl_str_init(&clean);
    bl_format_clean(bl_str_text(&name), 40, &clean);
    const char *kept = keep(m, bl_str_text(&clean));
    bl_str_clear(&clean);
    bl_str_clear(&name);
    return kept;
}

/* ---- over the batch size ---- */

typedef enum quantity { RATE, STEP_MS, RESIDUAL, MEMORY_GIB } quantity;

/* The value of a case, NaN where it has none; the interval's ends where there is one. */
static double value_of(const bl_analysis *a, const bl_case_figure *c, quantity q, double *low, double *high)
{
    *low = *high = NAN;
    if (q == MEMORY_GIB)
        return c->peak_memory_b / (1 << 30);
    if (q != RATE)
        return 1000 * c->step_seconds;
    bl_interval shown = a->per_run ? c->seconds : bl_interval_reciprocal(&c->seconds);
    if (shown.has_interval) {
        *low = shown.low;
        *high = shown.high;
    }
    return shown.estimate;
}

static const char *note_of(maker *m, const char *label, const char *unit, double value, double low, double high)
{
    char number[32], from[32], to[32], note[256];
    bl_format_number(value, number, sizeof number);
    bl_format_number(low, from, sizeof from);
    bl_format_number(high, to, sizeof to);
    if (isfinite(low))
        snprintf(note, sizeof note, "%.120s: %s %s [%s, %s]", label, number, unit, from, to);
    else
        snprintf(note, sizeof note, "%.120s: %s %s", label, number, unit);
    return keep(m, note);
}

static void fill_points(maker *m, const bl_analysis *a, size_t group, quantity q, const char *unit, bl_chart_series *s)
{
    size_t others = n_others(a);
    for (size_t c = group; c < a->n_cases; c += others) {
        double low, high, value = value_of(a, &a->cases[c], q, &low, &high);
        if (!isfinite(value))
            continue;
        s->x[s->n] = (double)a->cases[c].batch;
        s->y[s->n] = value;
        if (s->low) {
            s->low[s->n] = low;
            s->high[s->n] = high;
        }
        s->special[s->n] = is_power_of_two(a->cases[c].batch);
        s->notes[s->n++] = note_of(m, a->cases[c].label, unit, value, low, high);
    }
}

/* Straight lines through the points: of step times as stats/fit.h has them, of memory Theil-Sen's. */
static bool fit(const bl_chart_series *points, quantity q, double *fixed, double *slope)
{
    bl_error ignored = {0};
    bl_step_time_fit step;
    bl_line line;
    if (points->n < 3 || points->n > BL_FIT_MAX_N)
        return false;
    if (q == MEMORY_GIB) {
        if (bl_fit_theil_sen(points->x, points->y, points->n, &line, &ignored) != BL_OK)
            return false;
        *fixed = line.intercept;
        *slope = line.slope;
    } else {
        if (bl_fit_step_time(points->x, points->y, points->n, &step, &ignored) != BL_OK)
            return false;
        *fixed = step.fixed_s;
        *slope = step.per_sample_s;
    }
    return isfinite(*fixed) && isfinite(*slope);
}

enum { LINE_POINTS = 33 };

static void add_line(maker *m, bl_chart *chart, const bl_chart_series *points, double fixed, double slope)
{
    double low = points->x[0], high = points->x[0];
    for (size_t i = 0; i < points->n; i++) {
        low = fmin(low, points->x[i]);
        high = fmax(high, points->x[i]);
    }
    bl_chart_series *s = &chart->series[chart->n_series];
    if (!take_series(m, s, LINE_POINTS, false))
        return;
    s->line = true;
    s->color = points->color;
    for (; s->n < LINE_POINTS; s->n++) { /* bent where the axis is logarithmic */
        s->x[s->n] = low * pow(high / low, (double)s->n / (LINE_POINTS - 1));
        s->y[s->n] = fixed + slope * s->x[s->n];
    }
    chart->n_series++;
}

static void make_batch_chart(maker *m, bl_chart chart, quantity q, const char *unit)
{
    size_t room = 0, color = 0;
    chart.x_label = "batch size";
    chart.special = "power of two";
    chart.batch_axis = true;
    for (size_t k = 0; k < m->n; k++)
        room += 2 * n_others(m->analyses[k]);
    chart.series = take(m, room, sizeof *chart.series);
    for (size_t k = 0; k < m->n && !m->failed; k++) {
        const bl_analysis *a = m->analyses[k];
        for (size_t group = 0; group < n_others(a) && !m->failed; group++) {
            bl_chart_series *s = &chart.series[chart.n_series++];
            if (!take_series(m, s, a->n_cases, q == RATE))
                return;
            s->color = color++;
            s->name = series_name(m, a, group);
            fill_points(m, a, group, q, unit, s);
            double fixed, slope;
            if (q == RATE)
                continue;
            bool fitted = fit(s, q, &fixed, &slope);
            if (fitted && q != RESIDUAL)
                add_line(m, &chart, s, fixed, slope);
            for (size_t i = 0; i < s->n && fitted && q == RESIDUAL; i++) {
                s->y[i] = 100 * (1 - (fixed + slope * s->x[i]) / s->y[i]);
                s->notes[i] = note_of(m, "from the fit", "%", s->y[i], NAN, NAN);
            }
            s->n = q == RESIDUAL && !fitted ? 0 : s->n;
        }
    }
    add_chart(m, &chart);
}

static void make_batch_charts(maker *m)
{
    bool per_run = m->analyses[0]->per_run;
    make_batch_chart(m,
                     (bl_chart){.id = "throughput",
                                .title = "Throughput over batch size",
                                .y_label = per_run ? "seconds a run" : "samples/s",
                                .caption = "Each point with its interval over the blocks. Intervals hold what the "
                                           "machine did between blocks: that two overlap does not make their sizes "
                                           "equal.",
                                .band = NAN},
                     RATE, per_run ? "s a run" : "samples/s");
    make_batch_chart(m,
                     (bl_chart){.id = "step_time",
                                .title = "Time of a step over batch size",
                                .y_label = "ms a step",
                                .caption = "Median step of the warm part; the line is a fixed cost and a cost a "
                                           "sample, fitted robustly.",
                                .from_zero = true,
                                .band = NAN},
                     STEP_MS, "ms");
    make_batch_chart(m,
                     (bl_chart){.id = "residuals",
                                .title = "Step time: what the fit leaves",
                                .y_label = "measured over fitted, %",
                                .caption = "Where powers of two were special, they would lie together below 0. The "
                                           "band is the margin.",
                                .band = 100 * m->analyses[0]->experiment->margin},
                     RESIDUAL, "%");
    make_batch_chart(m,
                     (bl_chart){.id = "memory",
                                .title = "Peak memory over batch size",
                                .y_label = "GiB of the process tree",
                                .caption = "Host memory: the largest of a size's trials that went well, and a "
                                           "straight line through them.",
                                .from_zero = true,
                                .band = NAN},
                     MEMORY_GIB, "GiB");
}

/* ---- inside one experiment ---- */

static void add_row(maker *m, bl_chart *chart, const char *name, const bl_interval *ratio, bool special)
{
    bl_chart_series *s = &chart->series[0];
    if (ratio->n == 0 || !isfinite(ratio->estimate))
        return;
    size_t i = s->n++;
    s->y[i] = (double)chart->n_rows;
    s->x[i] = 100 * (ratio->estimate - 1);
    s->low[i] = ratio->has_interval ? 100 * (ratio->low - 1) : NAN;
    s->high[i] = ratio->has_interval ? 100 * (ratio->high - 1) : NAN;
    s->special[i] = special;
    s->notes[i] = note_of(m, name, "% time", s->x[i], s->low[i], s->high[i]);
    chart->rows[chart->n_rows++] = keep(m, name);
}

static void make_differences(maker *m)
{
    const bl_analysis *a = m->analyses[0];
    bl_chart chart = {.id = "differences",
                      .title = "Differences inside blocks",
                      .x_label = a->per_run ? "time a run, % more" : "time per sample, % more",
                      .y_label = "",
                      .special = "neighbours against their power of two",
                      .band = 100 * a->experiment->margin};
    size_t room = a->n_cases + a->n_groups;
    chart.series = take(m, 1, sizeof *chart.series);
    chart.rows = take(m, room, sizeof *chart.rows);
    if (m->failed || a->best == a->n_cases || a->n_cases < 2 || !take_series(m, chart.series, room, true))
        return;
    char caption[400];
    snprintf(caption, sizeof caption,
             "Each case against %.100s, the best observed (which looks better than it is: only "
             "fresh blocks confirm it), with its interval. The band is the margin of %g %%.",
             a->cases[a->best].label, 100 * a->experiment->margin);
    chart.caption = keep(m, caption);
    chart.n_series = 1;
    for (size_t c = 0; c < a->n_cases; c++)
        if (c != a->best)
            add_row(m, &chart, a->cases[c].label, &a->cases[c].against_best.ratio, false);
    for (size_t g = 0; g < a->n_groups; g++) {
        char name[120];
        snprintf(name, sizeof name, "beside powers of two%s%.80s", a->groups[g].label[0] ? ", " : "",
                 a->groups[g].label);
        if (a->groups[g].neighbours.len > 0)
            add_row(m, &chart, name, &a->groups[g].neighbours.overall.ratio, true);
    }
    add_chart(m, &chart);
}

static void make_timeline(maker *m)
{
    const bl_analysis *a = m->analyses[0];
    const bl_experiment *e = a->experiment;
    bl_chart chart = {.id = "timeline",
                      .title = "Trials in the order they ran",
                      .x_label = "minutes since the first trial began",
                      .y_label = "time against its case's, %",
                      .caption =
                          "Each trial's time per sample against the estimate of its case: a drift of the machine "
                          "shows as a slope, a disturbance as a group of points. Failures lie at 0.",
                      .special = "not ok",
                      .band = 100 * e->margin,
                      .n_series = 1};
    chart.series = take(m, 1, sizeof *chart.series);
    if (m->failed || e->n_trials == 0 || !take_series(m, chart.series, e->n_trials, false))
        return;
    bl_chart_series *s = chart.series;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (t->case_index >= a->n_cases)
            continue;
        bool ok = strcmp(t->outcome, "ok") == 0;
        double share = 100 * (a->trials[i].seconds / a->cases[t->case_index].seconds.estimate - 1);
        if (ok && !isfinite(share))
            continue;
        char note[300];
        if (ok)
            snprintf(note, sizeof note, "trial %zu, block %zu, %.120s: %+.2f %%", i + 1, t->block + 1,
                     a->cases[t->case_index].label, share);
        else
            snprintf(note, sizeof note, "trial %zu, block %zu, %.120s: %.40s", i + 1, t->block + 1,
                     a->cases[t->case_index].label, t->outcome);
        s->x[s->n] = (double)(t->started_ns - e->trials[0].started_ns) / 60e9;
        s->y[s->n] = ok ? share : 0;
        s->special[s->n] = !ok;
        s->notes[s->n++] = keep(m, note);
    }
    add_chart(m, &chart);
}

int bl_charts_make(const bl_analysis *const *analyses, size_t n, bl_arena *arena, bl_chart *charts, size_t *n_charts,
                   bl_error *err)
{
    maker m = {.analyses = analyses, .n = n, .arena = arena, .charts = charts, .n_charts = n_charts};
    *n_charts = 0;
    if (n == 0)
        return BL_OK;
    make_batch_charts(&m);
    if (n == 1) {
        make_differences(&m);
        make_timeline(&m);
    }
    return m.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the pictures") : BL_OK;
}
