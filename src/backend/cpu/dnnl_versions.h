/* What differs between the major versions of oneDNN: descriptors of tensors and of convolutions. Of use for
 * dnnl_conv.c alone. */
#ifndef BL_BACKEND_CPU_DNNL_VERSIONS_H
#define BL_BACKEND_CPU_DNNL_VERSIONS_H

#include <dnnl.h>

#include "backend/cpu/dnnl_adapter.h"

/* Descriptors of a convolution's tensors. `any`: oneDNN may choose the filters' layout. */
typedef struct tensors {
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t x, w, bias, y;
#else
    dnnl_memory_desc_t x_desc, w_desc, bias_desc, y_desc;
    dnnl_memory_desc_t *x, *w, *bias, *y;
#endif
} tensors;

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t desc_ref;

static void clear_tensors(tensors *t)
{
    dnnl_memory_desc_destroy(t->x);
    dnnl_memory_desc_destroy(t->w);
    dnnl_memory_desc_destroy(t->bias);
    dnnl_memory_desc_destroy(t->y);
}

static dnnl_status_t make_desc(dnnl_memory_desc_t *out, int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                               dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(out, n_dims, dims, type, tag);
}

#define DESC(tensors, name) (&(tensors)->name)

static dnnl_status_t append_sum(dnnl_post_ops_t post_ops)
{
    return dnnl_post_ops_append_sum(post_ops, 1, 0, dnnl_data_type_undef);
}

static size_t inner_block(desc_ref desc)
{
    int n = 0;
    dnnl_dims_t blocks, axes;
    if (dnnl_memory_desc_query(desc, dnnl_query_inner_nblks_s32, &n) != dnnl_success || n != 1 ||
        dnnl_memory_desc_query(desc, dnnl_query_inner_blks, &blocks) != dnnl_success ||
        dnnl_memory_desc_query(desc, dnnl_query_inner_idxs, &axes) != dnnl_success || axes[0] != 1)
        return 0;
    return (size_t)blocks[0];
}
#else
typedef const dnnl_memory_desc_t *desc_ref;

static void clear_tensors(tensors *t)
{
}

static dnnl_status_t make_desc(dnnl_memory_desc_t *out, int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                               dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(out, n_dims, dims, type, tag);
}

#define DESC(tensors, name) ((tensors)->name = &(tensors)->name##_desc)

static dnnl_status_t append_sum(dnnl_post_ops_t post_ops)
{
    return dnnl_post_ops_append_sum(post_ops, 1);
}

static size_t inner_block(desc_ref desc)
{
    const dnnl_blocking_desc_t *b = &desc->format_desc.blocking;
    return desc->format_kind == dnnl_blocked && b->inner_nblks == 1 && b->inner_idxs[0] == 1 ? (size_t)b->inner_blks[0]
                                                                                             : 0;
}
#endif

typedef struct strides {
    dnnl_dims_t stride, dilate, pad, pad_end;
} strides;

static strides strides_of(const bl_dnnl_conv_desc *d)
{
    strides s = {0};
    const int64_t in[2] = {d->h, d->w}, out[2] = {d->oh, d->ow};
    for (int axis = 0; axis < 2; axis++) {
        s.stride[axis] = d->stride[axis];
        s.dilate[axis] = d->dilation[axis] - 1;
        s.pad[axis] = d->pad[axis];
        /* What the last window reaches past the image; negative where some rows are never read. */
        s.pad_end[axis] =
            (out[axis] - 1) * d->stride[axis] + (d->kernel[axis] - 1) * d->dilation[axis] + 1 - in[axis] - d->pad[axis];
    }
    return s;
}

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t make_conv_desc(dnnl_engine_t engine, const bl_dnnl_conv_desc *d, bl_dnnl_conv_kind kind,
                                    const tensors *t, const_dnnl_primitive_desc_t hint,
                                    const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    strides s = strides_of(d);
    desc_ref bias = d->bias ? t->bias : NULL;
    switch (kind) {
    case BL_DNNL_FORWARD:
        return dnnl_convolution_forward_primitive_desc_create(out, engine, dnnl_forward_training,
                                                              dnnl_convolution_direct, t->x, t->w, bias, t->y, s.stride,
                                                              s.dilate, s.pad, s.pad_end, attr);
    case BL_DNNL_GRAD_DATA:
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, engine, dnnl_convolution_direct, t->x, t->w, t->y, s.stride, s.dilate, s.pad, s.pad_end, hint, attr);
    default:
        return dnnl_convolution_backward_weights_primitive_desc_create(out, engine, dnnl_convolution_direct, t->x, t->w,
                                                                       bias, t->y, s.stride, s.dilate, s.pad, s.pad_end,
                                                                       hint, attr);
    }
}
#else
static dnnl_status_t make_conv_desc(dnnl_engine_t engine, const bl_dnnl_conv_desc *d, bl_dnnl_conv_kind kind,
                                    const tensors *t, const_dnnl_primitive_desc_t hint,
                                    const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    strides s = strides_of(d);
    desc_ref bias = d->bias ? t->bias : NULL;
    dnnl_convolution_desc_t conv;
    dnnl_status_t status;
    switch (kind) {
    case BL_DNNL_FORWARD:
        status = dnnl_dilated_convolution_forward_desc_init(&conv, dnnl_forward_training, dnnl_convolution_direct, t->x,
                                                            t->w, bias, t->y, s.stride, s.dilate, s.pad, s.pad_end);
        break;
    case BL_DNNL_GRAD_DATA:
        status = dnnl_dilated_convolution_backward_data_desc_init(&conv, dnnl_convolution_direct, t->x, t->w, t->y,
                                                                  s.stride, s.dilate, s.pad, s.pad_end);
        break;
    default:
        status = dnnl_dilated_convolution_backward_weights_desc_init(&conv, dnnl_convolution_direct, t->x, t->w, bias,
                                                                     t->y, s.stride, s.dilate, s.pad, s.pad_end);
        break;
    }
    return status == dnnl_success ? dnnl_primitive_desc_create(out, &conv, attr, engine, hint) : status;
}
#endif

#endif
