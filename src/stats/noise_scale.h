/* The noise scale with an interval, from several measurements at the same weights. Only a well-tuned learning rate
 * makes the number mean anything for the choice of a batch size, and alone it is an order of magnitude. */
#ifndef BL_STATS_NOISE_SCALE_H
#define BL_STATS_NOISE_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/gradient_noise.h"

typedef struct bl_noise_scale {
    double scale;     /* samples: the ratio of averages; INFINITY, NaN: as bl_noise_ratio says */
    double low, high; /* NaN where there is no interval; high is INFINITY where the signal may be none */
    double signal;    /* the means: |G|^2 */
    double noise;     /* tr(Sigma) */
    double level;     /* asked for */
    size_t n;
    bool has_interval; /* n >= 2, and noise > 0 */
} bl_noise_scale;

/* The ratio of averages over n measurements, with Student's interval around the delete-one jackknife (Efron & Stein,
 * Ann. Stat. 9, 1981). The jackknife is that of 1 / scale, signal over noise: its denominator is far from zero, where
 * that of the scale need not be. level in (0, 1); n = 0 is BL_ERR_USAGE. */
int bl_noise_scale_of(const bl_gradient_norms *norms, size_t n, double level, bl_noise_scale *out, bl_error *err);

#endif
