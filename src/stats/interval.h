/* Point estimates with intervals over a handful of replicates. Every array of data may hold NaN: a missing
 * replicate. It is left out, and `n` counts what was used. */
#ifndef BL_STATS_INTERVAL_H
#define BL_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Largest n with the exact signed-rank distribution; above it the normal approximation serves. */
#define BL_SIGNED_RANK_EXACT_MAX 60
/* Replicates that the functions here accept: the n (n + 1) / 2 Walsh averages are held in memory. */
#define BL_STATS_MAX_N 2000

typedef struct bl_interval {
    double estimate; /* NaN where n = 0 */
    double low;      /* NaN where there is no interval */
    double high;
    double level_wanted; /* for instance 0.95 */
    double level;        /* the coverage that the interval really has; 0 where there is none */
    size_t n;            /* replicates used */
    bool has_interval;   /* n >= 2 */
    bool reaches_level;  /* level >= level_wanted. Where false and has_interval is true, no finite interval of
                          * the wanted level exists for this n (2 * 2^-n > 1 - level_wanted), and [low, high] is
                          * the widest one that does: n = 5 gives 0.9375 */
    bool exact;          /* from the exact distribution, not an approximation */
} bl_interval;

/* Hodges-Lehmann estimate (the median of the n (n + 1) / 2 Walsh averages (x_i + x_j) / 2, i <= j) with the
 * interval [W_(k), W_(N + 1 - k)], where k is the largest with 2 P(V <= k - 1) <= 1 - level and V is Wilcoxon's
 * signed-rank statistic without ties (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3.2-3.3).
 * Ties and zeros stay in: as the interval is closed, its coverage is then at least the level given (Noether,
 * JASA 62, 1967). level in (0, 1). BL_ERR_USAGE for a bad level, an infinite value or too many values. */
int bl_hodges_lehmann(const double *x, size_t n, double level, bl_interval *out, bl_error *err);

/* The fewest replicates for which a finite signed-rank interval of this level exists (6 at 0.95). */
size_t bl_signed_rank_min_n(double level);

/* Mean with Student's interval, of one sample (paired differences). No interval below n = 2. */
int bl_t_interval(const double *x, size_t n, double level, bl_interval *out, bl_error *err);

/* For a positive quantity: the interval of 1 / x (samples per second from seconds per sample). */
bl_interval bl_interval_reciprocal(const bl_interval *interval);
/* exp() of estimate and limits (a difference of logarithms becomes a ratio). */
bl_interval bl_interval_exp(const bl_interval *interval);

#endif
