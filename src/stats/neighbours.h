/* Do the batch sizes next to a power of two differ from it? One paired contrast for each power of two in the list
 * that has tested neighbours, one over all of them, and one sentence that claims no more than the interval carries. */
#ifndef BL_STATS_NEIGHBOURS_H
#define BL_STATS_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/contrast.h"

/* Neighbours of p lie within max(1, min(16, p / 32)) of it and are no powers of two themselves. */
#define BL_NEIGHBOURS_REACH_MAX 16
/* No claim but "cannot tell" below this attained level (5 blocks reach 0.9375, 4 only 0.875). */
#define BL_NEIGHBOURS_MIN_LEVEL 0.90

typedef enum bl_claim {
    BL_CLAIM_NONE,          /* no power of two with tested neighbours, or no figures                     */
    BL_CLAIM_DIFFER,        /* the interval lies outside +-margin                                        */
    BL_CLAIM_DIFFER_SOME,   /* it excludes 0 but holds a margin's edge: a difference, its size open       */
    BL_CLAIM_NO_DIFFERENCE, /* it lies inside +-margin and holds 0                                       */
    BL_CLAIM_SMALL,         /* it lies inside +-margin and excludes 0: real, but small                    */
    BL_CLAIM_CANNOT_TELL
} bl_claim;

typedef struct bl_neighbour_contrast {
    int64_t power;
    int64_t neighbours[2 * BL_NEIGHBOURS_REACH_MAX]; /* ascending */
    size_t n_neighbours;
    bool two_sided;       /* neighbours below and above: the power is compared with the straight line through the
                           * neighbours' step times, so that a smooth curve gives no difference. One-sided: with the
                           * mean of their log seconds per sample; the curve's slope is then part of the contrast */
    bl_contrast contrast; /* neighbours against the power: above 0 = the neighbours take longer           */
    bool in_overall;      /* false where it has under half as many pairs as the fullest: it would take most blocks
                           * away from `overall`, and the sentence leaves it out */
    bl_claim claim;
} bl_neighbour_contrast;

typedef struct bl_neighbours {
    bl_neighbour_contrast *items; /* by ascending power */
    size_t len;
    bl_contrast overall; /* mean over the powers, block by block */
    bl_claim claim;      /* on `overall`                         */
    size_t more_blocks;  /* about so many further blocks would decide; 0 where decided or not to be had */
    char sentence[512];  /* always set, ends with a full stop    */
} bl_neighbours;

/* y as in contrast.h, one row a batch size; equal batch sizes are an error (hold other factors fixed and call once
 * for each of their values). margin 0.01 = 1 %. */
int bl_neighbours_compute(const int64_t *batch, const double *y, size_t n_cases, size_t n_blocks, double level,
                          double margin, bl_neighbours *out, bl_error *err);
void bl_neighbours_clear(bl_neighbours *neighbours);

/* What an interval of logs carries at this margin. */
bl_claim bl_claim_from_interval(const bl_interval *log_ratio, double margin);
/* Blocks, beyond those had, after which an interval of that spread would likely lie inside or outside the margin:
 * 0 where that is not to be known (fewer than 2 pairs) or would take more than 10 000. */
size_t bl_more_blocks(const bl_contrast *contrast, double level, double margin);

#endif
