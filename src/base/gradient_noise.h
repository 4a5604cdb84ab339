/* How noisy a gradient is, from squared norms alone (McCandlish, Kaplan, Amodei et al., "An empirical model of
 * large-batch training", arXiv:1812.06162, appendix A.1). Here because a trainer that measures it and the lab that
 * reads it agree on it.
 *
 * With g_i the gradient of the mean loss of sample i, G its expectation, Sigma its covariance: the mean gradient of b
 * samples has E|g_b|^2 = |G|^2 + tr(Sigma) / b. Two sizes b < B give both, without bias:
 *     |G|^2     = (B |g_B|^2 - b |g_b|^2) / (B - b)
 *     tr(Sigma) = (|g_b|^2 - |g_B|^2) / (1 / b - 1 / B)
 * The simple noise scale is tr(Sigma) / |G|^2, in samples. A single |G|^2 may well be negative; it must stay so, as
 * cutting it off before averaging would make the average too large.
 *
 * Per sample: b = 1, |g_b|^2 the mean of the samples' own squared norms, g_B the mean gradient of those B samples.
 *
 * Preconditioned: an optimizer that steps along P g, P diagonal and positive (Adam: 1 / (sqrt(v) + eps)), is plain
 * gradient descent in the coordinates P^(-1/2) w, whose gradient is P^(1/2) g. So its noise scale,
 * tr(P Sigma) / (G' P G), is had from the same formulas with g' P g for every squared norm. */
#ifndef BL_BASE_GRADIENT_NOISE_H
#define BL_BASE_GRADIENT_NOISE_H

#include <stddef.h>

#include "base/error.h"

/* One measurement with the weights held. Where there are several small gradients, small_sq is the mean of their
 * squared norms: with one of them alone the estimates scatter several times as much. */
typedef struct bl_gradient_norms {
    double small_n, big_n; /* samples behind each small gradient, and behind the big one; 0 < small_n < big_n */
    double small_sq, big_sq;
} bl_gradient_norms;

typedef struct bl_noise_parts {
    double signal; /* |G|^2 */
    double noise;  /* tr(Sigma), of one sample */
} bl_noise_parts;

/* BL_ERR_USAGE where sizes or norms cannot be: not finite, negative, or not in order. */
int bl_noise_parts_of(const bl_gradient_norms *norms, bl_noise_parts *out, bl_error *err);
/* The sum of the noises over the sum of the signals, of measurements at the same weights: INFINITY where the signal
 * drowns (its sum is not positive), NaN where the noise's sum is negative, or n is 0. The mean of the ratios would be
 * wrong by any amount. */
double bl_noise_ratio(const bl_noise_parts *parts, size_t n);

#endif
