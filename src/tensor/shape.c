#include "tensor/shape.h"

#include <stdint.h>
#include <stdio.h>

bool bl_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool bl_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

int bl_shape_check(const bl_shape *shape, bl_error *err)
{
    int64_t count = 1;
    char text[128];
    if (shape->n_dims < 0 || shape->n_dims > BL_MAX_DIMS)
        return BL_FAIL(err, BL_ERR_INTERNAL, "a shape with %d dimensions", shape->n_dims);
    for (int i = 0; i < shape->n_dims; i++) {
        if (shape->dim[i] < 1)
            return BL_FAIL(err, BL_ERR_INTERNAL, "shape %s: every extent must be at least 1",
                           bl_shape_format(shape, text, sizeof text));
        if (__builtin_mul_overflow(count, shape->dim[i], &count) || count > PTRDIFF_MAX / 8)
            return BL_FAIL(err, BL_ERR_NOMEM, "shape %s is too large for this machine",
                           bl_shape_format(shape, text, sizeof text));
    }
    return BL_OK;
}

int64_t bl_shape_count(const bl_shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->n_dims; i++)
        count *= shape->dim[i];
    return count;
}

bool bl_shape_equal(const bl_shape *a, const bl_shape *b)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *bl_shape_format(const bl_shape *shape, char *out, size_t out_size)
{
    size_t len = (size_t)snprintf(out, out_size, "(");
    for (int i = 0; i < shape->n_dims && len < out_size; i++)
        len += (size_t)snprintf(out + len, out_size - len, "%s%lld", i ? ", " : "", (long long)shape->dim[i]);
    if (len < out_size)
        snprintf(out + len, out_size - len, ")");
    return out;
}
