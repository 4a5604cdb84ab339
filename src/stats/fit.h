/* Lines and curves through measured points, against outliers. All values must be finite. */
#ifndef BL_STATS_FIT_H
#define BL_STATS_FIT_H

#include <stddef.h>

#include "base/error.h"

/* Pairs of points are held in memory. */
#define BL_FIT_MAX_N 1500

typedef struct bl_line {
    double intercept, slope; /* NaN where fewer than two different x were given */
} bl_line;

/* Theil-Sen: the slope is the median over all pairs with different x, the intercept the median of y - slope x
 * (Sen, JASA 63, 1968). Up to 29 % of the points may lie anywhere. */
int bl_fit_theil_sen(const double *x, const double *y, size_t n, bl_line *out, bl_error *err);

typedef struct bl_step_time_fit {
    double fixed_s;        /* a: seconds a step, whatever its size; NaN where there is no fit */
    double per_sample_s;   /* b: seconds more for each sample */
    double knee;           /* a / b: the batch size at which half of a step is fixed cost; NaN where b = 0 */
    double worst_relative; /* largest |measured - fitted| / measured */
    size_t n;
} bl_step_time_fit;

/* Step time over batch size, T(B) = a + b B with a, b >= 0, T > 0, B > 0. Errors are taken relative to T (noise of
 * training steps is a share of their length); Huber's estimate (k = 1.345, scale from the median absolute residual,
 * Huber & Ronchetti, Robust Statistics, 7.3-7.8) by reweighted least squares from Theil-Sen's line. Where a or b would
 * be negative it is 0 and the other the median of T / B, or of T. Needs two different batch sizes. */
int bl_fit_step_time(const double *batch, const double *step_s, size_t n, bl_step_time_fit *out, bl_error *err);

/* A smooth curve through (x, y) that is monotone wherever the points are: piecewise cubic with the slopes of Fritsch
 * & Butland, SIAM J. Sci. Stat. Comput. 5, 1984. x ascending without equals, n >= 2. Fills slopes[n]. */
int bl_pchip_slopes(const double *x, const double *y, size_t n, double *slopes, bl_error *err);
/* Its value at `at`; NaN outside [x[0], x[n - 1]]: nothing is extrapolated. */
double bl_pchip_value(const double *x, const double *y, const double *slopes, size_t n, double at);

#endif
