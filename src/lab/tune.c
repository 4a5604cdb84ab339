#include "lab/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "report/reaching.h"
#include "report/telemetry_figures.h"

#define LEVEL 0.95

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for what the experiments say");
}

/* ---- what a step costs ---- */

/* Cases of one batch size together (they may differ in the rate): mean time of a step, largest memory. */
static void add_case(const bl_analysis *a, size_t c, bl_size_cost *size, size_t *n_times)
{
    const bl_case_figure *figure = &a->cases[c];
    bl_telemetry_figure t;
    if (bl_telemetry_figure_of_case(a, c, &t) && isfinite(t.joules_per_sample) && !isfinite(size->step_j))
        size->step_j = t.joules_per_sample * size->batch; /* of the first case of its size that has it */
    if (isfinite(figure->step_seconds)) {
        double before = *n_times > 0 ? size->step_s : 0;
        size->step_s = before + (figure->step_seconds - before) / (double)++*n_times;
    }
    if (isfinite(figure->peak_memory_b) && !(size->memory_b >= figure->peak_memory_b))
        size->memory_b = figure->peak_memory_b;
}

static int compare_sizes(const void *a, const void *b)
{
    const bl_size_cost *x = a, *y = b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

static int take_sizes(const bl_analysis *a, bl_arena *arena, bl_tune *t, bl_error *err)
{
    t->sizes = bl_arena_alloc(arena, a->n_cases, sizeof *t->sizes);
    size_t *n_times = bl_arena_alloc(arena, a->n_cases, sizeof *n_times);
    if (!t->sizes || !n_times)
        return no_memory(err);
    for (size_t c = 0; c < a->n_cases; c++) {
        const bl_case_figure *figure = &a->cases[c];
        double batch = (double)figure->batch;
        if (strcmp(figure->outcome, "out_of_memory") == 0)
            t->batch_max = fmin(t->batch_max, batch - 1);
        if (figure->n_ok == 0 || batch < 1)
            continue;
        size_t i = 0;
        while (i < t->n_sizes && t->sizes[i].batch != batch)
            i++;
        if (i == t->n_sizes) {
            t->sizes[t->n_sizes++] = (bl_size_cost){batch, NAN, NAN, NAN};
            n_times[i] = 0;
        }
        add_case(a, c, &t->sizes[i], &n_times[i]);
    }
    qsort(t->sizes, t->n_sizes, sizeof *t->sizes, compare_sizes);
    return BL_OK;
}

/* ---- how many steps ---- */

static double rate_of(const bl_experiment *e, size_t c)
{
    double rate = NAN;
    bl_error ignored = {0};
    for (size_t f = 0; f < e->n_factors; f++)
        if (strcmp(e->factors[f].name, "lr") == 0 &&
            bl_parse_f64(bl_experiment_value(e, c, f), "lr", &rate, &ignored) != BL_OK)
            rate = NAN;
    return rate;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the trials of a case, those that did not reach the target counted as endless: NaN unless most of them
 * got there. */
static double case_steps(const double *steps, size_t n_blocks, size_t ran, double *scratch)
{
    size_t n = 0;
    for (size_t b = 0; b < n_blocks; b++)
        if (!isnan(steps[b]))
            scratch[n++] = steps[b];
    if (2 * n <= ran)
        return NAN;
    qsort(scratch, n, sizeof *scratch, compare_doubles);
    return ran % 2 ? scratch[ran / 2] : (scratch[ran / 2 - 1] + scratch[ran / 2]) / 2;
}

typedef struct reached_table {
    double *steps;   /* (case, block) */
    size_t *ran;     /* trials of each case that count */
    size_t *stopped; /* of these, as losing */
    double *scratch;
} reached_table;

static int fill_table(const bl_analysis *a, const bl_target *target, bl_arena *arena, reached_table *out, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    size_t n = a->n_cases * a->n_blocks;
    *out = (reached_table){bl_arena_alloc(arena, n, sizeof *out->steps),
                           bl_arena_alloc(arena, a->n_cases, sizeof *out->ran),
                           bl_arena_alloc(arena, a->n_cases, sizeof *out->stopped),
                           bl_arena_alloc(arena, a->n_blocks, sizeof *out->scratch)};
    if (!out->steps || !out->ran || !out->stopped || !out->scratch)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        out->steps[i] = NAN;
    memset(out->ran, 0, a->n_cases * sizeof *out->ran);
    memset(out->stopped, 0, a->n_cases * sizeof *out->stopped);
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *trial = &e->trials[i];
        if (strcmp(trial->outcome, "interrupted") == 0 || trial->block >= a->n_blocks ||
            trial->case_index >= a->n_cases)
            continue;
        out->ran[trial->case_index]++;
        out->stopped[trial->case_index] += trial->reason && strncmp(trial->reason, "stopped: losing", 15) == 0;
        out->steps[trial->case_index * a->n_blocks + trial->block] =
            bl_reaching_steps(trial, (double)a->cases[trial->case_index].batch, target);
    }
    return BL_OK;
}

/* Whether the case's rate is the smallest or largest that ran at its size, of several. */
static bool at_edge(const bl_analysis *a, const reached_table *t, size_t best)
{
    double rate = rate_of(a->experiment, best);
    bool smaller = false, larger = false;
    for (size_t c = 0; c < a->n_cases; c++) {
        if (a->cases[c].batch != a->cases[best].batch || t->ran[c] == 0)
            continue;
        smaller = smaller || rate_of(a->experiment, c) < rate;
        larger = larger || rate_of(a->experiment, c) > rate;
    }
    return !isnan(rate) && !(smaller && larger);
}

/* The best case of the size, and a point for each of its blocks. */
static void take_pilot(const bl_analysis *a, const reached_table *table, size_t first, bl_tune *t)
{
    bl_tune_pilot *p = &t->pilots[t->n_pilots++];
    *p = (bl_tune_pilot){.batch = (double)a->cases[first].batch, .steps = NAN, .rate = NAN};
    size_t best = a->n_cases;
    for (size_t c = first; c < a->n_cases; c++) {
        const double *steps = table->steps + c * a->n_blocks;
        if (a->cases[c].batch != a->cases[first].batch)
            continue;
        size_t reached = 0;
        for (size_t b = 0; b < a->n_blocks; b++)
            reached += !isnan(steps[b]);
        double median = case_steps(steps, a->n_blocks, table->ran[c], table->scratch);
        p->n += table->ran[c];
        p->n_reached += reached;
        p->n_stopped += table->stopped[c];
        if (!isnan(median) && !(p->steps <= median)) {
            p->steps = median;
            best = c;
        }
    }
    if (best == a->n_cases)
        return;
    p->best = a->cases[best].label;
    p->rate = rate_of(a->experiment, best);
    p->at_edge = at_edge(a, table, best);
    for (size_t b = 0; b < a->n_blocks; b++) {
        double steps = table->steps[best * a->n_blocks + b];
        if (isnan(steps))
            continue;
        t->point_batch[t->n_points] = p->batch;
        t->point_steps[t->n_points++] = steps;
    }
}

static int compare_pilots(const void *a, const void *b)
{
    const bl_tune_pilot *x = a, *y = b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

static int fit_pilots(const bl_analysis *a, bl_arena *arena, bl_tune *t, bl_error *err)
{
    reached_table table;
    int code = fill_table(a, &t->options->target, arena, &table, err);
    if (code != BL_OK)
        return code;
    t->pilots = bl_arena_alloc(arena, a->n_cases, sizeof *t->pilots);
    t->point_batch = bl_arena_alloc(arena, a->n_cases * a->n_blocks, sizeof *t->point_batch);
    t->point_steps = bl_arena_alloc(arena, a->n_cases * a->n_blocks, sizeof *t->point_steps);
    if (!t->pilots || !t->point_batch || !t->point_steps)
        return no_memory(err);
    for (size_t c = 0; c < a->n_cases; c++) {
        size_t i = 0;
        while (i < t->n_pilots && t->pilots[i].batch != (double)a->cases[c].batch)
            i++;
        if (i == t->n_pilots && a->cases[c].batch > 0)
            take_pilot(a, &table, c, t);
    }
    qsort(t->pilots, t->n_pilots, sizeof *t->pilots, compare_pilots);
    code = bl_fit_steps(t->point_batch, t->point_steps, t->n_points, NAN, LEVEL, &t->steps, err);
    if (code == BL_OK && t->steps.shape == BL_STEPS_NO_FIT) {
        code = BL_FAIL(err, BL_ERR_FAILED, "experiment %lld reached %s=%g at fewer than two batch sizes",
                       (long long)a->experiment->id, t->options->target.name, t->options->target.value);
        bl_error_remedy(err, "longer trials, other learning rates, or a target that is nearer");
    }
    return code;
}

/* ---- the noise scale alone ---- */

/* The last measurement of the largest number of steps; as the optimizer scales gradients, where that is known. Steps
 * are left in units of the fewest: 1 + Bc / B. */
static int take_noise(const bl_analysis *a, bl_tune *t, bl_error *err)
{
    int code = bl_case_noises(a->experiment, &t->noises, &t->n_noises, err);
    size_t best = t->n_noises;
    for (size_t i = 0; code == BL_OK && i < t->n_noises; i++) {
        const bl_case_noise *n = &t->noises[i];
        const bl_case_noise *so_far = best < t->n_noises ? &t->noises[best] : NULL;
        bool scaled = t->options->rule == BL_RATE_ADAM;
        if (!(n->scale.scale > 0 && isfinite(n->scale.scale)))
            continue;
        if (!so_far || (n->scaled == scaled && so_far->scaled != scaled) ||
            (n->scaled == so_far->scaled && n->after_steps > so_far->after_steps))
            best = i;
    }
    if (code != BL_OK)
        return code;
    if (best == t->n_noises) {
        BL_FAIL(err, BL_ERR_FAILED, "no trial of experiment %lld marked a noise scale with a bound",
                (long long)a->experiment->id);
        bl_error_remedy(err, "batchlab-train --noise-scale-every N, or marker.noise() of batchlab_marker.py");
        return BL_ERR_FAILED;
    }
    t->noise = best;
    const bl_noise_scale *s = &t->noises[best].scale;
    t->steps = (bl_steps_fit){.curve = {0, s->scale},
                              .min_steps = 1,
                              .shape = BL_STEPS_BENT,
                              .worst_relative = NAN,
                              .sd = NAN,
                              .low = {0, s->has_interval ? s->low : NAN},
                              .high = {0, s->has_interval ? s->high : NAN},
                              .level = s->level,
                              .has_interval = s->has_interval,
                              .n = s->n};
    for (int i = 0; i < BL_STEPS_BAND; i++) /* steps at the ends are not known: all curves pass through S_min */
        t->steps.band[i] = (bl_steps_band){t->steps.curve, 0};
    return BL_OK;
}

/* ---- all ---- */

int bl_tune_compute(const bl_tune_options *o, const bl_analysis *timed, const bl_analysis *pilots, bl_arena *arena,
                    bl_tune *t, bl_error *err)
{
    *t = (bl_tune){.options = o, .batch_max = INFINITY};
    int code = take_sizes(timed, arena, t, err);
    if (code == BL_OK)
        code = o->noise_only ? take_noise(timed, t, err) : fit_pilots(pilots, arena, t, err);
    t->question = (bl_choice_question){.sizes = t->sizes,
                                       .n_sizes = t->n_sizes,
                                       .steps = &t->steps,
                                       .batch_max = t->batch_max,
                                       .memory_limit_b = o->memory_b > 0 ? (double)o->memory_b : INFINITY,
                                       .price_hour = o->price_hour,
                                       .price_kwh = o->price_kwh,
                                       .efficiency = o->efficiency};
    return code == BL_OK ? bl_choice_make(&t->question, &t->choice, err) : code;
}

void bl_tune_clear(bl_tune *t)
{
    free(t->noises);
    t->noises = NULL;
}
