#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/chart_parts.h"
#include "report/format.h"
#include "stats/fit.h"

void *bl_chart_take(bl_chart_maker *m, size_t count, size_t size)
{
    void *block = bl_arena_alloc(m->arena, count > 0 ? count : 1, size);
    m->failed = m->failed || !block;
    return block;
}

const char *bl_chart_keep(bl_chart_maker *m, const char *text)
{
    char *copy = bl_arena_strdup(m->arena, text);
    m->failed = m->failed || !copy;
    return copy ? copy : "";
}

size_t bl_chart_n_others(const bl_analysis *a)
{
    return a->n_cases / a->experiment->factors[0].n_values;
}

static bool is_power_of_two(int64_t batch)
{
    return batch > 0 && (batch & (batch - 1)) == 0;
}

bool bl_chart_take_series(bl_chart_maker *m, bl_chart_series *s, size_t n, bool intervals)
{
    *s = (bl_chart_series){.name = "",
                           .x = bl_chart_take(m, n, sizeof *s->x),
                           .y = bl_chart_take(m, n, sizeof *s->y),
                           .special = bl_chart_take(m, n, sizeof *s->special),
                           .notes = bl_chart_take(m, n, sizeof *s->notes)};
    if (intervals) {
        s->low = bl_chart_take(m, n, sizeof *s->low);
        s->high = bl_chart_take(m, n, sizeof *s->high);
    }
    return !m->failed;
}

void bl_chart_add(bl_chart_maker *m, const bl_chart *chart)
{
    size_t n = 0;
    for (size_t s = 0; s < chart->n_series; s++)
        n += chart->series[s].n;
    if (n > 0 && !m->failed)
        m->charts[(*m->n_charts)++] = *chart;
}

const char *bl_chart_series_name(bl_chart_maker *m, const bl_analysis *a, size_t group)
{
    const bl_experiment *e = a->experiment;
    const char *other = strchr(a->cases[group].label, ' ');
    bl_str name;
    bl_str_init(&name);
    if (m->n > 1)
        bl_str_printf(&name, "%lld%s%s", (long long)e->id, e->name ? " " : "", e->name ? e->name : "");
    if (bl_chart_n_others(a) > 1 && other)
        bl_str_printf(&name, "%s%s", m->n > 1 ? ": " : "", other + 1);
    bl_str clean;
    bl_str_init(&clean);
    bl_format_clean(bl_str_text(&name), 40, &clean);
    const char *kept = bl_chart_keep(m, bl_str_text(&clean));
    bl_str_clear(&clean);
    bl_str_clear(&name);
    return kept;
}

/* ---- over the batch size ---- */

typedef enum quantity { RATE, STEP_MS, RESIDUAL, MEMORY_GIB, WAIT } quantity;

/* The value of a case, NaN where it has none; the interval's ends where there is one. */
static double value_of(const bl_analysis *a, const bl_case_figure *c, quantity q, double *low, double *high)
{
    *low = *high = NAN;
    if (q == MEMORY_GIB)
        return c->peak_memory_b / (1 << 30);
    if (q == WAIT)
        return 100 * c->wait_share;
    if (q != RATE)
        return 1000 * c->step_seconds;
    bl_interval shown = a->per_run ? c->seconds : bl_interval_reciprocal(&c->seconds);
    if (shown.has_interval) {
        *low = shown.low;
        *high = shown.high;
    }
    return shown.estimate;
}

const char *bl_chart_note(bl_chart_maker *m, const char *label, const char *unit, double value, double low, double high)
{
    char number[32], from[32], to[32], note[256];
    bl_format_number(value, number, sizeof number);
    bl_format_number(low, from, sizeof from);
    bl_format_number(high, to, sizeof to);
    if (isfinite(low))
        snprintf(note, sizeof note, "%.120s: %s %s [%s, %s]", label, number, unit, from, to);
    else
        snprintf(note, sizeof note, "%.120s: %s %s", label, number, unit);
    return bl_chart_keep(m, note);
}

static void fill_points(bl_chart_maker *m, const bl_analysis *a, size_t group, quantity q, const char *unit,
                        bl_chart_series *s)
{
    size_t others = bl_chart_n_others(a);
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
        s->notes[s->n++] = bl_chart_note(m, a->cases[c].label, unit, value, low, high);
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

static void add_line(bl_chart_maker *m, bl_chart *chart, const bl_chart_series *points, double fixed, double slope)
{
    double low = points->x[0], high = points->x[0];
    for (size_t i = 0; i < points->n; i++) {
        low = fmin(low, points->x[i]);
        high = fmax(high, points->x[i]);
    }
    bl_chart_series *s = &chart->series[chart->n_series];
    if (!bl_chart_take_series(m, s, LINE_POINTS, false))
        return;
    s->line = true;
    s->color = points->color;
    for (; s->n < LINE_POINTS; s->n++) { /* bent where the axis is logarithmic */
        s->x[s->n] = low * pow(high / low, (double)s->n / (LINE_POINTS - 1));
        s->y[s->n] = fixed + slope * s->x[s->n];
    }
    chart->n_series++;
}

/* The machine's memory, and where the line meets it. */
static void add_limit(bl_chart_maker *m, bl_chart *chart, double fixed, double slope)
{
    const bl_environment *environment = &m->analyses[0]->experiment->environment;
    double bytes = NAN;
    for (size_t i = 0; i < environment->len; i++)
        if (strcmp(environment->items[i].name, "memory bytes") == 0 && environment->items[i].value)
            bytes = strtod(environment->items[i].value, NULL);
    if (!(bytes > 0) || !isfinite(bytes))
        return;
    char text[400], size[32];
    bl_format_bytes(bytes, size, sizeof size);
    chart->limit = bytes / (1 << 30);
    snprintf(text, sizeof text, "memory of the machine: %s", size);
    chart->limit_label = bl_chart_keep(m, text);
    if (!(slope > 0) || !(fixed < chart->limit))
        return;
    snprintf(text, sizeof text, "%s The line would reach the machine's %s at batch %.0f, if it went on so.",
             chart->caption, size, floor((chart->limit - fixed) / slope));
    chart->caption = bl_chart_keep(m, text);
}

static void make_batch_chart(bl_chart_maker *m, bl_chart chart, quantity q, const char *unit)
{
    size_t room = 0, color = 0;
    chart.x_label = "batch size";
    chart.special = "power of two";
    chart.batch_axis = true;
    for (size_t k = 0; k < m->n; k++)
        room += 2 * bl_chart_n_others(m->analyses[k]);
    chart.series = bl_chart_take(m, room, sizeof *chart.series);
    for (size_t k = 0; k < m->n && !m->failed; k++) {
        const bl_analysis *a = m->analyses[k];
        for (size_t group = 0; group < bl_chart_n_others(a) && !m->failed; group++) {
            bl_chart_series *s = &chart.series[chart.n_series++];
            if (!bl_chart_take_series(m, s, a->n_cases, q == RATE))
                return;
            s->color = color++;
            s->name = bl_chart_series_name(m, a, group);
            fill_points(m, a, group, q, unit, s);
            double fixed, slope;
            if (q == RATE || q == WAIT)
                continue;
            bool fitted = fit(s, q, &fixed, &slope);
            if (fitted && q != RESIDUAL)
                add_line(m, &chart, s, fixed, slope);
            if (q == MEMORY_GIB && m->n == 1 && bl_chart_n_others(a) == 1)
                add_limit(m, &chart, fitted ? fixed : NAN, fitted ? slope : NAN);
            for (size_t i = 0; i < s->n && fitted && q == RESIDUAL; i++) {
                s->y[i] = 100 * (1 - (fixed + slope * s->x[i]) / s->y[i]);
                s->notes[i] = bl_chart_note(m, "from the fit", "%", s->y[i], NAN, NAN);
            }
            s->n = q == RESIDUAL && !fitted ? 0 : s->n;
        }
    }
    bl_chart_add(m, &chart);
}

static void make_batch_charts(bl_chart_maker *m)
{
    bool per_run = m->analyses[0]->per_run;
    make_batch_chart(m,
                     (bl_chart){.id = "throughput",
                                .title = "Throughput over batch size",
                                .y_label = per_run ? "seconds a run" : "samples/s",
                                .caption = "Each point with its interval over the blocks. Intervals hold what the "
                                           "machine did between blocks: that two overlap does not make their sizes "
                                           "equal.",
                                .band = NAN,
                                .limit = NAN},
                     RATE, per_run ? "s a run" : "samples/s");
    make_batch_chart(m,
                     (bl_chart){.id = "step_time",
                                .title = "Time of a step over batch size",
                                .y_label = "ms a step",
                                .caption = "Median step of the warm part; the line is a fixed cost and a cost a "
                                           "sample, fitted robustly.",
                                .from_zero = true,
                                .band = NAN,
                                .limit = NAN},
                     STEP_MS, "ms");
    make_batch_chart(m,
                     (bl_chart){.id = "residuals",
                                .title = "Step time: what the fit leaves",
                                .y_label = "measured over fitted, %",
                                .caption = "Where powers of two were special, they would lie together below 0. The "
                                           "band is the margin.",
                                .band = 100 * m->analyses[0]->experiment->margin,
                                .limit = NAN},
                     RESIDUAL, "%");
    make_batch_chart(m,
                     (bl_chart){.id = "memory",
                                .title = "Peak memory over batch size",
                                .y_label = "GiB of the process tree",
                                .caption = "Host memory: the largest of a size's trials that went well, and a "
                                           "straight line through them.",
                                .from_zero = true,
                                .band = NAN,
                                .limit = NAN},
                     MEMORY_GIB, "GiB");
    make_batch_chart(m,
                     (bl_chart){.id = "wait",
                                .title = "Waiting for data",
                                .y_label = "% of the steps' time",
                                .caption = "The share of the warm steps in which training waited for its next batch.",
                                .from_zero = true,
                                .band = NAN,
                                .limit = NAN},
                     WAIT, "%");
}

int bl_charts_make(const bl_analysis *const *analyses, size_t n, bl_arena *arena, bl_chart *charts, size_t *n_charts,
                   bl_error *err)
{
    bl_chart_maker m = {.analyses = analyses, .n = n, .arena = arena, .charts = charts, .n_charts = n_charts};
    *n_charts = 0;
    if (n == 0)
        return BL_OK;
    make_batch_charts(&m);
    bl_chart_make_machine(&m);
    if (n == 1) {
        bl_chart_make_training(&m);
        bl_chart_make_inside(&m);
        bl_chart_make_trial(&m);
    }
    return m.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the pictures") : BL_OK;
}
