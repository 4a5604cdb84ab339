#include "tensor/layout.h"

#include <string.h>

bool bl_layout_equal(const bl_layout *a, const bl_layout *b)
{
    return a->kind == b->kind && (a->kind != BL_LAYOUT_BLOCKED || a->block == b->block) &&
           (a->kind != BL_LAYOUT_OPAQUE || a->opaque_b == b->opaque_b);
}

int64_t bl_layout_padded_c(const bl_layout *layout, int64_t c)
{
    return layout->kind == BL_LAYOUT_BLOCKED ? (c + layout->block - 1) / layout->block * layout->block : c;
}

int bl_layout_bytes(const bl_layout *layout, const bl_shape *shape, bl_dtype dtype, size_t *out_b, bl_error *err)
{
    char text[128];
    if (layout->kind == BL_LAYOUT_OPAQUE) {
        *out_b = layout->opaque_b;
        return BL_OK;
    }
    if (layout->kind == BL_LAYOUT_BLOCKED && (shape->n_dims != 4 || layout->block < 1))
        return BL_FAIL(err, BL_ERR_INTERNAL, "a blocked layout of shape %s", bl_shape_format(shape, text, sizeof text));
    size_t bytes = bl_dtype_size(dtype);
    bool fits = true;
    for (int i = 0; i < shape->n_dims; i++) {
        int64_t extent = i == 1 ? bl_layout_padded_c(layout, shape->dim[i]) : shape->dim[i];
        fits = fits && bl_size_mul(bytes, (size_t)extent, &bytes);
    }
    if (!fits || bytes > PTRDIFF_MAX)
        return BL_FAIL(err, BL_ERR_NOMEM, "shape %s is too large for this machine",
                       bl_shape_format(shape, text, sizeof text));
    *out_b = bytes;
    return BL_OK;
}

/* Index of element (n, c, pixel) of an image tensor. */
static size_t element_at(const bl_layout *layout, size_t channels, size_t pixels, size_t n, size_t c, size_t pixel)
{
    if (layout->kind == BL_LAYOUT_PLAIN)
        return (n * channels + c) * pixels + pixel;
    size_t block = (size_t)layout->block, blocks = (channels + block - 1) / block;
    return ((n * blocks + c / block) * pixels + pixel) * block + c % block;
}

int bl_layout_copy_f32(const bl_shape *shape, const bl_layout *from, const float *src, const bl_layout *to, float *dst,
                       bl_error *err)
{
    size_t bytes;
    int code = bl_layout_bytes(to, shape, BL_F32, &bytes, err);
    if (code != BL_OK)
        return code;
    if (bl_layout_equal(from, to)) {
        memmove(dst, src, bytes);
        return BL_OK;
    }
    if (from->kind == BL_LAYOUT_OPAQUE || to->kind == BL_LAYOUT_OPAQUE || shape->n_dims != 4)
        return BL_FAIL(err, BL_ERR_INTERNAL, "no copy between these layouts");
    memset(dst, 0, bytes);
    size_t channels = (size_t)shape->dim[1], pixels = (size_t)(shape->dim[2] * shape->dim[3]);
    for (size_t n = 0; n < (size_t)shape->dim[0]; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t p = 0; p < pixels; p++)
                dst[element_at(to, channels, pixels, n, c, p)] = src[element_at(from, channels, pixels, n, c, p)];
    return BL_OK;
}
