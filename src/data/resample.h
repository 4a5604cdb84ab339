/* Changes an image's size in one pass over it, from its bytes to planes of floats. Bilinear; when it shrinks, averaging
 * over what an output pixel covers, as Pillow's antialiased bilinear does: a triangle as wide as max(1, scale) source
 * pixels to each side, cut off at the image's edges. Of use inside this room. */
#ifndef BL_DATA_RESAMPLE_H
#define BL_DATA_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "data/scratch.h"

/* A part of an image, in pixels; empty where columns or rows is 0. */
typedef struct bl_part {
    int left, top, columns, rows;
} bl_part;

/* A decoded image, or as much of it as was wanted. */
typedef struct bl_picture {
    const uint8_t *pixels; /* [part.rows][part.columns][3], RGB; borrowed */
    int width, height;     /* of the whole */
    bl_part part;          /* what is there */
} bl_picture;

/* Where on the output, in its pixels, the whole source comes to lie; may reach beyond it. */
typedef struct bl_span {
    double low, high;
} bl_span;

/* One axis: output pixels [from, from + len), those of [0, size) whose middle lies both on the source and in the
 * window, and for each the source pixels it is averaged from. All empty where len is 0. */
typedef struct bl_axis {
    int from, len;
    int n;               /* room for so many taps; */
    int taps;            /* the most that are used */
    int begin, end;      /* source pixels used, all together */
    const int *first;    /* (len) source pixel of the first tap */
    const int *count;    /* (len) */
    const float *weight; /* (len, n); each row's sum is 1, beyond its taps are zeros */
} bl_axis;

/* The axis' arrays lie in the scratch, under `use`. */
int bl_axis_make(bl_span where, bl_span window, int source, int size, bl_scratch *scratch, bl_scratch_use use,
                 bl_axis *out, bl_error *err);
/* Source pixels [*begin, *end) that such an axis uses at most, without making it; empty where none. */
void bl_axis_reach(bl_span where, bl_span window, int source, int size, int *begin, int *end);

typedef struct bl_planes {
    float *at;               /* (3, height, width) */
    size_t plane, stride;    /* floats from plane to plane, from line to line */
    float scale[3], bias[3]; /* what is written is scale * level + bias; levels are in [0, 255] */
    int mirror;              /* 0: as it is; else the width of the planes, and left and right change places */
} bl_planes;

/* Writes the axes' pixels and no others. The picture must hold what they reach. */
int bl_resample(const bl_picture *picture, const bl_axis *across, const bl_axis *down, const bl_planes *out,
                bl_scratch *scratch, bl_error *err);

/* The inner loops, for one instruction set. */
typedef struct bl_resample_loops {
    const char *name;
    /* out[i] = the sum over k < n_taps of weight[k] * from[k * stride + i], for i < n */
    void (*down)(const uint8_t *from, size_t stride, const float *weight, int n_taps, size_t n, float *out);
    /* One output line: row is [columns from across->begin on][3]; 3 floats for each tap and 4 more may be read after
     * it, which must be finite. line: in plane 0. */
    void (*across)(const float *row, const bl_axis *across, const bl_planes *out, float *line);
    /* out[i] = scale * (the sum over k < n_taps of weight[k] * rows[k][i]) + bias, for i < n */
    void (*blend)(const float *const *rows, const float *weight, int n_taps, size_t n, float scale, float bias,
                  float *out);
} bl_resample_loops;

extern const bl_resample_loops bl_resample_portable;
#ifdef BL_DATA_X86
extern const bl_resample_loops bl_resample_avx2;
#endif
/* The best of this machine, unless BATCHLAB_KERNELS=portable. */
const bl_resample_loops *bl_resample_choose(void);
/* Another for tests; NULL: back to the choice. Not while workers run. */
void bl_resample_use(const bl_resample_loops *loops);

#endif
