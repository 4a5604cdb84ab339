#include "lab/confirm.h"

#include <math.h>
#include <stdlib.h>

#include "lab/begin.h"
#include "lab/compare.h"
#include "report/analysis.h"
#include "stats/verdict.h"

/* The sweep, and the comparison that is made from it. */
typedef struct maker {
    bl_arena arena;
    bl_experiment sweep;
    bl_analysis analysis;
    bl_sweep_spec spec;
    bl_comparison comparison;
} maker;

static void maker_clear(maker *m)
{
    bl_analysis_clear(&m->analysis);
    bl_sweep_spec_clear(&m->spec);
    bl_arena_clear(&m->arena);
}

static double estimate(const bl_analysis *a, size_t c)
{
    return a->cases[c].against_best.log_ratio.estimate;
}

/* The case nearest to the best that is not among the pairs yet; n_cases where there is none. */
static size_t next_contender(const maker *m)
{
    const bl_analysis *a = &m->analysis;
    size_t nearest = a->n_cases;
    for (size_t c = 0; c < a->n_cases; c++) {
        bool taken = c == a->best || a->cases[c].against_best.log_ratio.n == 0;
        for (size_t p = 0; p < m->comparison.n_pairs; p++)
            taken = taken || m->comparison.pairs[p].b == c;
        if (!taken && (nearest == a->n_cases || estimate(a, c) < estimate(a, nearest)))
            nearest = c;
    }
    return nearest;
}

static int choose_pairs(maker *m, bl_error *err)
{
    const bl_analysis *a = &m->analysis;
    m->comparison.pairs = bl_arena_alloc(&m->arena, BL_CONFIRM_PAIRS_MAX, sizeof *m->comparison.pairs);
    if (!m->comparison.pairs)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the pairs to compare");
    for (size_t c = 0; a->best < a->n_cases && m->comparison.n_pairs < BL_CONFIRM_PAIRS_MAX;) {
        c = next_contender(m);
        if (c == a->n_cases)
            break;
        const bl_interval *ratio = &a->cases[c].against_best.log_ratio;
        if (m->comparison.n_pairs > 0 && ratio->has_interval && ratio->low > log1p(m->spec.margin))
            break;
        m->comparison.pairs[m->comparison.n_pairs++] = (bl_stored_pair){.a = a->best, .b = c};
    }
    if (m->comparison.n_pairs > 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "experiment %lld has no two cases with figures, so there is no best one to confirm",
            (long long)m->sweep.id);
    bl_error_remedy(err, "batchlab show %lld tells what came of them", (long long)m->sweep.id);
    return BL_ERR_USAGE;
}

static int name_it(maker *m, bl_error *err)
{
    bl_str name;
    bl_str_init(&name);
    bl_str_printf(&name, "best of %lld, confirmed", (long long)m->sweep.id);
    free(m->spec.name);
    m->spec.name = bl_str_take(&name);
    return m->spec.name ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a name");
}

static int make(const bl_confirm *o, maker *m, bl_error *err)
{
    *m = (maker){.comparison = {.confidence = o->confidence,
                                .budget_s = o->budget_s > 0 ? o->budget_s : NAN,
                                .confirms = o->sweep_id}};
    bl_arena_init(&m->arena);
    int code = bl_store_load(o->store, o->sweep_id, true, &m->arena, &m->sweep, err);
    if (code == BL_OK && m->sweep.comparison.n_pairs > 0) {
        code = BL_FAIL(err, BL_ERR_USAGE, "experiment %lld is a comparison: its verdicts need no confirmation",
                       (long long)o->sweep_id);
        bl_error_remedy(err, "give the number of a sweep; batchlab list shows them");
    }
    if (code == BL_OK)
        code = bl_analysis_compute(&m->sweep, &m->arena, &m->analysis, err);
    if (code == BL_OK)
        code = bl_sweep_spec_from_experiment(&m->sweep, &m->spec, err);
    if (code != BL_OK)
        return code;
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    m->spec.blocks = (int64_t)rule.looks[rule.n_looks - 1];
    m->spec.seed = m->sweep.seed + 1; /* another order, and known beforehand */
    if (o->options->margin_text)
        m->spec.margin = o->options->margin;
    code = choose_pairs(m, err);
    return code == BL_OK ? name_it(m, err) : code;
}

static void say_start(const bl_confirm *o, const maker *m, int64_t id)
{
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "experiment %lld: %s, the best of %lld, on fresh blocks against", (long long)id,
                  m->analysis.cases[m->analysis.best].label, (long long)o->sweep_id);
    for (size_t p = 0; p < m->comparison.n_pairs; p++)
        bl_str_printf(&line, "%s %s", p ? "," : "", m->analysis.cases[m->comparison.pairs[p].b].label);
    bl_live_say(o->live, bl_str_text(&line));
    bl_str_clear(&line);
}

int bl_confirm_run(const bl_confirm *o, int64_t *id, bl_sweep_outcome *outcome, bl_error *err)
{
    maker m;
    bl_sweep_options fresh = *o->options;
    fresh.resume = false;
    *id = 0;
    *outcome = (bl_sweep_outcome){0};
    int code = make(o, &m, err);
    if (code == BL_OK)
        code = bl_begin(&fresh, "compare", o->store, &m.spec, &m.comparison, id, err);
    if (code == BL_OK) {
        say_start(o, &m, *id);
        bl_sweep sweep = bl_begin_sweep(&fresh, &m.spec, o->store, *id, o->launcher, o->live);
        sweep.page = NULL; /* it shows the sweep */
        code = bl_compare_run(&sweep, o->budget_s, outcome, err);
        bl_live_erase(o->live);
    }
    if (code != BL_OK && *id > 0 && outcome->n_ran == 0) {
        bl_store_delete(o->store, *id, NULL); /* not one trial: it would only be in the way */
        *id = 0;
    }
    maker_clear(&m);
    return code;
}
