#include "stats/gather.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/interval.h"

static int refuse_infinite(size_t at, bl_error *err)
{
    return BL_FAIL(err, BL_ERR_USAGE, "value %zu is infinite", at);
}

int bl_gather_finite(const double *x, size_t n, double **out, size_t *n_out, bl_error *err)
{
    *out = NULL;
    *n_out = 0;
    if (n > BL_STATS_MAX_N)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu values are more than the %d that can be held", n, BL_STATS_MAX_N);
    double *used = bl_calloc(n > 0 ? n : 1, sizeof(*used));
    if (used == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu values", n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (isinf(x[i])) {
            free(used);
            return refuse_infinite(i, err);
        }
        if (!isnan(x[i]))
            used[m++] = x[i];
    }
    *out = used;
    *n_out = m;
    return BL_OK;
}

int bl_gather_moments(const double *x, size_t n, bl_moments *out, bl_error *err)
{
    *out = (bl_moments){.mean = NAN, .sd = NAN};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (isinf(x[i]))
            return refuse_infinite(i, err);
        if (!isnan(x[i])) {
            sum += x[i];
            out->n++;
        }
    }
    if (out->n == 0)
        return BL_OK;
    out->mean = sum / (double)out->n;
    if (out->n == 1)
        return BL_OK;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            squares += (x[i] - out->mean) * (x[i] - out->mean);
    out->sd = sqrt(squares / (double)(out->n - 1));
    return BL_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bl_median_in_place(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(x, n, sizeof(*x), compare_doubles);
    return n % 2 == 1 ? x[n / 2] : 0.5 * x[n / 2 - 1] + 0.5 * x[n / 2];
}
