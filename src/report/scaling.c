#include "report/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define FACTOR "ranks"

/* What is known of a case before it is compared. */
typedef struct known {
    double ranks, batch; /* 0: not known */
} known;

static size_t ranks_factor(const bl_experiment *e)
{
    size_t f = 0;
    while (f < e->n_factors && strcmp(e->factors[f].name, FACTOR) != 0)
        f++;
    return f;
}

static double case_ranks(const bl_experiment *e, size_t c, size_t factor)
{
    bl_error ignored = {0};
    int64_t ranks;
    const char *text = bl_experiment_value(e, c, factor);
    return text && bl_parse_i64(text, FACTOR, 1, 1 << 24, &ranks, &ignored) == BL_OK ? (double)ranks : 0;
}

static bool is_ok(const bl_trial_record *t)
{
    return strcmp(t->outcome, "ok") == 0;
}

/* The last batch of an epoch may be smaller. */
static double case_batch(const bl_experiment *e, size_t c)
{
    double most = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (t->case_index != c || !is_ok(t) || !t->step_source || strcmp(t->step_source, "markers") != 0)
            continue;
        for (size_t k = 0; t->steps && k < t->n_steps; k++)
            most = fmax(most, (double)t->steps[k].samples);
    }
    return most;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double named(const bl_named_value *values, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return NAN;
}

/* scratch: room for all trials. */
static double median_metric(const bl_experiment *e, size_t c, const char *name, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        double value = named(e->trials[i].metrics, e->trials[i].n_metrics, name);
        if (e->trials[i].case_index == c && is_ok(&e->trials[i]) && !isnan(value))
            scratch[n++] = value;
    }
    if (n == 0)
        return NAN;
    qsort(scratch, n, sizeof *scratch, compare_doubles);
    return (scratch[n / 2] + scratch[(n - 1) / 2]) / 2;
}

static double largest_rank(const bl_experiment *e, size_t c)
{
    double most = NAN;
    for (size_t i = 0; i < e->n_trials; i++)
        if (e->trials[i].case_index == c && is_ok(&e->trials[i]))
            most = fmax(most, named(e->trials[i].memory, e->trials[i].n_memory, "largest_rank"));
    return most;
}

/* In all factors but the batch, which is the first, and the ranks. */
static bool alike(const bl_experiment *e, size_t a, size_t b, size_t factor)
{
    for (size_t f = 1; f < e->n_factors; f++)
        if (f != factor && strcmp(bl_experiment_value(e, a, f), bl_experiment_value(e, b, f)) != 0)
            return false;
    return true;
}

static bool comparable(const known *a, const known *b, bl_scaling_kind kind)
{
    if (!(a->ranks > 0 && a->batch > 0 && b->ranks > 0 && b->batch > 0))
        return false;
    return kind == BL_SCALING_STRONG ? a->batch == b->batch : a->batch * b->ranks == b->batch * a->ranks;
}

static int by_ranks(const void *a, const void *b)
{
    const bl_scaling_row *x = a, *y = b;
    return x->ranks != y->ranks ? (x->ranks > y->ranks) - (x->ranks < y->ranks)
                                : (x->case_index > y->case_index) - (x->case_index < y->case_index);
}

/* The cases that go with `first`, itself included; returns their number, 0 where they have but one number of ranks. */
static size_t gather(const bl_analysis *a, const known *cases, size_t first, size_t factor, bl_scaling_kind kind,
                     bool *taken, bl_scaling_row *rows)
{
    size_t n = 0;
    bool several = false;
    for (size_t c = first; c < a->n_cases; c++) {
        if (taken[c] || !comparable(&cases[first], &cases[c], kind) || !alike(a->experiment, first, c, factor))
            continue;
        taken[c] = true;
        several = several || cases[c].ranks != cases[first].ranks;
        rows[n++] = (bl_scaling_row){.kind = kind, .case_index = c, .ranks = cases[c].ranks, .batch = cases[c].batch};
    }
    if (!several)
        return 0;
    qsort(rows, n, sizeof *rows, by_ranks);
    return n;
}

static int fill(const bl_analysis *a, bl_scaling_row *rows, size_t n, double *scratch, bl_error *err)
{
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        bl_scaling_row *row = &rows[i];
        row->reference = rows[0].case_index;
        row->first = i == 0;
        row->share = rows[0].ranks / row->ranks;
        row->sums_share = median_metric(a->experiment, row->case_index, "sums_share", scratch);
        row->slowest_share = median_metric(a->experiment, row->case_index, "slowest_share", scratch);
        row->largest_rank_b = largest_rank(a->experiment, row->case_index);
        /* Seconds a sample of the reference over its own. */
        code = bl_contrast_pair(a->seconds + row->case_index * a->n_blocks, a->seconds + row->reference * a->n_blocks,
                                a->n_blocks, BL_REPORT_LEVEL, &row->speed_up, err);
    }
    return code;
}

int bl_scaling_rows(const bl_analysis *a, bl_scaling_row **out, size_t *n, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    size_t factor = ranks_factor(e), room = BL_SCALING_KINDS * a->n_cases;
    *out = NULL;
    *n = 0;
    if (factor == e->n_factors || factor == 0 || e->factors[factor].n_values < 2 || a->per_run || a->n_cases == 0)
        return BL_OK;
    known *cases = bl_calloc(a->n_cases, sizeof *cases);
    bool *taken = bl_calloc(a->n_cases, sizeof *taken);
    double *scratch = bl_calloc(e->n_trials + 1, sizeof *scratch);
    bl_scaling_row *rows = bl_calloc(room, sizeof *rows);
    int code = cases && taken && scratch && rows ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the scaling");
    for (size_t c = 0; code == BL_OK && c < a->n_cases; c++)
        cases[c] = (known){case_ranks(e, c, factor), case_batch(e, c)};
    for (int kind = 0; code == BL_OK && kind < BL_SCALING_KINDS; kind++) {
        memset(taken, 0, a->n_cases * sizeof *taken);
        for (size_t c = 0; code == BL_OK && c < a->n_cases; c++) {
            size_t added = taken[c] ? 0 : gather(a, cases, c, factor, (bl_scaling_kind)kind, taken, rows + *n);
            code = fill(a, rows + *n, added, scratch, err);
            *n += added;
        }
    }
    free(cases);
    free(taken);
    free(scratch);
    if (code == BL_OK && *n > 0) {
        *out = rows;
        return BL_OK;
    }
    free(rows);
    *n = 0;
    return code;
}

size_t bl_scaling_n_liars(const bl_analysis *a)
{
    const bl_experiment *e = a->experiment;
    size_t factor = ranks_factor(e), n = 0;
    for (size_t i = 0; factor < e->n_factors && i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        n += t->ranks > 0 && t->case_index < a->n_cases && (double)t->ranks != case_ranks(e, t->case_index, factor);
    }
    return n;
}
