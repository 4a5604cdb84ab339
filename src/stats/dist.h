/* The few distribution functions that intervals and tests need. Accuracy: about 1e-12 relative for
 * probabilities, 1e-10 for quantiles. Arguments out of range give NaN. */
#ifndef BL_STATS_DIST_H
#define BL_STATS_DIST_H

#include <stddef.h>

double bl_normal_cdf(double x);
/* p in (0, 1): a rational start (Abramowitz & Stegun 26.2.23), polished with Halley steps on the exact cdf. */
double bl_normal_quantile(double p);
/* Regularised incomplete beta function I_x(a, b) by Lentz's continued fraction (DLMF 8.17.22). */
double bl_beta_inc(double a, double b, double x);
/* Student's t with df > 0 (need not be whole; INFINITY gives the normal). */
double bl_t_cdf(double t, double df);
/* P(T > t), without the cancellation of 1 - cdf. */
double bl_t_sf(double t, double df);
double bl_t_quantile(double p, double df);
/* Regularised upper incomplete gamma function Q(a, x), a > 0, x >= 0: its series (DLMF 8.11.4) below x = a + 1, else
 * the continued fraction (DLMF 8.9.2). */
double bl_gamma_q(double a, double x);
/* P(X > x) for chi-square with df > 0. */
double bl_chi2_sf(double x, double df);
/* P(V <= v) of Wilcoxon's signed-rank statistic of n values without ties: exact up to n = 60, above it the normal
 * approximation with continuity correction. NaN for n = 0. */
double bl_signed_rank_cdf(double v, size_t n);

#endif
