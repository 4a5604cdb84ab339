/* Change points of a series by E-divisive (Matteson & James, JASA 109, 2014): where does the distribution of the
 * values change? Here the divergence is taken between all values of a segment left and right of the split
 * (alpha = 1), and a split stands if few shuffles of its segment give as large a one. */
#ifndef BL_STATS_CHANGEPOINT_H
#define BL_STATS_CHANGEPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest series accepted (time goes with n^2 for each shuffle). Condense longer ones first. */
#define BL_EDIVISIVE_MAX_N 4096

typedef struct bl_edivisive_options {
    size_t min_segment;  /* shortest segment, at least 2 */
    size_t permutations; /* shuffles for each split; the smallest p-value is 1 / (permutations + 1) */
    double significance; /* a split stands where p <= this */
    uint64_t seed;       /* the same seed gives the same answer */
} bl_edivisive_options;

/* min_segment 30, 199 permutations, significance 0.05, seed 1. */
void bl_edivisive_options_init(bl_edivisive_options *options);

/* Writes the split positions (index of the first value after the change) in the order found, strongest first, to
 * points[0 .. *n_points); at most max_points. Values must be finite. */
int bl_edivisive(const double *x, size_t n, const bl_edivisive_options *options, size_t *points, size_t max_points,
                 size_t *n_points, bl_error *err);

#endif
