/* Verdicts of a comparison, replayed from its trials. */
#include <stdlib.h>
#include <string.h>

#include "report/analysis.h"

static bool counts(const bl_trial_record *t)
{
    return strcmp(t->outcome, "interrupted") != 0;
}

/* What differs between the cases, for people. */
static const char *name_case(const bl_analysis *a, size_t c)
{
    const bl_experiment *e = a->experiment;
    size_t varying = 0, n = 0;
    for (size_t f = 0; f < e->n_factors; f++)
        if (e->factors[f].n_values > 1) {
            varying = f;
            n++;
        }
    return n == 1 ? bl_experiment_value(e, c, varying) : a->cases[c].label;
}

static int judge_first(const bl_analysis *a, size_t n_blocks, const bl_case_pair *pairs, bl_verdict *out, bl_error *err)
{
    return bl_verdicts_compute(a->seconds, a->n_cases, a->n_blocks, n_blocks, pairs, a->n_pairs, &a->rule, out, err);
}

/* Blocks from the first on in which each case of an open pair has run; ran: (case, block). */
static size_t complete_blocks(const bl_analysis *a, const bool *ran, const bl_case_pair *pairs,
                              const bl_verdict *verdicts)
{
    size_t n = a->n_blocks;
    for (size_t p = 0; p < a->n_pairs; p++) {
        if (verdicts[p].kind != BL_VERDICT_INCONCLUSIVE)
            continue;
        const bool *first = ran + pairs[p].a * a->n_blocks, *second = ran + pairs[p].b * a->n_blocks;
        for (size_t b = 0; b < n; b++)
            if (!first[b] || !second[b])
                n = b;
    }
    return n;
}

/* Look after look, as far as the blocks reach: a pair that is decided needs no further ones. */
static int replay(bl_analysis *a, const bool *ran, const bl_case_pair *pairs, bl_verdict *verdicts, bl_error *err)
{
    int code = BL_OK;
    size_t at = 0;
    memset(verdicts, 0, a->n_pairs * sizeof *verdicts);
    a->n_open = a->n_pairs;
    while (code == BL_OK && a->n_open > 0) {
        size_t complete = complete_blocks(a, ran, pairs, verdicts);
        size_t next = bl_verdict_next_look(&a->rule, at);
        bool look = next > 0 && next <= complete;
        at = look ? next : complete;
        code = judge_first(a, at, pairs, verdicts, err);
        a->n_open = 0;
        for (size_t p = 0; p < a->n_pairs; p++)
            a->n_open += verdicts[p].kind == BL_VERDICT_INCONCLUSIVE;
        if (!look)
            break;
    }
    a->n_blocks_judged = at;
    return code;
}

int bl_analysis_judge(bl_analysis *a, const bl_stored_pair *stored, size_t n_pairs, double margin, double confidence,
                      bl_arena *arena, bl_error *err)
{
    bl_case_pair *pairs = bl_arena_alloc(arena, n_pairs, sizeof *pairs);
    bl_verdict *verdicts = bl_arena_alloc(arena, n_pairs, sizeof *verdicts);
    bool *ran = bl_arena_alloc(arena, a->n_cases * a->n_blocks, sizeof *ran);
    a->pairs = bl_arena_alloc(arena, n_pairs, sizeof *a->pairs);
    if (!pairs || !verdicts || !ran || !a->pairs)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to judge %zu pairs", n_pairs);
    for (size_t p = 0; p < n_pairs; p++) {
        if (stored[p].a >= a->n_cases || stored[p].b >= a->n_cases)
            return BL_FAIL(err, BL_ERR_FORMAT, "experiment %lld compares cases that it does not have",
                           (long long)a->experiment->id);
        pairs[p] = (bl_case_pair){stored[p].a, stored[p].b};
    }
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        if (counts(t) && t->case_index < a->n_cases && t->block < a->n_blocks)
            ran[t->case_index * a->n_blocks + t->block] = true;
    }
    bl_verdict_rule_init(&a->rule);
    a->rule.margin = margin;
    a->rule.confidence = confidence;
    a->n_pairs = n_pairs;
    int code = replay(a, ran, pairs, verdicts, err);
    for (size_t p = 0; p < n_pairs; p++)
        a->pairs[p] = (bl_judged_pair){pairs[p], name_case(a, pairs[p].a), name_case(a, pairs[p].b), verdicts[p]};
    return code;
}
