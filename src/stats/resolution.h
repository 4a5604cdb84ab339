/* How small a difference a number of blocks resolves, from the differences of an experiment in which the same case ran
 * under two labels. Description, not a verdict: it assumes that the blocks to come are like those seen. */
#ifndef BL_STATS_RESOLUTION_H
#define BL_STATS_RESOLUTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/verdict.h"

typedef struct bl_resolution {
    size_t blocks;
    double difference; /* relative: 0.004 = 0.4 %. A true difference of this size is found (the 1 - a interval of a look
                        * excludes 0) with the chance asked for; NaN where this level has no interval */
    double margin;     /* the smallest margin within which two equal cases are shown to be equal with that chance */
} bl_resolution;

/* d: differences of logarithms, block by block (NaN left out; at least 5). For each look of the rule, experiments of
 * that many blocks are drawn with replacement from the centred d with random signs (Efron & Tibshirani, An Introduction
 * to the Bootstrap, 1993, ch. 25, on sample size), and the `power` quantile taken of what their intervals leave open.
 * out[rule->n_looks]. */
int bl_resolution_compute(const double *d, size_t n, const bl_verdict_rule *rule, double power, uint64_t seed,
                          bl_resolution *out, bl_error *err);

#endif
