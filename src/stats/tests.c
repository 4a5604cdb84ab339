#include "stats/tests.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/dist.h"
#include "stats/gather.h"
#include "stats/interval.h"
#include "stats/signed_rank.h"

static const bl_test no_test = {.statistic = NAN, .df = NAN, .p = NAN, .p_greater = NAN, .p_less = NAN};

static int compare_magnitudes(const void *a, const void *b)
{
    double x = fabs(*(const double *)a);
    double y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* d sorted by size: twice the rank of each, ties sharing their mean, so that all are whole. Returns twice V. */
static size_t doubled_ranks(const double *d, size_t n, size_t *ranks)
{
    size_t doubled_v = 0;
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (j < n && fabs(d[j]) == fabs(d[i]))
            j++;
        for (size_t k = i; k < j; k++) {
            ranks[k] = i + 1 + j; /* 2 * mean of (i + 1 .. j) */
            if (d[k] > 0)
                doubled_v += ranks[k];
        }
        i = j;
    }
    return doubled_v;
}

/* p holds room for n (n + 1) + 1 probabilities. */
static void signed_rank_exact(const size_t *ranks, size_t n, size_t v, double *p, bl_test *out)
{
    bl_signed_rank_pmf(ranks, n, p);
    size_t top = n * (n + 1);
    double below = 0;
    double above = 0;
    for (size_t i = 0; i <= v; i++)
        below += p[i];
    for (size_t i = v; i <= top; i++)
        above += p[i];
    out->p_less = fmin(1, below);
    out->p_greater = fmin(1, above);
}

static void signed_rank_normal(const size_t *ranks, size_t n, size_t v, bl_test *out)
{
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < n; i++) {
        double rank = 0.5 * (double)ranks[i];
        mean += 0.5 * rank;
        variance += 0.25 * rank * rank;
    }
    double off = 0.5 * (double)v - mean;
    out->p_less = bl_normal_cdf((off + 0.5) / sqrt(variance));
    out->p_greater = bl_normal_cdf(-(off - 0.5) / sqrt(variance));
}

int bl_test_signed_rank(const double *x, size_t n, double mu, bl_test *out, bl_error *err)
{
    *out = no_test;
    double *d = NULL;
    size_t m = 0;
    int rc = bl_gather_finite(x, n, &d, &m, err);
    if (rc != BL_OK)
        return rc;
    size_t used = 0;
    for (size_t i = 0; i < m; i++)
        if (d[i] != mu)
            d[used++] = d[i] - mu;
    out->n = used;
    size_t *ranks = bl_calloc(used + 1, sizeof(*ranks));
    double *p = bl_calloc(used * (used + 1) + 1, sizeof(*p));
    if (ranks == NULL || p == NULL) {
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to rank %zu values", used);
    } else if (used > 0) {
        qsort(d, used, sizeof(*d), compare_magnitudes);
        size_t v = doubled_ranks(d, used, ranks);
        out->statistic = 0.5 * (double)v;
        if (used <= BL_SIGNED_RANK_EXACT_MAX)
            signed_rank_exact(ranks, used, v, p, out);
        else
            signed_rank_normal(ranks, used, v, out);
        out->p = fmin(1, 2 * fmin(out->p_less, out->p_greater));
    }
    free(p);
    free(ranks);
    free(d);
    return rc;
}

static void from_t(double t, double df, size_t n, bl_test *out)
{
    out->statistic = t;
    out->df = df;
    out->n = n;
    out->p = 2 * bl_t_sf(fabs(t), df);
    out->p_greater = bl_t_sf(t, df);
    out->p_less = bl_t_cdf(t, df);
}

int bl_test_t(const double *x, size_t n, double mu, bl_test *out, bl_error *err)
{
    *out = no_test;
    bl_moments moments;
    int rc = bl_gather_moments(x, n, &moments, err);
    if (rc != BL_OK)
        return rc;
    out->n = moments.n;
    if (moments.n >= 2 && moments.sd > 0)
        from_t((moments.mean - mu) / (moments.sd / sqrt((double)moments.n)), (double)(moments.n - 1), moments.n, out);
    return BL_OK;
}

int bl_test_welch(const double *x, size_t nx, const double *y, size_t ny, bl_test *out, bl_error *err)
{
    *out = no_test;
    bl_moments mx, my;
    int rc = bl_gather_moments(x, nx, &mx, err);
    if (rc == BL_OK)
        rc = bl_gather_moments(y, ny, &my, err);
    if (rc != BL_OK)
        return rc;
    out->n = mx.n + my.n;
    if (mx.n < 2 || my.n < 2)
        return BL_OK;
    double vx = mx.sd * mx.sd / (double)mx.n;
    double vy = my.sd * my.sd / (double)my.n;
    if (!(vx + vy > 0))
        return BL_OK;
    double df = (vx + vy) * (vx + vy) / (vx * vx / (double)(mx.n - 1) + vy * vy / (double)(my.n - 1));
    from_t((mx.mean - my.mean) / sqrt(vx + vy), df, mx.n + my.n, out);
    return BL_OK;
}

int bl_test_tost(const double *x, size_t n, double low, double high, bl_tost *out, bl_error *err)
{
    *out = (bl_tost){.t_low = NAN, .t_high = NAN, .p_low = NAN, .p_high = NAN, .p = NAN, .df = NAN};
    if (!(low < high))
        return BL_FAIL(err, BL_ERR_USAGE, "the lower bound %g of an equivalence test must lie below the upper one, %g",
                       low, high);
    bl_test above_low, below_high;
    int rc = bl_test_t(x, n, low, &above_low, err);
    if (rc == BL_OK)
        rc = bl_test_t(x, n, high, &below_high, err);
    if (rc != BL_OK)
        return rc;
    out->t_low = above_low.statistic;
    out->t_high = below_high.statistic;
    out->p_low = above_low.p_greater;
    out->p_high = below_high.p_less;
    out->p = isnan(out->p_low) ? NAN : fmax(out->p_low, out->p_high);
    out->df = above_low.df;
    out->n = above_low.n;
    return BL_OK;
}

int bl_test_ljung_box(const double *x, size_t n, size_t lags, bl_test *out, bl_error *err)
{
    *out = no_test;
    if (lags == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "a test for autocorrelation wants at least one lag");
    double *used = NULL;
    size_t m = 0;
    bl_moments moments;
    int rc = bl_gather_finite(x, n, &used, &m, err);
    if (rc == BL_OK)
        rc = bl_gather_moments(x, n, &moments, err);
    if (rc == BL_OK)
        out->n = m;
    if (rc == BL_OK && m > lags && moments.sd > 0) {
        double variance = moments.sd * moments.sd * (double)(m - 1);
        out->statistic = 0;
        for (size_t k = 1; k <= lags; k++) {
            double sum = 0;
            for (size_t i = k; i < m; i++)
                sum += (used[i] - moments.mean) * (used[i - k] - moments.mean);
            double r = sum / variance;
            out->statistic += (double)m * (double)(m + 2) * r * r / (double)(m - k);
        }
        out->df = (double)lags;
        out->p = out->p_greater = bl_chi2_sf(out->statistic, out->df);
    }
    free(used);
    return rc;
}

typedef struct indexed {
    double p;
    size_t at;
} indexed;

static int compare_indexed(const void *a, const void *b)
{
    const indexed *x = a;
    const indexed *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The p-values that are numbers, ascending; *m of them. The caller frees. */
static int sort_p(const double *p, size_t n, indexed **sorted, size_t *m, bl_error *err)
{
    *m = 0;
    *sorted = bl_calloc(n > 0 ? n : 1, sizeof(**sorted));
    if (*sorted == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu p-values", n);
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i]))
            continue;
        if (p[i] < 0 || p[i] > 1) {
            free(*sorted);
            *sorted = NULL;
            return BL_FAIL(err, BL_ERR_USAGE, "p-value %zu is %g, not between 0 and 1", i, p[i]);
        }
        (*sorted)[(*m)++] = (indexed){p[i], i};
    }
    qsort(*sorted, *m, sizeof(**sorted), compare_indexed);
    return BL_OK;
}

int bl_adjust_holm(const double *p, size_t n, double *out, bl_error *err)
{
    indexed *sorted;
    size_t m;
    int rc = sort_p(p, n, &sorted, &m, err);
    if (rc != BL_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = p[i]; /* keeps NaN */
    double largest = 0;
    for (size_t i = 0; i < m; i++) {
        largest = fmax(largest, fmin(1, (double)(m - i) * sorted[i].p));
        out[sorted[i].at] = largest;
    }
    free(sorted);
    return BL_OK;
}

int bl_adjust_benjamini_hochberg(const double *p, size_t n, double *out, bl_error *err)
{
    indexed *sorted;
    size_t m;
    int rc = sort_p(p, n, &sorted, &m, err);
    if (rc != BL_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = p[i];
    double smallest = 1;
    for (size_t i = m; i-- > 0;) {
        smallest = fmin(smallest, (double)m / (double)(i + 1) * sorted[i].p);
        out[sorted[i].at] = smallest;
    }
    free(sorted);
    return BL_OK;
}
