#include "stats/fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/gather.h"

#define HUBER_K        1.345
#define MAD_TO_SD      1.4826022185056018 /* 1 / normal quantile of 0.75 */
#define ITERATIONS_MAX 500

static int check_points(const double *x, const double *y, size_t n, bl_error *err)
{
    if (n > BL_FIT_MAX_N)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu points are more than the %d that can be fitted", n, BL_FIT_MAX_N);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) || !isfinite(y[i]))
            return BL_FAIL(err, BL_ERR_USAGE, "point %zu, (%g, %g), is not finite", i, x[i], y[i]);
    return BL_OK;
}

int bl_fit_theil_sen(const double *x, const double *y, size_t n, bl_line *out, bl_error *err)
{
    *out = (bl_line){NAN, NAN};
    int rc = check_points(x, y, n, err);
    if (rc != BL_OK)
        return rc;
    double *slopes = bl_calloc(n * (n + 1) / 2 + 1, sizeof(*slopes));
    if (slopes == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the slopes between %zu points", n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (x[i] != x[j])
                slopes[m++] = (y[j] - y[i]) / (x[j] - x[i]);
    if (m > 0) {
        out->slope = bl_median_in_place(slopes, m);
        for (size_t i = 0; i < n; i++)
            slopes[i] = y[i] - out->slope * x[i];
        out->intercept = bl_median_in_place(slopes, n);
    }
    free(slopes);
    return rc;
}

/* Residual of a point relative to its time. */
static double relative(const bl_step_time_fit *fit, double batch, double time)
{
    return 1 - (fit->fixed_s + fit->per_sample_s * batch) / time;
}

/* One weighted least-squares step; false where the points no longer fix a line. */
static bool reweigh(const double *batch, const double *time, size_t n, double scale, bl_step_time_fit *fit)
{
    double s11 = 0, s12 = 0, s22 = 0, t1 = 0, t2 = 0;
    for (size_t i = 0; i < n; i++) {
        double r = fabs(relative(fit, batch[i], time[i]));
        double w = scale > 0 && r > HUBER_K * scale ? HUBER_K * scale / r : 1;
        double u = 1 / time[i];
        double v = batch[i] / time[i];
        s11 += w * u * u;
        s12 += w * u * v;
        s22 += w * v * v;
        t1 += w * u;
        t2 += w * v;
    }
    double determinant = s11 * s22 - s12 * s12;
    if (!(determinant > 1e-14 * s11 * s22))
        return false;
    fit->fixed_s = (s22 * t1 - s12 * t2) / determinant;
    fit->per_sample_s = (s11 * t2 - s12 * t1) / determinant;
    return true;
}

static double residual_scale(const double *batch, const double *time, size_t n, const bl_step_time_fit *fit,
                             double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(relative(fit, batch[i], time[i]));
    return MAD_TO_SD * bl_median_in_place(scratch, n);
}

static void huber(const double *batch, const double *time, size_t n, double *scratch, bl_step_time_fit *fit)
{
    for (int i = 0; i < ITERATIONS_MAX; i++) {
        bl_step_time_fit before = *fit;
        double scale = residual_scale(batch, time, n, fit, scratch);
        if (scale < 1e-13 || !reweigh(batch, time, n, scale, fit))
            break;
        double moved = fabs(fit->fixed_s - before.fixed_s) / time[0] +
                       fabs(fit->per_sample_s - before.per_sample_s) * batch[0] / time[0];
        if (moved < 1e-13)
            break;
    }
}

static void keep_positive(const double *batch, const double *time, size_t n, double *scratch, bl_step_time_fit *fit)
{
    if (fit->fixed_s >= 0 && fit->per_sample_s >= 0)
        return;
    bool through_zero = fit->fixed_s < 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = through_zero ? time[i] / batch[i] : time[i];
    double middle = bl_median_in_place(scratch, n);
    fit->fixed_s = through_zero ? 0 : middle;
    fit->per_sample_s = through_zero ? middle : 0;
}

int bl_fit_step_time(const double *batch, const double *step_s, size_t n, bl_step_time_fit *out, bl_error *err)
{
    *out = (bl_step_time_fit){.fixed_s = NAN, .per_sample_s = NAN, .knee = NAN, .worst_relative = NAN, .n = n};
    bl_line line;
    int rc = bl_fit_theil_sen(batch, step_s, n, &line, err);
    for (size_t i = 0; rc == BL_OK && i < n; i++)
        if (!(batch[i] > 0 && step_s[i] > 0))
            rc = BL_FAIL(err, BL_ERR_USAGE, "point %zu: a batch size and a step's time must be positive", i);
    if (rc != BL_OK || isnan(line.slope))
        return rc;
    double *scratch = bl_calloc(n, sizeof(*scratch));
    if (scratch == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to fit %zu points", n);
    out->fixed_s = line.intercept;
    out->per_sample_s = line.slope;
    huber(batch, step_s, n, scratch, out);
    keep_positive(batch, step_s, n, scratch, out);
    out->knee = out->per_sample_s > 0 ? out->fixed_s / out->per_sample_s : NAN;
    out->worst_relative = 0;
    for (size_t i = 0; i < n; i++)
        out->worst_relative = fmax(out->worst_relative, fabs(relative(out, batch[i], step_s[i])));
    free(scratch);
    return rc;
}

/* The slope at an end from its two nearest intervals: the parabola's, kept from overshooting. */
static double end_slope(double h0, double h1, double d0, double d1)
{
    double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (slope * d0 <= 0)
        return 0;
    if (d0 * d1 <= 0 && fabs(slope) > 3 * fabs(d0))
        return 3 * d0;
    return slope;
}

int bl_pchip_slopes(const double *x, const double *y, size_t n, double *slopes, bl_error *err)
{
    int rc = check_points(x, y, n, err);
    if (rc != BL_OK)
        return rc;
    if (n < 2)
        return BL_FAIL(err, BL_ERR_USAGE, "a curve wants at least two points");
    for (size_t i = 1; i < n; i++)
        if (!(x[i] > x[i - 1]))
            return BL_FAIL(err, BL_ERR_USAGE, "the points of a curve must ascend: %g follows %g", x[i], x[i - 1]);
    double first = (y[1] - y[0]) / (x[1] - x[0]);
    if (n == 2) {
        slopes[0] = slopes[1] = first;
        return BL_OK;
    }
    double h0 = x[1] - x[0];
    double d0 = first;
    for (size_t i = 1; i + 1 < n; i++) {
        double h1 = x[i + 1] - x[i];
        double d1 = (y[i + 1] - y[i]) / h1;
        double w0 = 2 * h1 + h0;
        double w1 = h1 + 2 * h0;
        slopes[i] = d0 * d1 > 0 ? (w0 + w1) / (w0 / d0 + w1 / d1) : 0;
        if (i == 1)
            slopes[0] = end_slope(h0, h1, d0, d1);
        if (i + 2 == n)
            slopes[n - 1] = end_slope(h1, h0, d1, d0);
        h0 = h1;
        d0 = d1;
    }
    return BL_OK;
}

double bl_pchip_value(const double *x, const double *y, const double *slopes, size_t n, double at)
{
    if (n < 2 || !(at >= x[0] && at <= x[n - 1]))
        return NAN;
    size_t low = 0;
    size_t high = n - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (x[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    double h = x[high] - x[low];
    double t = (at - x[low]) / h;
    double rest = 1 - t;
    return y[low] * (1 + 2 * t) * rest * rest + h * slopes[low] * t * rest * rest + y[high] * t * t * (3 - 2 * t) -
           h * slopes[high] * t * t * rest;
}
