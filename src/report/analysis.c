#include "report/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "stats/steady.h"

#define NS_PER_S 1e9

const char *bl_figure_source_name(bl_figure_source source)
{
    static const char *const names[] = {"none", "steps", "progress", "wall", "run", "mixed"};
    return (size_t)source < BL_ARRAY_LEN(names) ? names[source] : "none";
}

static bool is_ok(const bl_trial_record *t)
{
    return strcmp(t->outcome, "ok") == 0;
}

static bool counts(const bl_trial_record *t)
{
    return strcmp(t->outcome, "interrupted") != 0;
}

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the experiment's figures");
}

/* ---- one trial ---- */

/* Steps whose length is known, as the estimator wants them. Returns their number. */
static size_t timed_steps(const bl_trial_record *t, double *dt_s, double *samples, size_t *index)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_steps; i++) {
        if (t->steps[i].time_ns <= 0)
            continue;
        dt_s[n] = (double)t->steps[i].time_ns / NS_PER_S;
        samples[n] = (double)t->steps[i].samples;
        index[n++] = i;
    }
    return n;
}

static double wait_share(const bl_trial_record *t, const size_t *index, size_t first, size_t n)
{
    double wait = 0, total = 0;
    for (size_t i = first; i < n; i++) {
        const bl_stored_step *step = &t->steps[index[i]];
        if (step->wait_ns < 0)
            return NAN;
        wait += (double)step->wait_ns;
        total += (double)step->time_ns;
    }
    return total > 0 ? wait / total : NAN;
}

static int figure_from_steps(const bl_trial_record *t, int64_t warmup, bl_trial_figure *out, bl_error *err)
{
    double *dt_s = bl_calloc(t->n_steps, sizeof *dt_s), *samples = bl_calloc(t->n_steps, sizeof *samples);
    size_t *index = bl_calloc(t->n_steps, sizeof *index);
    int code = dt_s && samples && index ? BL_OK : no_memory(err);
    if (code == BL_OK) {
        size_t n = timed_steps(t, dt_s, samples, index);
        bl_steady_options options;
        bl_steady_options_init(&options);
        options.drop_first = (size_t)warmup;
        bl_steady steady;
        code = bl_steady_from_steps(dt_s, samples, n, &options, &steady, err);
        if (code == BL_OK) {
            out->source = strcmp(t->step_source, "progress") == 0 ? BL_FIGURE_PROGRESS : BL_FIGURE_STEPS;
            out->seconds = steady.seconds_per_sample;
            out->step_seconds = steady.step_seconds;
            out->warm_from = steady.first_steady < n ? index[steady.first_steady] : t->n_steps;
            out->wait_share = wait_share(t, index, steady.first_steady, n);
            snprintf(out->note, sizeof out->note, "%s", steady.note);
        }
    }
    free(dt_s);
    free(samples);
    free(index);
    return code;
}

int bl_trial_figure_compute(const bl_trial_record *t, int64_t warmup, bl_trial_figure *out, bl_error *err)
{
    *out = (bl_trial_figure){.seconds = NAN, .step_seconds = NAN, .wait_share = NAN};
    if (!is_ok(t))
        return BL_OK;
    if (t->step_source && strcmp(t->step_source, "none") != 0)
        return t->n_steps > 0 && t->steps ? figure_from_steps(t, warmup, out, err) : BL_OK;
    if (!(t->wall_s > 0))
        return BL_OK;
    bool known = t->run_samples > 0;
    out->source = known ? BL_FIGURE_WALL : BL_FIGURE_RUN;
    out->seconds = known ? t->wall_s / t->run_samples : t->wall_s;
    snprintf(out->note, sizeof out->note, "timed whole");
    return BL_OK;
}

static int compute_trials(bl_analysis *a, bl_arena *arena, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    a->trials = bl_arena_alloc(arena, e->n_trials, sizeof *a->trials);
    if (!a->trials)
        return no_memory(err);
    bool any_per_sample = false, any_per_run = false;
    for (size_t i = 0; i < e->n_trials; i++) {
        int code = bl_trial_figure_compute(&e->trials[i], e->warmup, &a->trials[i], err);
        if (code != BL_OK)
            return code;
        bool has = !isnan(a->trials[i].seconds);
        any_per_run = any_per_run || (has && a->trials[i].source == BL_FIGURE_RUN);
        any_per_sample = any_per_sample || (has && a->trials[i].source != BL_FIGURE_RUN);
    }
    a->per_run = any_per_run && !any_per_sample;
    /* Seconds a run are no seconds a sample: where both occur, the former are left out. */
    for (size_t i = 0; i < e->n_trials && any_per_sample; i++)
        if (a->trials[i].source == BL_FIGURE_RUN)
            a->trials[i].seconds = NAN;
    return BL_OK;
}

/* ---- one case ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The commonest outcome that is not ok. */
static void name_outcome(const bl_experiment *e, size_t c, bl_case_figure *out)
{
    out->outcome = out->n_trials == 0 ? "-" : "ok";
    out->n_outcome = out->n_ok;
    size_t most = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (t->case_index != c || is_ok(t) || !counts(t))
            continue;
        size_t n = 0;
        for (size_t k = 0; k < e->n_trials; k++)
            n += e->trials[k].case_index == c && strcmp(e->trials[k].outcome, t->outcome) == 0;
        if (n > most) {
            most = n;
            out->outcome = t->outcome;
            out->n_outcome = n;
            out->reason = t->reason;
        }
    }
}

/* What docs/PROTOCOL.md calls load_s; the values are gathered in `scratch`. */
static double median_load(const bl_experiment *e, size_t c, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        for (size_t k = 0; t->case_index == c && is_ok(t) && k < t->n_metrics; k++)
            if (strcmp(t->metrics[k].name, "load_s") == 0)
                scratch[n++] = t->metrics[k].value;
    }
    return median(scratch, n);
}

static int compute_case(bl_analysis *a, size_t c, double *scratch, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    bl_case_figure *out = &a->cases[c];
    double wait = 0;
    size_t n_steps = 0, n_wait = 0;
    out->peak_memory_b = NAN;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        const bl_trial_figure *figure = &a->trials[i];
        if (t->case_index != c || !counts(t))
            continue;
        out->n_trials++;
        if (!is_ok(t))
            continue;
        out->n_ok++;
        if (!(out->peak_memory_b >= t->peak_memory_b))
            out->peak_memory_b = t->peak_memory_b;
        if (isnan(figure->seconds)) {
            out->n_unsteady += figure->source == BL_FIGURE_STEPS || figure->source == BL_FIGURE_PROGRESS;
            continue;
        }
        out->n_with_figure++;
        out->source = out->source == BL_FIGURE_NONE || out->source == figure->source ? figure->source : BL_FIGURE_MIXED;
        if (t->block < a->n_blocks)
            a->seconds[c * a->n_blocks + t->block] = figure->seconds;
        if (!isnan(figure->step_seconds))
            scratch[n_steps++] = figure->step_seconds;
        if (!isnan(figure->wait_share)) {
            wait += figure->wait_share;
            n_wait++;
        }
    }
    out->step_seconds = median(scratch, n_steps);
    out->wait_share = n_wait > 0 ? wait / (double)n_wait : NAN;
    out->load_seconds = median_load(e, c, scratch);
    name_outcome(e, c, out);
    return bl_case_interval(a->seconds + c * a->n_blocks, a->n_blocks, BL_REPORT_LEVEL, &out->seconds, err);
}

static int name_case(bl_analysis *a, size_t c, bl_arena *arena, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    bl_str label;
    bl_str_init(&label);
    for (size_t f = 0; f < e->n_factors; f++) {
        const char *value = bl_experiment_value(e, c, f);
        if (f > 0 || value[0]) /* no batch size was given */
            bl_str_printf(&label, "%s%s=%s", label.len ? " " : "", e->factors[f].name, value);
    }
    a->cases[c].label = bl_arena_strdup(arena, bl_str_text(&label));
    a->cases[c].batch = strtoll(bl_experiment_value(e, c, 0), NULL, 10);
    bool ok = a->cases[c].label && !label.failed;
    bl_str_clear(&label);
    return ok ? BL_OK : no_memory(err);
}

static void count_full_blocks(bl_analysis *a)
{
    const bl_experiment *e = a->experiment;
    for (size_t b = 0; b < a->n_blocks; b++) {
        size_t ran = 0;
        for (size_t i = 0; i < e->n_trials; i++)
            ran += e->trials[i].block == b && counts(&e->trials[i]);
        a->n_blocks_done += ran >= a->n_cases;
    }
}

static int compare_with_best(bl_analysis *a, bl_error *err)
{
    int code = bl_contrast_best(a->seconds, a->n_cases, a->n_blocks, &a->best, err);
    if (code != BL_OK || a->best == a->n_cases)
        return code;
    const double *best = a->seconds + a->best * a->n_blocks;
    for (size_t c = 0; code == BL_OK && c < a->n_cases; c++)
        code = bl_contrast_pair(best, a->seconds + c * a->n_blocks, a->n_blocks, BL_REPORT_LEVEL,
                                &a->cases[c].against_best, err);
    return code;
}

/* ---- groups of batch sizes ---- */

/* Cases with the same values of all factors but batch lie n_others apart: batch varies slowest. */
static int compute_group(bl_analysis *a, size_t group, size_t n_others, bl_arena *arena, bl_error *err)
{
    size_t n_batches = a->n_cases / n_others;
    int64_t *batch = bl_arena_alloc(arena, n_batches, sizeof *batch);
    double *y = bl_arena_alloc(arena, n_batches * a->n_blocks, sizeof *y);
    if (!batch || !y)
        return no_memory(err);
    for (size_t i = 0; i < n_batches; i++) {
        size_t c = i * n_others + group;
        batch[i] = a->cases[c].batch;
        memcpy(y + i * a->n_blocks, a->seconds + c * a->n_blocks, a->n_blocks * sizeof *y);
    }
    const char *label = strchr(a->cases[group].label, ' ');
    a->groups[group].label = n_others > 1 && label ? label + 1 : "";
    a->n_groups = group + 1;
    bl_batch_group *g = &a->groups[group];
    double margin = a->experiment->margin;
    int code = bl_neighbours_compute(batch, y, n_batches, a->n_blocks, BL_REPORT_LEVEL, margin, &g->neighbours, err);
    if (code == BL_OK)
        code = bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, batch, y, n_batches, a->n_blocks, BL_REPORT_LEVEL, margin,
                                  &g->powers, err);
    if (code == BL_OK)
        code = bl_special_compute(BL_SPECIAL_MULTIPLES_OF_8, batch, y, n_batches, a->n_blocks, BL_REPORT_LEVEL, margin,
                                  &g->eights, err);
    return code == BL_OK ? bl_knee_compute(a, group, n_others, y, arena, &g->knee, err) : code;
}

int bl_analysis_compute(const bl_experiment *experiment, bl_arena *arena, bl_analysis *out, bl_error *err)
{
    *out = (bl_analysis){
        .experiment = experiment, .n_cases = bl_experiment_n_cases(experiment), .n_blocks = (size_t)experiment->blocks};
    out->best = out->n_cases;
    if (out->n_cases == 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "experiment %lld has no cases", (long long)experiment->id);
    int code = compute_trials(out, arena, err);
    size_t n_others = out->n_cases / experiment->factors[0].n_values;
    out->cases = bl_arena_alloc(arena, out->n_cases, sizeof *out->cases);
    out->seconds = bl_arena_alloc(arena, out->n_cases * out->n_blocks, sizeof *out->seconds);
    out->groups = bl_arena_alloc(arena, n_others, sizeof *out->groups);
    double *scratch = bl_arena_alloc(arena, experiment->n_trials, sizeof *scratch);
    if (code == BL_OK && !(out->cases && out->seconds && out->groups && scratch))
        code = no_memory(err);
    for (size_t i = 0; code == BL_OK && i < out->n_cases * out->n_blocks; i++)
        out->seconds[i] = NAN;
    for (size_t c = 0; code == BL_OK && c < out->n_cases; c++) {
        code = name_case(out, c, arena, err);
        if (code == BL_OK)
            code = compute_case(out, c, scratch, err);
    }
    if (code == BL_OK) {
        count_full_blocks(out);
        code = compare_with_best(out, err);
    }
    for (size_t g = 0; code == BL_OK && g < n_others; g++)
        code = compute_group(out, g, n_others, arena, err);
    const bl_comparison *comparison = &experiment->comparison;
    if (code == BL_OK && comparison->n_pairs > 0)
        code = bl_analysis_judge(out, comparison->pairs, comparison->n_pairs, experiment->margin,
                                 comparison->confidence, arena, err);
    return code;
}

void bl_analysis_clear(bl_analysis *analysis)
{
    for (size_t g = 0; g < analysis->n_groups; g++)
        bl_neighbours_clear(&analysis->groups[g].neighbours);
    analysis->n_groups = 0;
}
