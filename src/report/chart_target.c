/* Charts of how far trainings got: steps and time to a target, and how noisy their gradients were. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart_parts.h"
#include "report/format.h"
#include "report/noise_scales.h"
#include "report/reaching.h"
#include "stats/steps_fit.h"

/* ---- the noise scale ---- */

static void add_noise(bl_chart_maker *m, bl_chart_series *s, const bl_case_noise *noise, const char *label)
{
    const bl_noise_scale *scale = &noise->scale;
    bool bounded = scale->has_interval && isfinite(scale->low) && isfinite(scale->high);
    if (!(scale->scale > 0) || !isfinite(scale->scale))
        return;
    size_t i = s->n++;
    s->x[i] = (double)noise->after_steps;
    s->y[i] = scale->scale;
    s->low[i] = bounded ? fmax(scale->low, 0) : NAN;
    s->high[i] = bounded ? scale->high : NAN;
    char text[300], number[32], low[32];
    bl_format_number(scale->scale, number, sizeof number);
    bl_format_number(scale->low, low, sizeof low);
    snprintf(text, sizeof text, "%.120s after %lld steps", label, (long long)noise->after_steps);
    s->notes[i] = bl_chart_note(m, text, "samples", scale->scale, s->low[i], s->high[i]);
    if (scale->has_interval && !bounded) {
        snprintf(text, sizeof text, "%.120s after %lld steps: %s samples, at least %s", label,
                 (long long)noise->after_steps, number, low);
        s->notes[i] = bl_chart_keep(m, text);
    }
}

static void make_noise(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    bl_case_noise *noises;
    size_t n;
    bl_chart chart = {.id = "noise_scale",
                      .title = "How noisy the gradient is",
                      .x_label = "after so many steps",
                      .y_label = "noise scale, samples",
                      .caption = "An order of magnitude, no more, of the batch size from which on larger ones waste "
                                 "samples. A point without an interval may have no upper bound: see what it says. "
                                 "Gradients that drown in their noise have no point.",
                      .from_zero = true,
                      .band = NAN,
                      .limit = NAN};
    if (bl_case_noises(a->experiment, &noises, &n, NULL) != BL_OK || n == 0)
        return;
    chart.series = bl_chart_take(m, 2 * a->n_cases, sizeof *chart.series);
    for (size_t from = 0, to; from < n && !m->failed; from = to) {
        const char *label = noises[from].case_index < a->n_cases ? a->cases[noises[from].case_index].label : "?";
        for (to = from; to < n && noises[to].case_index == noises[from].case_index; to++)
            ;
        for (int scaled = 0; scaled < 2 && !m->failed; scaled++) {
            bl_chart_series *s = &chart.series[chart.n_series];
            char name[200];
            if (!bl_chart_take_series(m, s, to - from, true))
                break;
            for (size_t i = from; i < to; i++)
                if (noises[i].scaled == scaled)
                    add_noise(m, s, &noises[i], label);
            snprintf(name, sizeof name, "%.120s%s", label, scaled ? ", scaled" : "");
            s->name = bl_chart_keep(m, name);
            s->color = chart.n_series;
            chart.n_series += s->n > 0;
        }
    }
    free(noises);
    bl_chart_add(m, &chart);
}

/* ---- steps and time to a target ---- */

typedef struct reached {
    double steps, seconds; /* NaN: it was not reached */
} reached;

static bool tells(const bl_trial_record *t, const bl_target *target)
{
    bool told = false;
    if (bl_target_is_loss(target))
        for (size_t i = 0; t->steps && !told && i < t->n_steps; i++)
            told = isfinite(t->steps[i].loss);
    else
        for (size_t i = 0; !told && i < t->n_points; i++)
            told = isfinite(t->points[i].value) && strcmp(t->points[i].name, target->name) == 0;
    return told;
}

static reached reach(const bl_analysis *a, const bl_trial_record *t, const bl_target *target)
{
    double batch = t->case_index < a->n_cases ? (double)a->cases[t->case_index].batch : 0;
    double steps = bl_reaching_steps(t, batch, target);
    return (reached){steps, isnan(steps) ? NAN : bl_reaching_seconds(t, batch, steps)};
}

/* --until of the sweep, where the reader asked for none. False: there is no target. */
static bool find_target(const bl_analysis *a, bl_target *out)
{
    if (a->target) {
        *out = *a->target;
        return true;
    }
    json_t *driving = a->experiment->driving ? json_loads(a->experiment->driving, 0, NULL) : NULL;
    const json_t *until = json_object_get(driving, "until"), *loss = json_object_get(driving, "until_loss");
    bool found = json_is_string(until) && bl_target_parse(json_string_value(until), out);
    if (!found && json_is_number(loss)) { /* of older sweeps */
        *out = (bl_target){.name = "loss", .value = json_number_value(loss), .falls = true};
        found = true;
    }
    json_decref(driving);
    return found;
}

/* What the trials reached, and what that means. */
static void describe(const bl_target *target, size_t n_reached, size_t n_told, char *out, size_t size)
{
    if (bl_target_is_loss(target))
        snprintf(out, size,
                 "%zu of the %zu trials that told losses reached a mean loss of %g over the last tenth of their steps.",
                 n_reached, n_told, target->value);
    else
        snprintf(out, size,
                 "%zu of the %zu trials that told %s reached %g, their steps taken from the line between two of its "
                 "values.",
                 n_reached, n_told, target->name, target->value);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median steps of a case's trials; NaN unless most of them got there. */
static double median_steps(const bl_analysis *a, const reached *all, size_t c, double *scratch)
{
    size_t n = 0, ran = 0;
    for (size_t i = 0; i < a->experiment->n_trials; i++)
        if (a->experiment->trials[i].case_index == c && strcmp(a->experiment->trials[i].outcome, "interrupted") != 0) {
            ran++;
            if (!isnan(all[i].steps))
                scratch[n++] = all[i].steps;
        }
    if (2 * n <= ran)
        return NAN;
    qsort(scratch, n, sizeof *scratch, compare_doubles);
    return n % 2 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2;
}

/* Of the cases of each batch size, such as its learning rates, the one with the fewest steps. */
static void mark_fewest(const bl_analysis *a, const double *medians, bool *fewest)
{
    for (size_t c = 0; c < a->n_cases; c++) {
        fewest[c] = !isnan(medians[c]);
        for (size_t other = 0; other < a->n_cases; other++)
            if (a->cases[other].batch == a->cases[c].batch &&
                (medians[other] < medians[c] || (medians[other] == medians[c] && other < c)))
                fewest[c] = false;
    }
}

static void fill(bl_chart_maker *m, bl_chart *chart, const reached *all, const bool *fewest, bool time)
{
    const bl_analysis *a = m->analyses[0];
    bl_chart_series *s = &chart->series[chart->n_series++];
    if (!bl_chart_take_series(m, s, a->experiment->n_trials, false))
        return;
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        double value = time ? all[i].seconds : all[i].steps;
        if (t->case_index >= a->n_cases || !isfinite(value))
            continue;
        char label[200];
        snprintf(label, sizeof label, "trial %zu, %.120s", i + 1, a->cases[t->case_index].label);
        s->x[s->n] = (double)a->cases[t->case_index].batch;
        s->y[s->n] = value;
        s->special[s->n] = fewest[t->case_index];
        s->notes[s->n++] = bl_chart_note(m, label, time ? "s" : "steps", value, NAN, NAN);
    }
}

/* S(B) of stats/steps_fit.h through the best cases' trials, as tune fits it. */
static void add_fit(bl_chart_maker *m, bl_chart *chart)
{
    enum { POINTS = 33 };
    const bl_chart_series *points = &chart->series[0];
    double *x = bl_chart_take(m, points->n, sizeof *x), *y = bl_chart_take(m, points->n, sizeof *y);
    double low = INFINITY, high = 0;
    size_t n = 0;
    bl_steps_fit fit;
    for (size_t i = 0; !m->failed && i < points->n; i++)
        if (points->special[i] && points->x[i] > 0) {
            x[n] = points->x[i];
            y[n++] = points->y[i];
            low = fmin(low, points->x[i]);
            high = fmax(high, points->x[i]);
        }
    bl_chart_series *s = &chart->series[chart->n_series];
    if (m->failed || n < 3 || n > BL_STEPS_MAX_N || bl_fit_steps(x, y, n, NAN, 0.95, &fit, NULL) != BL_OK ||
        fit.shape == BL_STEPS_NO_FIT || !bl_chart_take_series(m, s, POINTS, false))
        return;
    s->line = true;
    s->name = "least (1 + critical / B)";
    s->color = 1;
    for (; s->n < POINTS; s->n++) {
        s->x[s->n] = low * pow(high / low, (double)s->n / (POINTS - 1));
        s->y[s->n] = bl_steps_at(&fit.curve, s->x[s->n]);
    }
    chart->n_series++;
}

static void make_target(bl_chart_maker *m, const bl_target *target)
{
    const bl_analysis *a = m->analyses[0];
    const bl_experiment *e = a->experiment;
    reached *all = bl_chart_take(m, e->n_trials, sizeof *all);
    double *medians = bl_chart_take(m, a->n_cases, sizeof *medians), *scratch;
    bool *fewest = bl_chart_take(m, a->n_cases, sizeof *fewest);
    size_t n_reached = 0, n_told = 0;
    scratch = bl_chart_take(m, e->n_trials, sizeof *scratch);
    if (m->failed)
        return;
    for (size_t i = 0; i < e->n_trials; i++) {
        all[i] = reach(a, &e->trials[i], target);
        n_reached += !isnan(all[i].steps);
        n_told += tells(&e->trials[i], target);
    }
    for (size_t c = 0; c < a->n_cases; c++)
        medians[c] = median_steps(a, all, c, scratch);
    mark_fewest(a, medians, fewest);
    for (int time = 0; time < 2 && !m->failed; time++) {
        char found[250], caption[600];
        describe(target, n_reached, n_told, found, sizeof found);
        snprintf(caption, sizeof caption,
                 "%s %s What counts of each size is the case with the fewest steps, and only where learning rates "
                 "were tried for each size.",
                 found,
                 time ? "The time of the steps up to there, warm-up included, without evaluation or start-up."
                      : "The curve is what batchlab tune fits.");
        bl_chart chart = {.id = time ? "time_to_target" : "steps_to_target",
                          .title = time ? "Time to the target" : "Steps to the target",
                          .x_label = "batch size",
                          .y_label = time ? "seconds" : "steps",
                          .caption = bl_chart_keep(m, caption),
                          .special = "fewest steps of its size",
                          .batch_axis = true,
                          .from_zero = true,
                          .band = NAN,
                          .limit = NAN};
        chart.series = bl_chart_take(m, 2, sizeof *chart.series);
        if (!m->failed)
            fill(m, &chart, all, fewest, time == 1);
        if (!m->failed && time == 0)
            add_fit(m, &chart);
        bl_chart_add(m, &chart);
    }
}

void bl_chart_make_training(bl_chart_maker *m)
{
    bl_target target;
    make_noise(m);
    if (find_target(m->analyses[0], &target))
        make_target(m, &target);
}
