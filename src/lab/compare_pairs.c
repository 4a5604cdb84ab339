#include "lab/compare_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "stats/verdict.h"

/* The factor in which the cases of a pair differ; n_factors where none has two values. */
static size_t compared_factor(const bl_experiment *e)
{
    size_t found = e->n_factors;
    for (size_t f = 0; f < e->n_factors; f++) {
        if (e->factors[f].n_values < 2)
            continue;
        const char *name = e->factors[f].name;
        if (found == e->n_factors || strcmp(name, "command") == 0 || strcmp(name, "label") == 0)
            found = f;
    }
    return found;
}

static bool is_chosen(const bl_experiment *e, const bl_batch_list *only, size_t c)
{
    int64_t batch = strtoll(bl_experiment_value(e, c, 0), NULL, 10);
    for (size_t i = 0; only && i < only->len; i++)
        if (only->items[i] == batch)
            return true;
    return !only;
}

static bool differ_in_one(const bl_experiment *e, size_t a, size_t b, size_t factor)
{
    for (size_t f = 0; f < e->n_factors; f++)
        if ((strcmp(bl_experiment_value(e, a, f), bl_experiment_value(e, b, f)) == 0) == (f == factor))
            return false;
    return true;
}

static bool is_pair(const bl_experiment *e, const bl_batch_list *only, const char *baseline, size_t factor, size_t a,
                    size_t b)
{
    if (!is_chosen(e, only, a) || !is_chosen(e, only, b) || !differ_in_one(e, a, b, factor))
        return false;
    return baseline ? strcmp(bl_experiment_value(e, a, factor), baseline) == 0 : a < b;
}

static int fail_baseline(const bl_experiment *e, size_t factor, const char *baseline, bl_error *err)
{
    bl_str values;
    bl_str_init(&values);
    for (size_t v = 0; v < e->factors[factor].n_values && v < 20; v++)
        bl_str_printf(&values, "%s%s", v ? ", " : "", e->factors[factor].values[v]);
    BL_FAIL(err, BL_ERR_USAGE, "the baseline '%s' is no value of %s", baseline, e->factors[factor].name);
    bl_error_remedy(err, "choose one of %s", bl_str_text(&values));
    bl_str_clear(&values);
    return BL_ERR_USAGE;
}

static bool has_value(const bl_stored_factor *factor, const char *value)
{
    for (size_t v = 0; v < factor->n_values; v++)
        if (strcmp(factor->values[v], value) == 0)
            return true;
    return false;
}

int bl_compare_pairs(const bl_experiment *e, const bl_batch_list *only, const char *baseline, bl_arena *arena,
                     bl_comparison *out, bl_error *err)
{
    size_t n_cases = bl_experiment_n_cases(e), factor = compared_factor(e), total = 0;
    if (factor < e->n_factors && baseline && !has_value(&e->factors[factor], baseline))
        return fail_baseline(e, factor, baseline, err);
    out->pairs = bl_arena_alloc(arena, BL_VERDICT_PAIRS_MAX, sizeof *out->pairs);
    if (!out->pairs)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the pairs to compare");
    out->n_pairs = 0;
    for (size_t a = 0; factor < e->n_factors && a < n_cases; a++)
        for (size_t b = 0; b < n_cases; b++) {
            if (!is_pair(e, only, baseline, factor, a, b))
                continue;
            if (total++ < BL_VERDICT_PAIRS_MAX)
                out->pairs[out->n_pairs++] = (bl_stored_pair){a, b};
        }
    if (total == 0) {
        BL_FAIL(err, BL_ERR_USAGE, "there are no two cases to compare");
        bl_error_remedy(err, "give at least two batch sizes, as in -b 127,128, or two commands with --a and --b");
        return BL_ERR_USAGE;
    }
    if (total > BL_VERDICT_PAIRS_MAX) {
        BL_FAIL(err, BL_ERR_USAGE, "%zu pairs are more than the %d that one comparison judges", total,
                BL_VERDICT_PAIRS_MAX);
        bl_error_remedy(err, "fewer sizes, or one to compare all others with: --baseline VALUE");
        return BL_ERR_USAGE;
    }
    return BL_OK;
}
