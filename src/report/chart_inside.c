/* Charts of what is only of use inside one experiment. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/chart_parts.h"
#include "report/format.h"
#include "report/traces.h"
#include "stats/fit.h"

static void add_row(bl_chart_maker *m, bl_chart *chart, const char *name, const bl_interval *ratio, bool special)
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
    s->notes[i] = bl_chart_note(m, name, "% time", s->x[i], s->low[i], s->high[i]);
    chart->rows[chart->n_rows++] = bl_chart_keep(m, name);
}

static void make_differences(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    bl_chart chart = {.id = "differences",
                      .title = "Differences inside blocks",
                      .x_label = a->per_run ? "time a run, % more" : "time per sample, % more",
                      .y_label = "",
                      .special = "neighbours against their power of two",
                      .band = 100 * a->experiment->margin,
                      .limit = NAN};
    size_t room = a->n_cases + a->n_groups;
    chart.series = bl_chart_take(m, 1, sizeof *chart.series);
    chart.rows = bl_chart_take(m, room, sizeof *chart.rows);
    if (m->failed || a->best == a->n_cases || a->n_cases < 2 || !bl_chart_take_series(m, chart.series, room, true))
        return;
    char caption[400];
    snprintf(caption, sizeof caption,
             "Each case against %.100s, the best observed (which looks better than it is: only "
             "fresh blocks confirm it), with its interval. The band is the margin of %g %%.",
             a->cases[a->best].label, 100 * a->experiment->margin);
    chart.caption = bl_chart_keep(m, caption);
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
    bl_chart_add(m, &chart);
}

/* Of a comparison: each pair as it was judged. */
static void make_verdicts(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    bl_chart chart = {.id = "verdicts",
                      .title = "Verdicts",
                      .x_label = a->per_run ? "time a run, % more" : "time per sample, % more",
                      .y_label = "",
                      .special = "decided",
                      .band = 100 * a->rule.margin,
                      .limit = NAN,
                      .n_series = 1};
    chart.series = bl_chart_take(m, 1, sizeof *chart.series);
    chart.rows = bl_chart_take(m, a->n_pairs, sizeof *chart.rows);
    if (m->failed || a->n_pairs == 0 || !bl_chart_take_series(m, chart.series, a->n_pairs, true))
        return;
    char text[400];
    snprintf(text, sizeof text,
             "Each declared pair at the look that decided it, or over all blocks so far. The band is the margin of %g "
             "%%: an interval beyond it is a difference. The confidence of %g %% holds over all looks and pairs, so "
             "that each interval is wider than one alone would be.",
             100 * a->rule.margin, 100 * a->rule.confidence);
    chart.caption = bl_chart_keep(m, text);
    for (size_t p = 0; p < a->n_pairs; p++) {
        const bl_judged_pair *pair = &a->pairs[p];
        snprintf(text, sizeof text, "%.120s against %.120s", pair->b, pair->a);
        add_row(m, &chart, text, &pair->verdict.contrast.ratio, pair->verdict.kind != BL_VERDICT_INCONCLUSIVE);
    }
    bl_chart_add(m, &chart);
}

enum { DRIFT_LEAST = 8, DRIFT_MOST = 1000 };

/* A straight line through the trials that went well: Theil-Sen's, which a third of disturbed ones does not turn. */
static void add_drift(bl_chart_maker *m, bl_chart *chart, const bl_chart_series *trials)
{
    size_t every = trials->n / DRIFT_MOST + 1, n = 0;
    double *x = bl_chart_take(m, DRIFT_MOST + 1, sizeof *x), *y = bl_chart_take(m, DRIFT_MOST + 1, sizeof *y);
    bl_chart_series *line = &chart->series[chart->n_series];
    bl_line drift;
    for (size_t i = 0; !m->failed && i < trials->n; i += every)
        if (!trials->special[i]) {
            x[n] = trials->x[i];
            y[n++] = trials->y[i];
        }
    if (n < DRIFT_LEAST || bl_fit_theil_sen(x, y, n, &drift, NULL) != BL_OK || !isfinite(drift.slope) ||
        !bl_chart_take_series(m, line, 2, false))
        return;
    line->line = true;
    line->color = 1;
    line->n = 2;
    line->x[0] = x[0];
    line->x[1] = x[n - 1];
    for (size_t i = 0; i < 2; i++)
        line->y[i] = drift.intercept + drift.slope * line->x[i];
    chart->n_series++;
}

static void make_timeline(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    const bl_experiment *e = a->experiment;
    bl_chart chart = {.id = "timeline",
                      .title = "Trials in the order they ran",
                      .x_label = "minutes since the first trial began",
                      .y_label = "time against its case's, %",
                      .caption =
                          "Each trial's time per sample against the estimate of its case: a drift of the machine "
                          "shows as a slope (the line), a disturbance as a group of points. Failures lie at 0.",
                      .special = "not ok",
                      .band = 100 * e->margin,
                      .limit = NAN,
                      .n_series = 1};
    chart.series = bl_chart_take(m, 2, sizeof *chart.series);
    if (m->failed || e->n_trials == 0 || !bl_chart_take_series(m, chart.series, e->n_trials, false))
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
        s->notes[s->n++] = bl_chart_keep(m, note);
    }
    add_drift(m, &chart, s);
    bl_chart_add(m, &chart);
}

/* ---- the steps of some trials ---- */

enum { TRACE_CASES = 8, TRACE_POINTS = 240 };

static const bl_trial_record *first_with_steps(const bl_analysis *a, size_t c, size_t *index)
{
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        if (t->case_index == c && t->n_steps > 0 && t->steps && isfinite(a->trials[i].seconds)) {
            *index = i;
            return t;
        }
    }
    return NULL;
}

static void add_trace(bl_chart_maker *m, bl_chart *chart, size_t c, bl_chart_series *cuts)
{
    const bl_analysis *a = m->analyses[0];
    size_t index, every;
    const bl_trial_record *t = first_with_steps(a, c, &index);
    bl_chart_series *s = &chart->series[chart->n_series];
    double ms[TRACE_POINTS + 2];
    if (!t || !bl_chart_take_series(m, s, TRACE_POINTS + 2, false))
        return;
    size_t n = bl_trace_thin(t, TRACE_POINTS, ms, &every), cut = bl_trace_cut(t, &a->trials[index]);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(ms[i]))
            continue;
        size_t pair = i / 2; /* of the least and the largest of `every` steps */
        s->x[s->n] = every > 0 ? (double)(pair * every) + (i % 2 ? 0.75 : 0.25) * (double)every + 1 : (double)i + 1;
        s->y[s->n++] = ms[i];
    }
    s->line = true;
    s->color = chart->n_series - 1;
    s->name = bl_chart_keep(m, a->cases[c].label);
    chart->n_series++;
    if (cut < t->n_steps && t->steps[cut].time_ns > 0) {
        char note[200];
        snprintf(note, sizeof note, "trial %zu, %.120s: counted from step %zu on", index + 1, a->cases[c].label,
                 cut + 1);
        cuts->x[cuts->n] = (double)cut + 1;
        cuts->y[cuts->n] = (double)t->steps[cut].time_ns / 1e6;
        cuts->special[cuts->n] = true;
        cuts->notes[cuts->n++] = bl_chart_keep(m, note);
    }
}

/* The first trial of each of some cases, spread over all. */
static void make_traces(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    bl_chart chart = {.id = "steps",
                      .title = "Steps of one trial",
                      .x_label = "step",
                      .y_label = "ms a step",
                      .caption = "The time of each step, the first trial of a case each. What lies before the mark is "
                                 "the warm-up, which the figures leave out. Of many steps the least and the greatest "
                                 "of each stretch are drawn.",
                      .special = "counted from here on",
                      .from_zero = true,
                      .band = NAN,
                      .limit = NAN,
                      .n_series = 1};
    size_t every = (a->n_cases + TRACE_CASES - 1) / TRACE_CASES;
    chart.series = bl_chart_take(m, TRACE_CASES + 1, sizeof *chart.series);
    if (m->failed || !bl_chart_take_series(m, &chart.series[0], TRACE_CASES, false))
        return;
    for (size_t c = 0; c < a->n_cases && !m->failed; c += every)
        add_trace(m, &chart, c, &chart.series[0]);
    bl_chart_add(m, &chart);
}

void bl_chart_make_inside(bl_chart_maker *m)
{
    make_verdicts(m);
    make_differences(m);
    make_timeline(m);
    make_traces(m);
}
