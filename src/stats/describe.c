#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/dist.h"
#include "stats/gather.h"
#include "stats/rng.h"

int bl_trimmed_mean(const double *x, size_t n, double share, double *out, bl_error *err)
{
    *out = NAN;
    if (!(share >= 0 && share < 0.5))
        return BL_FAIL(err, BL_ERR_USAGE, "the share cut off at each end must lie in [0, 0.5), not %g", share);
    double *used = NULL;
    size_t m = 0;
    int rc = bl_gather_finite(x, n, &used, &m, err);
    if (rc == BL_OK && m > 0) {
        size_t cut = (size_t)(share * (double)m);
        double sum = 0;
        bl_median_in_place(used, m); /* sorts */
        for (size_t i = cut; i < m - cut; i++)
            sum += used[i];
        *out = sum / (double)(m - 2 * cut);
    }
    free(used);
    return rc;
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Of the jackknifed mean: sum of cubes over 6 (sum of squares)^1.5, of mean - (mean without i). */
static double acceleration(const double *x, size_t n, double mean)
{
    double squares = 0;
    double cubes = 0;
    for (size_t i = 0; i < n; i++) {
        double off = (x[i] - mean) / (double)(n - 1);
        squares += off * off;
        cubes += off * off * off;
    }
    return cubes / (6 * pow(squares, 1.5));
}

/* The order statistic, between neighbours linearly, at share p of b sorted values. */
static double quantile_of(const double *sorted, size_t b, double p)
{
    double at = p * (double)(b - 1);
    size_t low = at <= 0 ? 0 : (size_t)at;
    if (low + 1 >= b)
        return sorted[b - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}

static void bca_limits(const double *x, size_t n, double *means, size_t b, bl_interval *out)
{
    double below = 0;
    bl_median_in_place(means, b); /* sorts */
    for (size_t i = 0; i < b; i++)
        below += means[i] < out->estimate ? 1 : means[i] == out->estimate ? 0.5 : 0;
    double z0 = bl_normal_quantile(below / (double)b);
    double a = acceleration(x, n, out->estimate);
    double z = bl_normal_quantile(0.5 + 0.5 * out->level_wanted);
    out->low = quantile_of(means, b, bl_normal_cdf(z0 + (z0 - z) / (1 - a * (z0 - z))));
    out->high = quantile_of(means, b, bl_normal_cdf(z0 + (z0 + z) / (1 - a * (z0 + z))));
    out->has_interval = isfinite(out->low) && isfinite(out->high);
}

int bl_bca_mean(const double *x, size_t n, double level, size_t resamples, uint64_t seed, bl_interval *out,
                bl_error *err)
{
    *out = (bl_interval){.estimate = NAN, .low = NAN, .high = NAN, .level_wanted = level};
    if (!(level > 0 && level < 1) || resamples < 100 || resamples > BL_BCA_RESAMPLES_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "a bootstrap wants a level between 0 and 1 and 100 to %d resamples",
                       BL_BCA_RESAMPLES_MAX);
    bl_moments moments;
    double *used = NULL;
    size_t m = 0;
    int rc = bl_gather_moments(x, n, &moments, err);
    if (rc == BL_OK)
        rc = bl_gather_finite(x, n, &used, &m, err);
    double *means = bl_calloc(resamples, sizeof(*means));
    if (rc == BL_OK && means == NULL)
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu resamples", resamples);
    if (rc == BL_OK) {
        out->n = m;
        out->estimate = moments.mean;
    }
    if (rc == BL_OK && m >= 2 && moments.sd > 0) {
        bl_rng rng;
        bl_rng_init(&rng, seed, m);
        for (size_t r = 0; r < resamples; r++) {
            double sum = 0;
            for (size_t i = 0; i < m; i++)
                sum += used[bl_rng_below(&rng, m)];
            means[r] = sum / (double)m;
        }
        out->estimate = mean_of(used, m);
        bca_limits(used, m, means, resamples, out);
        out->level = out->has_interval ? level : 0; /* nominal */
        out->reaches_level = out->has_interval;
    }
    free(means);
    free(used);
    return rc;
}
