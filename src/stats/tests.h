/* Tests and corrections for many of them. Data may hold NaN (left out). A p-value that cannot be had (too few
 * values) is NaN; so is it where all values are equal, unless said otherwise. */
#ifndef BL_STATS_TESTS_H
#define BL_STATS_TESTS_H

#include <stddef.h>

#include "base/error.h"

typedef struct bl_test {
    double statistic;
    double df;        /* degrees of freedom, NaN where the test has none */
    double p;         /* two-sided */
    double p_greater; /* against "greater than the null value" */
    double p_less;
    size_t n; /* values used */
} bl_test;

/* Wilcoxon's signed-rank test of symmetry about mu. statistic = V, the sum of the ranks of the positive
 * differences. Differences equal to mu are dropped, equal sizes share their mean rank, and the distribution is
 * the exact one given those ranks for n <= 60 (normal approximation with continuity correction above). */
int bl_test_signed_rank(const double *x, size_t n, double mu, bl_test *out, bl_error *err);
/* One-sample (paired) t test of mean mu. */
int bl_test_t(const double *x, size_t n, double mu, bl_test *out, bl_error *err);
/* Welch's test of mean(x) - mean(y) = 0 with Satterthwaite's degrees of freedom. */
int bl_test_welch(const double *x, size_t nx, const double *y, size_t ny, bl_test *out, bl_error *err);

typedef struct bl_tost {
    double t_low;  /* against mean <= low  */
    double t_high; /* against mean >= high */
    double p_low, p_high;
    double p; /* the larger of the two: small means "the mean lies inside (low, high)" */
    double df;
    size_t n;
} bl_tost;

/* Two one-sided t tests on one sample (Schuirmann 1987). low < high. */
int bl_test_tost(const double *x, size_t n, double low, double high, bl_tost *out, bl_error *err);

/* Ljung & Box's test of a series for autocorrelation up to `lags` (Biometrika 65, 1978):
 * Q = n (n + 2) sum of r_k^2 / (n - k), chi-square with `lags` degrees of freedom; p = p_greater, p_less is NaN.
 * Missing values close up. lags >= 1; p is NaN where n <= lags, or all values are equal. */
int bl_test_ljung_box(const double *x, size_t n, size_t lags, bl_test *out, bl_error *err);

/* Adjusted p-values, in the order given; NaN stays NaN and does not count. out may be p. */
int bl_adjust_holm(const double *p, size_t n, double *out, bl_error *err);
int bl_adjust_benjamini_hochberg(const double *p, size_t n, double *out, bl_error *err);

#endif
