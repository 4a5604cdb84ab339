#include "lab/compare.h"

#include <math.h>

#include "base/clock.h"
#include "lab/interrupt.h"
#include "report/analysis.h"

/* After so many blocks a case that never worked will not begin to. */
#define TRIAL_BLOCKS 2

/* How things stand, from what is stored. */
typedef struct standing {
    bl_arena arena;
    bl_experiment experiment;
    bl_analysis analysis;
} standing;

static int take_stock(const bl_sweep *sweep, standing *s, bl_error *err)
{
    bl_arena_init(&s->arena);
    s->analysis = (bl_analysis){0};
    int code = bl_store_load(sweep->store, sweep->id, true, &s->arena, &s->experiment, err);
    return code == BL_OK ? bl_analysis_compute(&s->experiment, &s->arena, &s->analysis, err) : code;
}

static void standing_clear(standing *s)
{
    bl_analysis_clear(&s->analysis);
    bl_arena_clear(&s->arena);
}

/* The cases that no open pair needs. */
static bool *find_idle(standing *s, bl_error *err)
{
    const bl_analysis *a = &s->analysis;
    bool *left_out = bl_arena_alloc(&s->arena, a->n_cases, sizeof *left_out);
    if (!left_out) {
        BL_FAIL(err, BL_ERR_NOMEM, "no memory for the plan");
        return NULL;
    }
    for (size_t c = 0; c < a->n_cases; c++)
        left_out[c] = true;
    for (size_t p = 0; p < a->n_pairs; p++)
        if (a->pairs[p].verdict.kind == BL_VERDICT_INCONCLUSIVE)
            left_out[a->pairs[p].pair.a] = left_out[a->pairs[p].pair.b] = false;
    return left_out;
}

static int check_cases(const standing *s, const bool *left_out, bl_error *err)
{
    const bl_analysis *a = &s->analysis;
    for (size_t c = 0; c < a->n_cases; c++) {
        const bl_case_figure *figure = &a->cases[c];
        if (left_out[c] || figure->n_trials < TRIAL_BLOCKS || figure->n_with_figure > 0)
            continue;
        BL_FAIL(err, BL_ERR_FAILED, "%s gave no figure in %zu trials (%s), so nothing can be compared with it",
                figure->label, figure->n_trials, figure->n_ok > 0 ? "never steady" : figure->outcome);
        bl_error_remedy(err, "batchlab show %lld --all tells more; --keep-logs DIR keeps the output",
                        (long long)a->experiment->id);
        return BL_ERR_FAILED;
    }
    return BL_OK;
}

static double measured_s(const bl_experiment *e)
{
    double sum = 0;
    for (size_t i = 0; i < e->n_trials; i++)
        if (isfinite(e->trials[i].wall_s))
            sum += e->trials[i].wall_s;
    return sum;
}

/* Where the blocks go on to: 0 where the last look was taken, or all blocks have run (a self-test's are fewer). */
static size_t next_stop(const bl_analysis *a)
{
    size_t look = bl_verdict_next_look(&a->rule, a->n_blocks_judged);
    if (a->n_blocks_judged >= a->n_blocks)
        return 0;
    return a->n_blocks_judged < TRIAL_BLOCKS && look > TRIAL_BLOCKS ? TRIAL_BLOCKS : look;
}

static void say_look(const bl_sweep *sweep, const bl_analysis *a)
{
    char line[160];
    if (bl_verdict_next_look(&a->rule, a->n_blocks_judged - 1) != a->n_blocks_judged)
        return;
    snprintf(line, sizeof line, "look at %zu blocks: %zu of %zu pair%s decided", a->n_blocks_judged,
             a->n_pairs - a->n_open, a->n_pairs, a->n_pairs == 1 ? "" : "s");
    bl_live_say(sweep->live, line);
}

/* One stretch of blocks, up to the next look. *more: another one is to follow. */
static int run_stretch(bl_sweep *sweep, double budget_s, bl_sweep_outcome *sum, bool *more, bl_error *err)
{
    standing s;
    *more = false;
    int code = take_stock(sweep, &s, err);
    size_t before = s.analysis.n_blocks_judged, stop = code == BL_OK ? next_stop(&s.analysis) : 0;
    bool *left_out = code == BL_OK ? find_idle(&s, err) : NULL;
    if (code == BL_OK)
        code = left_out ? check_cases(&s, left_out, err) : BL_ERR_NOMEM;
    if (code == BL_OK && before > 0)
        say_look(sweep, &s.analysis);
    if (code == BL_OK && s.analysis.n_open > 0 && stop > 0) {
        sweep->block_limit = stop;
        sweep->left_out = left_out;
        sweep->goes_on = true;
        sweep->deadline_ns = 0;
        if (budget_s >= 0) {
            double left_s = budget_s - measured_s(&s.experiment);
            sweep->deadline_ns = bl_clock_ns() + (int64_t)(fmin(fmax(left_s, 0), 1e9) * 1e9);
        }
        bl_sweep_outcome outcome;
        code = bl_sweep_run(sweep, &outcome, err);
        sweep->set_up = true;
        sum->n_ran += outcome.n_ran;
        sum->n_failed += outcome.n_failed;
        sum->interrupted = outcome.interrupted;
        sum->out_of_time = outcome.out_of_time;
        *more = code == BL_OK && !outcome.interrupted && !outcome.out_of_time;
    }
    standing_clear(&s);
    return code;
}

int bl_compare_run(bl_sweep *sweep, double budget_s, bl_sweep_outcome *outcome, bl_error *err)
{
    *outcome = (bl_sweep_outcome){0};
    bool more = true;
    int code = BL_OK;
    while (code == BL_OK && more && bl_interrupt_count == 0)
        code = run_stretch(sweep, budget_s, outcome, &more, err);
    outcome->interrupted = outcome->interrupted || bl_interrupt_count > 0;
    bool finished = code == BL_OK && !outcome->interrupted;
    bl_error ignored = {0}; /* the first failure is the one to tell */
    int ended = bl_store_end(sweep->store, sweep->id, finished ? BL_EXPERIMENT_FINISHED : BL_EXPERIMENT_INTERRUPTED,
                             code == BL_OK ? err : &ignored);
    return code == BL_OK ? ended : code;
}
