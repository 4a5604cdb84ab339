#include "report/warnings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/levels.h"
#include "stats/dist.h"
#include "stats/fit.h"
#include "stats/tests.h"

#define SIGNIFICANCE      0.01
#define FEWEST_FOR_DRIFT  6
#define FEWEST_FOR_SERIES 12
#define FEWEST_FOLLOWERS  6
#define LOADER_SHARE      0.10
#define LOADER_BOUND      0.50

/* Everything that more than one warning looks at. */
typedef struct view {
    const bl_analysis *a;
    bl_levels levels;
    bl_nodes nodes;
} view;

static double log_figure(const bl_analysis *a, size_t c, size_t b)
{
    return log(a->seconds[c * a->n_blocks + b]);
}

static int warn(bl_strv *out, const char *text, bl_error *err)
{
    return bl_strv_push(out, text) == BL_OK ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the warnings");
}

/* Two-sided p of Mann & Kendall's test for a trend, without ties. */
static double trend_p(const double *y, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            s += (y[j] > y[i]) - (y[j] < y[i]);
    double count = (double)n;
    double sd = sqrt(count * (count - 1) * (2 * count + 5) / 18);
    return 2 * bl_normal_cdf(-fmax(0, fabs(s) - 1) / sd);
}

static int warn_of_drift(const view *v, double *x, double *y, bl_strv *out, bl_error *err)
{
    size_t n = 0;
    for (size_t b = 0; b < v->levels.n_blocks; b++)
        if (!isnan(v->levels.level[b])) {
            size_t node = v->nodes.of_block[b]; /* a slower node that took over is no drift */
            x[n] = (double)b;
            y[n++] = v->levels.level[b] - (node < v->nodes.n ? v->nodes.items[node].level : 0);
        }
    if (n < FEWEST_FOR_DRIFT || n > BL_FIT_MAX_N)
        return BL_OK;
    bl_line line;
    int code = bl_fit_theil_sen(x, y, n, &line, err);
    double drift = line.slope * (x[n - 1] - x[0]);
    if (code != BL_OK || fabs(drift) < log1p(v->a->experiment->margin) || trend_p(y, n) > SIGNIFICANCE)
        return code;
    char text[320];
    snprintf(
        text, sizeof text,
        "Drift: from the first block to the last, all cases together became %.1f %% %s. Comparisons inside blocks are "
        "unharmed; the cases' own intervals are wider for it.",
        100 * fabs(expm1(drift)), drift > 0 ? "slower" : "faster");
    return warn(out, text, err);
}

/* The differences whose independence the intervals rest on. */
static size_t n_differences(const bl_analysis *a)
{
    return a->n_pairs > 0 ? a->n_pairs : a->best < a->n_cases ? a->n_cases : 0;
}

static void fill_difference(const view *v, size_t i, double *d)
{
    const bl_analysis *a = v->a;
    size_t first = a->n_pairs > 0 ? a->pairs[i].pair.a : a->best, second = a->n_pairs > 0 ? a->pairs[i].pair.b : i;
    for (size_t b = 0; b < v->levels.n_blocks; b++)
        d[b] = log_figure(a, second, b) - log_figure(a, first, b);
}

static int warn_of_autocorrelation(const view *v, double *d, bl_strv *out, bl_error *err)
{
    const bl_analysis *a = v->a;
    size_t n = n_differences(a);
    double *p = bl_calloc(n + 1, sizeof *p);
    int code = p ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the warnings");
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        bl_test test;
        fill_difference(v, i, d);
        code = bl_test_ljung_box(d, v->levels.n_blocks, v->levels.n_blocks / 4 < 5 ? v->levels.n_blocks / 4 : 5, &test,
                                 err);
        p[i] = a->n_pairs == 0 && i == a->best ? NAN : test.p;
    }
    if (code == BL_OK)
        code = bl_adjust_holm(p, n, p, err);
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        if (!(p[i] <= SIGNIFICANCE))
            continue;
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(
            &text,
            "Autocorrelation: the differences of %s from %s in successive blocks are not independent (Ljung-Box, p "
            "= %.2g): their interval may be too narrow.",
            a->n_pairs > 0 ? a->pairs[i].b : a->cases[i].label,
            a->n_pairs > 0 ? a->pairs[i].a : a->cases[a->best].label, p[i]);
        code = warn(out, bl_str_text(&text), err);
        bl_str_clear(&text);
    }
    free(p);
    return code;
}

/* Residuals of the trials that ran just after case c, into d. */
static size_t followers(const view *v, size_t c, double *d)
{
    const bl_analysis *a = v->a;
    size_t n = 0;
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        if (t->predecessor != (int64_t)c || t->case_index >= a->n_cases || t->block >= a->n_blocks)
            continue;
        double value = v->levels.residual[t->case_index * a->n_blocks + t->block];
        if (strcmp(t->outcome, "ok") == 0 && !isnan(value))
            d[n++] = value;
    }
    return n;
}

static int warn_of_predecessors(const view *v, double *d, bl_strv *out, bl_error *err)
{
    const bl_analysis *a = v->a;
    double *p = bl_calloc(2 * a->n_cases, sizeof *p);
    double *mean = p ? p + a->n_cases : NULL;
    int code = p ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the warnings");
    for (size_t c = 0; code == BL_OK && c < a->n_cases; c++) {
        bl_test test;
        size_t n = followers(v, c, d);
        code = bl_test_t(d, n, 0, &test, err);
        p[c] = n >= FEWEST_FOLLOWERS ? test.p : NAN;
        for (size_t i = 0; i < n; i++)
            mean[c] += d[i] / (double)n;
    }
    if (code == BL_OK)
        code = bl_adjust_holm(p, a->n_cases, p, err);
    for (size_t c = 0; code == BL_OK && c < a->n_cases; c++) {
        if (!(p[c] <= SIGNIFICANCE) || fabs(mean[c]) < a->experiment->margin / 4)
            continue;
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(
            &text,
            "Predecessor: what runs just after %s is %.2f %% %s than else (p = %.2g). Shuffling shares this out, "
            "but it is noise that a pause between trials might take away.",
            a->cases[c].label, 100 * fabs(expm1(mean[c])), mean[c] > 0 ? "slower" : "faster", p[c]);
        code = warn(out, bl_str_text(&text), err);
        bl_str_clear(&text);
    }
    free(p);
    return code;
}

static int warn_of_loaders(const bl_analysis *a, bl_strv *out, bl_error *err)
{
    const bl_case_figure *worst = NULL;
    size_t n = 0, n_bound = 0;
    for (size_t c = 0; c < a->n_cases; c++) {
        if (!(a->cases[c].wait_share >= LOADER_SHARE))
            continue;
        n++;
        n_bound += a->cases[c].wait_share >= LOADER_BOUND;
        worst = worst && worst->wait_share >= a->cases[c].wait_share ? worst : &a->cases[c];
    }
    if (n == 0)
        return BL_OK;
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(
        &text,
        "Data loading: %zu of %zu cases wait%s for data for a tenth of their time or more (%s for %.0f %%): their "
        "figures are the loader's as well as the model's.",
        n, a->n_cases, n == 1 ? "s" : "", worst->label, 100 * worst->wait_share);
    if (n_bound > 0)
        bl_str_printf(&text,
                      " %zu of them for half of it or more: bound by the loader, not by compute, so batch size is not "
                      "what is measured there. Try more workers, a cache, or drawn images.",
                      n_bound);
    int code = warn(out, bl_str_text(&text), err);
    bl_str_clear(&text);
    return code;
}

int bl_warnings_collect(const bl_analysis *a, bl_strv *out, bl_error *err)
{
    size_t n = a->n_blocks > a->experiment->n_trials ? a->n_blocks : a->experiment->n_trials;
    view v = {.a = a};
    double *scratch = bl_calloc(2 * n + 1, sizeof *scratch);
    int code = scratch ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the warnings");
    if (code == BL_OK)
        code = bl_levels_compute(a, &v.levels, err);
    if (code == BL_OK)
        code = bl_nodes_collect(a, &v.levels, &v.nodes, err);
    if (code == BL_OK)
        code = warn_of_drift(&v, scratch, scratch + n, out, err);
    if (code == BL_OK && v.levels.n_blocks >= FEWEST_FOR_SERIES && v.levels.n_blocks <= BL_STATS_MAX_N)
        code = warn_of_autocorrelation(&v, scratch, out, err);
    if (code == BL_OK && a->n_cases > 1)
        code = warn_of_predecessors(&v, scratch, out, err);
    if (code == BL_OK)
        code = warn_of_loaders(a, out, err);
    free(scratch);
    bl_nodes_clear(&v.nodes);
    bl_levels_clear(&v.levels);
    return code;
}
