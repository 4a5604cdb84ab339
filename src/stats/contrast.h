/* Cases over blocks. y[c * n_blocks + b] is the figure of case c in block b, in seconds per sample (or seconds per
 * run); NaN where that trial gave none. A missing trial takes only its own pair away. Figures must be positive. */
#ifndef BL_STATS_CONTRAST_H
#define BL_STATS_CONTRAST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "stats/interval.h"

/* One case over the blocks: Hodges-Lehmann over ln y, taken back by exp: seconds per sample. Its width holds what
 * the machine did between blocks, so it is wider than a comparison inside blocks: overlapping intervals of two
 * cases do not mean that they are equal. */
int bl_case_interval(const double *y, size_t n_blocks, double level, bl_interval *out, bl_error *err);

typedef struct bl_contrast {
    bl_interval log_ratio;   /* Hodges-Lehmann over d = ln y_b - ln y_a, block by block        */
    bl_interval ratio;       /* the same as y_b / y_a: above 1 = b takes longer per sample     */
    bl_interval log_ratio_t; /* mean of d with Student's interval, for comparison            */
    double sd;               /* standard deviation of d; NaN below two pairs                   */
    size_t n_pairs;
    size_t n_missing; /* blocks where a or b gave no figure                             */
    bool disagree;    /* the two intervals disagree on 0 or the widths differ twofold: skewed or outlying blocks */
} bl_contrast;

/* b against a. Both hold n_blocks figures. */
int bl_contrast_pair(const double *a, const double *b, size_t n_blocks, double level, bl_contrast *out, bl_error *err);
/* From differences of logarithms already formed (NaN = missing). */
int bl_contrast_from_logs(const double *d, size_t n_blocks, double level, bl_contrast *out, bl_error *err);

/* The case with the smallest estimate of seconds per sample; n_cases where none has a figure. It is the best
 * *observed* one: picked by its figures, its lead is flattered until confirmed on fresh blocks. */
int bl_contrast_best(const double *y, size_t n_cases, size_t n_blocks, size_t *best, bl_error *err);
/* Every case against case `base` into out[n_cases] (out[base] is the trivial one, n_pairs = its figures). */
int bl_contrast_against(const double *y, size_t n_cases, size_t n_blocks, size_t base, double level, bl_contrast *out,
                        bl_error *err);

#endif
