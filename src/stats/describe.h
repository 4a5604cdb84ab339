/* Figures that describe a handful of values. None of them carries a verdict: see interval.h for those that do. Data may
 * hold NaN (left out); infinite values are BL_ERR_USAGE. */
#ifndef BL_STATS_DESCRIBE_H
#define BL_STATS_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/interval.h"

/* The mean of what is left when floor(share * n) values are cut off at each end; share in [0, 0.5). NaN for n = 0.
 * (Tukey & McLaughlin, Sankhya A 25, 1963.) */
int bl_trimmed_mean(const double *x, size_t n, double share, double *out, bl_error *err);

/* The mean with its bias-corrected and accelerated bootstrap interval (Efron, JASA 82, 1987, (2.3), (6.6); the
 * acceleration from the jackknife), from `resamples` draws under `seed`. For description only: at 10 to 30 skewed
 * values its coverage is 0.82 to 0.95 where 0.95 is promised. No interval below n = 2, or where all values are equal.
 * level in (0, 1), resamples from 100 to BL_BCA_RESAMPLES_MAX. */
#define BL_BCA_RESAMPLES_MAX 1000000
int bl_bca_mean(const double *x, size_t n, double level, size_t resamples, uint64_t seed, bl_interval *out,
                bl_error *err);

#endif
