/* What the loss reads and writes: the heads' raw maps of a batch, as floats or as doubles, and its targets. */
#ifndef BL_DETECT_BATCH_H
#define BL_DETECT_BATCH_H

#include <stdint.h>

#include "base/error.h"
#include "detect/spec.h"

#define BL_DETECT_MAX_HEADS   (2 * BL_DETECT_MAX_LEVELS)
#define BL_DETECT_TARGET_COLS 6

typedef struct bl_detect_batch {
    int n;       /* images */
    int n_heads; /* the spec's n_levels, or twice as many where the auxiliary ones come after them */
    int h[BL_DETECT_MAX_LEVELS], w[BL_DETECT_MAX_LEVELS];
    bool wide;                             /* the data below are doubles, else floats */
    const void *head[BL_DETECT_MAX_HEADS]; /* (n, 3 (5 + n_classes), h, w), plain */
    void *grad[BL_DETECT_MAX_HEADS];       /* as large; NULL where it is not wanted */
    /* (n_targets, 6): image, class, then centre x, y, width and height in fractions of the image. Rows that are no box
     * in one of the images are left out: a negative or too large image or class, a centre outside of [0, 1], a size
     * that is not positive, anything infinite or NaN. */
    const void *targets;
    int64_t n_targets;
} bl_detect_batch;

/* BL_ERR_INTERNAL where the numbers of the specification make no sense. */
int bl_detect_spec_check(const bl_detect_spec *spec, bl_error *err);
/* Also that the levels' maps show one image, each at its stride. */
int bl_detect_batch_check(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_error *err);

static inline double bl_detect_read(const bl_detect_batch *batch, const void *data, int64_t i)
{
    return batch->wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void bl_detect_add(const bl_detect_batch *batch, void *data, int64_t i, double value)
{
    if (batch->wide)
        ((double *)data)[i] += value;
    else
        ((float *)data)[i] += (float)value;
}

/* Where channel `k` of a pixel's prediction lies; the next channel is h w further on. */
static inline int64_t bl_detect_index(const bl_detect_spec *spec, const bl_detect_batch *batch, int level, int image,
                                      int anchor, int k, int row, int column)
{
    int64_t h = batch->h[level], w = batch->w[level];
    return ((((int64_t)image * BL_DETECT_ANCHORS + anchor) * (5 + spec->n_classes) + k) * h + row) * w + column;
}

#endif
