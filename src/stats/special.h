/* Do special batch sizes (powers of two, multiples of 8) leave the smooth curve that the other sizes lie on? In each
 * block a monotone curve (fit.h) goes through the step times of the sizes that are not special, and every special size
 * is compared with its value there; the mean over them is one figure a block. */
#ifndef BL_STATS_SPECIAL_H
#define BL_STATS_SPECIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "stats/neighbours.h"

/* A special size counts where the curve has a point on either side of it, these at most a quarter apart or next to it:
 * over wider gaps a kink of the curve would pass for something special. */
#define BL_SPECIAL_GAP   1.25
#define BL_SPECIAL_SHOWN 6

typedef enum bl_special_kind { BL_SPECIAL_POWERS_OF_TWO, BL_SPECIAL_MULTIPLES_OF_8 } bl_special_kind;

typedef struct bl_special {
    bl_special_kind kind;
    int64_t sizes[BL_SPECIAL_SHOWN]; /* the first of them, ascending */
    size_t n_sizes;                  /* special sizes compared; 0: nothing to compare, nothing is said */
    size_t n_curve;                  /* sizes that the curve goes through */
    bl_contrast contrast;            /* special sizes against the curve: above 0 = they take longer */
    bl_claim claim;
    size_t more_blocks; /* as in bl_neighbours */
} bl_special;

/* y as in contrast.h, one row a batch size, all different. A size with figures in fewer than half as many blocks as the
 * fullest is left out; a block counts where all others have one. margin 0.01 = 1 %. */
int bl_special_compute(bl_special_kind kind, const int64_t *batch, const double *y, size_t n_cases, size_t n_blocks,
                       double level, double margin, bl_special *out, bl_error *err);

/* One sentence on both; nothing where neither could be compared. Multiples of 8 that are the same sizes as the powers
 * of two are not said twice. */
void bl_special_sentence(const bl_special *powers, const bl_special *eights, double level, double margin, bl_str *out);

#endif
