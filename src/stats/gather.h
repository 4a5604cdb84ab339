/* Checking and gathering of values before they are used. Of use inside this room. */
#ifndef BL_STATS_GATHER_H
#define BL_STATS_GATHER_H

#include <stddef.h>

#include "base/error.h"

/* The values of x that are not NaN into a heap block the caller frees (never NULL on success). Infinite values and
 * more than BL_STATS_MAX_N are BL_ERR_USAGE. */
int bl_gather_finite(const double *x, size_t n, double **out, size_t *n_out, bl_error *err);

typedef struct bl_moments {
    size_t n;
    double mean; /* NaN for n = 0 */
    double sd;   /* with n - 1; NaN for n < 2 */
} bl_moments;

/* Two passes; NaN left out, infinite values refused. */
int bl_gather_moments(const double *x, size_t n, bl_moments *out, bl_error *err);

/* Sorts ascending and returns the median; NaN for n = 0. */
double bl_median_in_place(double *x, size_t n);

#endif
