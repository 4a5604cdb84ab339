#include "stats/contrast.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/gather.h"

/* ln of a figure; NaN stays NaN. Anything else that has no logarithm is an error. */
static int log_figure(double y, double *out, bl_error *err)
{
    if (!isnan(y) && !(y > 0 && isfinite(y)))
        return BL_FAIL(err, BL_ERR_USAGE, "a figure must be positive, not %g", y);
    *out = isnan(y) ? NAN : log(y);
    return BL_OK;
}

static double *new_logs(size_t n, bl_error *err)
{
    double *d = bl_calloc(n > 0 ? n : 1, sizeof(*d));
    if (d == NULL)
        BL_FAIL(err, BL_ERR_NOMEM, "no memory for the figures of %zu blocks", n);
    return d;
}

int bl_case_interval(const double *y, size_t n_blocks, double level, bl_interval *out, bl_error *err)
{
    *out = (bl_interval){.estimate = NAN, .low = NAN, .high = NAN, .level_wanted = level};
    double *logs = new_logs(n_blocks, err);
    if (logs == NULL)
        return BL_ERR_NOMEM;
    int rc = BL_OK;
    for (size_t b = 0; b < n_blocks && rc == BL_OK; b++)
        rc = log_figure(y[b], &logs[b], err);
    bl_interval log_interval;
    if (rc == BL_OK)
        rc = bl_hodges_lehmann(logs, n_blocks, level, &log_interval, err);
    if (rc == BL_OK)
        *out = bl_interval_exp(&log_interval);
    free(logs);
    return rc;
}

static bool excludes_zero(const bl_interval *interval)
{
    return interval->low > 0 || interval->high < 0;
}

int bl_contrast_from_logs(const double *d, size_t n_blocks, double level, bl_contrast *out, bl_error *err)
{
    *out = (bl_contrast){.sd = NAN};
    int rc = bl_hodges_lehmann(d, n_blocks, level, &out->log_ratio, err);
    if (rc == BL_OK)
        rc = bl_t_interval(d, n_blocks, level, &out->log_ratio_t, err);
    bl_moments moments = {.sd = NAN};
    if (rc == BL_OK)
        rc = bl_gather_moments(d, n_blocks, &moments, err);
    if (rc != BL_OK)
        return rc;
    out->ratio = bl_interval_exp(&out->log_ratio);
    out->sd = moments.sd;
    out->n_pairs = moments.n;
    out->n_missing = n_blocks - moments.n;
    /* Below the wanted level the two are intervals of different levels and may differ for that alone. */
    if (out->log_ratio.reaches_level) {
        double width = out->log_ratio.high - out->log_ratio.low;
        double width_t = out->log_ratio_t.high - out->log_ratio_t.low;
        out->disagree = excludes_zero(&out->log_ratio) != excludes_zero(&out->log_ratio_t) || width > 2 * width_t ||
                        width_t > 2 * width;
    }
    return BL_OK;
}

int bl_contrast_pair(const double *a, const double *b, size_t n_blocks, double level, bl_contrast *out, bl_error *err)
{
    double *d = new_logs(n_blocks, err);
    if (d == NULL)
        return BL_ERR_NOMEM;
    int rc = BL_OK;
    for (size_t i = 0; i < n_blocks && rc == BL_OK; i++) {
        double log_a = NAN;
        double log_b = NAN;
        rc = log_figure(a[i], &log_a, err);
        if (rc == BL_OK)
            rc = log_figure(b[i], &log_b, err);
        d[i] = log_b - log_a;
    }
    if (rc == BL_OK)
        rc = bl_contrast_from_logs(d, n_blocks, level, out, err);
    free(d);
    return rc;
}

int bl_contrast_best(const double *y, size_t n_cases, size_t n_blocks, size_t *best, bl_error *err)
{
    *best = n_cases;
    double smallest = INFINITY;
    for (size_t c = 0; c < n_cases; c++) {
        bl_interval interval;
        int rc = bl_case_interval(y + c * n_blocks, n_blocks, 0.95, &interval, err);
        if (rc != BL_OK)
            return rc;
        if (interval.estimate < smallest) { /* false for NaN */
            smallest = interval.estimate;
            *best = c;
        }
    }
    return BL_OK;
}

int bl_contrast_against(const double *y, size_t n_cases, size_t n_blocks, size_t base, double level, bl_contrast *out,
                        bl_error *err)
{
    if (base >= n_cases)
        return BL_FAIL(err, BL_ERR_USAGE, "case %zu to compare with is not among the %zu cases", base, n_cases);
    for (size_t c = 0; c < n_cases; c++) {
        int rc = bl_contrast_pair(y + base * n_blocks, y + c * n_blocks, n_blocks, level, &out[c], err);
        if (rc != BL_OK)
            return rc;
    }
    return BL_OK;
}
