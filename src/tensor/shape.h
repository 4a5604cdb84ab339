/* Shapes: up to BL_MAX_DIMS extents, outermost first. Images are (N, C, H, W), matrices (N, C). */
#ifndef BL_TENSOR_SHAPE_H
#define BL_TENSOR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_MAX_DIMS 6

typedef struct bl_shape {
    int n_dims; /* 0 is a scalar with one element */
    int64_t dim[BL_MAX_DIMS];
} bl_shape;

#define BL_SHAPE0()           ((bl_shape){.n_dims = 0})
#define BL_SHAPE1(a)          ((bl_shape){.n_dims = 1, .dim = {(a)}})
#define BL_SHAPE2(a, b)       ((bl_shape){.n_dims = 2, .dim = {(a), (b)}})
#define BL_SHAPE3(a, b, c)    ((bl_shape){.n_dims = 3, .dim = {(a), (b), (c)}})
#define BL_SHAPE4(n, c, h, w) ((bl_shape){.n_dims = 4, .dim = {(n), (c), (h), (w)}})

/* Every extent at least 1 and the number of elements at most PTRDIFF_MAX / 8; else BL_ERR_NOMEM (too
 * large) or BL_ERR_INTERNAL (not positive). */
int bl_shape_check(const bl_shape *shape, bl_error *err);
/* Product of the extents. The shape must have passed bl_shape_check. */
int64_t bl_shape_count(const bl_shape *shape);
bool bl_shape_equal(const bl_shape *a, const bl_shape *b);
/* "(16, 3, 224, 224)" into out; returns out. */
const char *bl_shape_format(const bl_shape *shape, char *out, size_t out_size);

/* a * b, or a + b, into *out; false where it overflows. */
bool bl_size_mul(size_t a, size_t b, size_t *out);
bool bl_size_add(size_t a, size_t b, size_t *out);

#endif
