/* How a tensor's elements lie in memory.
 * plain    row-major in the order of the shape, no gaps.
 * blocked  (N, C, H, W) stored as [N][ceil(C / block)][H][W][block]; channels past C are padding and
 *          hold zeros: whoever writes the tensor writes them too.
 * opaque   `opaque_b` bytes in a form that only the backend knows (reordered weights). */
#ifndef BL_TENSOR_LAYOUT_H
#define BL_TENSOR_LAYOUT_H

#include "tensor/dtype.h"
#include "tensor/shape.h"

#define BL_ALIGN_B 64 /* every buffer starts at a multiple of this */

typedef enum bl_layout_kind { BL_LAYOUT_PLAIN, BL_LAYOUT_BLOCKED, BL_LAYOUT_OPAQUE } bl_layout_kind;

typedef struct bl_layout {
    bl_layout_kind kind;
    int block;       /* BLOCKED: channels a block (8 or 16) */
    size_t opaque_b; /* OPAQUE */
} bl_layout;

#define BL_PLAIN      ((bl_layout){.kind = BL_LAYOUT_PLAIN})
#define BL_BLOCKED(b) ((bl_layout){.kind = BL_LAYOUT_BLOCKED, .block = (b)})

bool bl_layout_equal(const bl_layout *a, const bl_layout *b);
/* C rounded up to whole blocks; C itself for plain layouts. */
int64_t bl_layout_padded_c(const bl_layout *layout, int64_t c);
/* Bytes of storage; BL_ERR_NOMEM on overflow, BL_ERR_INTERNAL for a blocked layout of a shape without 4 dims. */
int bl_layout_bytes(const bl_layout *layout, const bl_shape *shape, bl_dtype dtype, size_t *out_b, bl_error *err);
/* Copies float data between plain and blocked (or equal) layouts; padding is written as zero. */
int bl_layout_copy_f32(const bl_shape *shape, const bl_layout *from, const float *src, const bl_layout *to, float *dst,
                       bl_error *err);

#endif
