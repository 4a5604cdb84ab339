#include "stats/interval.h"

#include <math.h>

#include "base/alloc.h"
#include "stats/dist.h"
#include "stats/gather.h"
#include "stats/signed_rank.h"

/* Room for the rounding of 1 - level: at n = 5 the level 0.9375 itself must count as reached. */
#define LEVEL_SLACK 1e-12

static bl_interval interval_empty(double level_wanted, size_t n)
{
    return (bl_interval){.estimate = NAN, .low = NAN, .high = NAN, .level_wanted = level_wanted, .n = n};
}

void bl_signed_rank_pmf(const size_t *ranks, size_t n, double *p)
{
    size_t top = 0;
    p[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t r = ranks[i];
        for (size_t v = top + 1; v <= top + r; v++)
            p[v] = 0;
        top += r;
        /* From above, so that p[v - r] is still the distribution without this rank. */
        for (size_t v = top + 1; v-- > 0;)
            p[v] = 0.5 * (p[v] + (v >= r ? p[v - r] : 0));
    }
}

static size_t k_exact(size_t n, double level_wanted, double *level)
{
    size_t top = n * (n + 1) / 2;
    double *p = bl_calloc(top + 1, sizeof(*p));
    size_t *ranks = bl_calloc(n, sizeof(*ranks));
    size_t k = 0;
    if (p != NULL && ranks != NULL) {
        for (size_t i = 0; i < n; i++)
            ranks[i] = i + 1;
        bl_signed_rank_pmf(ranks, n, p);
        double alpha = 1 - level_wanted + LEVEL_SLACK;
        double below = p[0]; /* P(V <= k - 1) */
        k = 1;
        while (k < (top + 1) / 2 && 2 * (below + p[k]) <= alpha)
            below += p[k++];
        *level = fmax(0, 1 - 2 * below);
    }
    free(ranks);
    free(p);
    return k;
}

size_t bl_signed_rank_k(size_t n, double level_wanted, double *level)
{
    if (n <= BL_SIGNED_RANK_EXACT_MAX)
        return k_exact(n, level_wanted, level);
    double count = (double)n;
    double mean = count * (count + 1) / 4;
    double sd = sqrt(count * (count + 1) * (2 * count + 1) / 24);
    double edge = floor(mean - 0.5 + sd * bl_normal_quantile(0.5 * (1 - level_wanted)));
    double below = edge < 0 ? 0 : edge; /* k - 1 */
    *level = 1 - 2 * bl_normal_cdf((below + 0.5 - mean) / sd);
    return (size_t)below + 1;
}

size_t bl_signed_rank_min_n(double level)
{
    size_t n = 2;
    while (n < BL_SIGNED_RANK_EXACT_MAX && 2 * ldexp(1, -(int)n) > 1 - level + LEVEL_SLACK)
        n++;
    return n;
}

static int check_level(double level, bl_error *err)
{
    if (level > 0 && level < 1)
        return BL_OK;
    return BL_FAIL(err, BL_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", level);
}

int bl_hodges_lehmann(const double *x, size_t n, double level, bl_interval *out, bl_error *err)
{
    *out = interval_empty(level, 0);
    int rc = check_level(level, err);
    if (rc != BL_OK)
        return rc;
    double *used = NULL;
    size_t m = 0;
    rc = bl_gather_finite(x, n, &used, &m, err);
    if (rc != BL_OK || m == 0) {
        free(used);
        return rc;
    }
    size_t pairs = m * (m + 1) / 2;
    double *walsh = bl_calloc(pairs, sizeof(*walsh));
    double attained = 0;
    size_t k = walsh != NULL ? bl_signed_rank_k(m, level, &attained) : 0;
    if (k == 0) {
        free(walsh);
        free(used);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the averages of %zu values", m);
    }
    size_t at = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = i; j < m; j++)
            walsh[at++] = 0.5 * used[i] + 0.5 * used[j];
    out->n = m;
    out->estimate = bl_median_in_place(walsh, pairs); /* sorts */
    out->exact = m <= BL_SIGNED_RANK_EXACT_MAX;
    if (m >= 2) {
        out->has_interval = true;
        out->low = walsh[k - 1];
        out->high = walsh[pairs - k];
        out->level = attained;
        out->reaches_level = attained >= level - LEVEL_SLACK;
    }
    free(walsh);
    free(used);
    return BL_OK;
}

int bl_t_interval(const double *x, size_t n, double level, bl_interval *out, bl_error *err)
{
    *out = interval_empty(level, 0);
    int rc = check_level(level, err);
    if (rc != BL_OK)
        return rc;
    bl_moments moments;
    rc = bl_gather_moments(x, n, &moments, err);
    if (rc != BL_OK)
        return rc;
    out->n = moments.n;
    out->estimate = moments.mean;
    out->exact = true;
    if (moments.n >= 2) {
        double half = bl_t_quantile(0.5 + 0.5 * level, (double)(moments.n - 1)) * moments.sd / sqrt((double)moments.n);
        out->has_interval = true;
        out->reaches_level = true;
        out->level = level;
        out->low = moments.mean - half;
        out->high = moments.mean + half;
    }
    return BL_OK;
}

bl_interval bl_interval_reciprocal(const bl_interval *interval)
{
    bl_interval out = *interval;
    out.estimate = 1 / interval->estimate;
    out.low = 1 / interval->high;
    out.high = 1 / interval->low;
    return out;
}

bl_interval bl_interval_exp(const bl_interval *interval)
{
    bl_interval out = *interval;
    out.estimate = exp(interval->estimate);
    out.low = exp(interval->low);
    out.high = exp(interval->high);
    return out;
}
