#include "backend/cpu/dnnl_adapter.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#if DNNL_VERSION_MAJOR != 2
#error "this adapter speaks oneDNN 2.x; 3.x wants an adapter of its own"
#endif

#define ALIGN_B 64

struct bl_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

struct bl_dnnl_conv {
    bl_dnnl *dnnl;
    bl_dnnl_conv_kind kind;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive, reorder; /* reorder NULL: the weights are used as they are */
    dnnl_memory_t x, y, weights, plain, bias, scratchpad;
    size_t scratchpad_b, weights_b; /* weights_b 0 without a reorder */
    void *kept;
    const char *implementation;
};

static int fail(dnnl_status_t status, const char *doing, bl_error *err)
{
    if (status == dnnl_out_of_memory)
        return BL_FAIL(err, BL_ERR_NOMEM, "oneDNN: no memory for %s", doing);
    return BL_FAIL(err, BL_ERR_INTERNAL, "oneDNN: %s failed (%s)", doing,
                   status == dnnl_unimplemented ? "not implemented" : "bad arguments or run-time error");
}

int bl_dnnl_open(bl_dnnl **out, bl_error *err)
{
    bl_dnnl *dnnl = bl_calloc(1, sizeof *dnnl);
    if (!dnnl)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for oneDNN");
    dnnl_status_t status = dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        bl_dnnl_close(dnnl);
        return fail(status, "opening", err);
    }
    *out = dnnl;
    return BL_OK;
}

void bl_dnnl_close(bl_dnnl *dnnl)
{
    if (dnnl && dnnl->stream)
        dnnl_stream_destroy(dnnl->stream);
    if (dnnl && dnnl->engine)
        dnnl_engine_destroy(dnnl->engine);
    free(dnnl);
}

const char *bl_dnnl_version(void)
{
    static char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

static dnnl_status_t image_md(dnnl_memory_desc_t *md, int n, int c, int h, int w, int block)
{
    dnnl_dims_t dims = {n, c, h, w};
    dnnl_format_tag_t tag = block == 16  ? dnnl_nChw16c
                            : block == 8 ? dnnl_nChw8c
                            : block == 0 ? dnnl_nchw
                                         : dnnl_format_tag_any;
    return dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, tag);
}

static dnnl_status_t weights_md(dnnl_memory_desc_t *md, const bl_dnnl_conv_desc *d, bool plain)
{
    if (d->groups == 1) {
        dnnl_dims_t dims = {d->o, d->c, d->kernel[0], d->kernel[1]};
        return dnnl_memory_desc_init_by_tag(md, 4, dims, dnnl_f32, plain ? dnnl_oihw : dnnl_format_tag_any);
    }
    dnnl_dims_t dims = {d->groups, d->o / d->groups, d->c / d->groups, d->kernel[0], d->kernel[1]};
    return dnnl_memory_desc_init_by_tag(md, 5, dims, dnnl_f32, plain ? dnnl_goihw : dnnl_format_tag_any);
}

/* What all three kinds are described by; `any_block`: leave the images' layout to oneDNN. */
typedef struct conv_mds {
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t stride, dilation, pad_before, pad_after;
} conv_mds;

static dnnl_status_t describe(const bl_dnnl_conv_desc *d, int block, conv_mds *m)
{
    dnnl_dims_t bias_dims = {d->o};
    int in[2] = {d->h, d->w}, out[2] = {d->oh, d->ow};
    for (int a = 0; a < 2; a++) {
        m->stride[a] = d->stride[a];
        m->dilation[a] = d->dilation[a] - 1;
        m->pad_before[a] = d->pad[a];
        /* What the output really reaches: less than pad where the stride leaves a rest. */
        m->pad_after[a] = (out[a] - 1) * d->stride[a] + d->dilation[a] * (d->kernel[a] - 1) + 1 - in[a] - d->pad[a];
    }
    dnnl_status_t status = image_md(&m->x, d->n, d->c, d->h, d->w, d->plain_x ? 0 : block);
    if (status == dnnl_success)
        status = image_md(&m->y, d->n, d->o, d->oh, d->ow, block);
    if (status == dnnl_success)
        status = weights_md(&m->w, d, false);
    if (status == dnnl_success)
        status = dnnl_memory_desc_init_by_tag(&m->b, 1, bias_dims, dnnl_f32, dnnl_a);
    return status;
}

static dnnl_status_t make_desc(bl_dnnl *dnnl, const bl_dnnl_conv_desc *d, int block, bl_dnnl_conv_kind kind,
                               dnnl_primitive_desc_t *out)
{
    conv_mds m;
    dnnl_convolution_desc_t forward, backward;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = describe(d, block, &m);
    dnnl_memory_desc_t *bias = d->bias ? &m.b : NULL;
    if (status == dnnl_success)
        status = dnnl_primitive_attr_create(&attr);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                            &m.x, &m.w, bias, &m.y, m.stride, m.dilation, m.pad_before,
                                                            m.pad_after);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(kind == BL_DNNL_FORWARD ? out : &hint, &forward, attr, dnnl->engine, NULL);
    if (status == dnnl_success && kind == BL_DNNL_GRAD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &m.x, &m.w, &m.y,
                                                                  m.stride, m.dilation, m.pad_before, m.pad_after);
    if (status == dnnl_success && kind == BL_DNNL_GRAD_WEIGHTS)
        status =
            dnnl_dilated_convolution_backward_weights_desc_init(&backward, dnnl_convolution_direct, &m.x, &m.w, bias,
                                                                &m.y, m.stride, m.dilation, m.pad_before, m.pad_after);
    if (status == dnnl_success && kind != BL_DNNL_FORWARD)
        status = dnnl_primitive_desc_create(out, &backward, attr, dnnl->engine, hint);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return status;
}

int bl_dnnl_preferred_block(bl_dnnl *dnnl)
{
    bl_dnnl_conv_desc d = {.n = 2,
                           .c = 64,
                           .h = 28,
                           .w = 28,
                           .o = 64,
                           .oh = 28,
                           .ow = 28,
                           .kernel = {3, 3},
                           .stride = {1, 1},
                           .pad = {1, 1},
                           .dilation = {1, 1},
                           .groups = 1};
    dnnl_primitive_desc_t desc = NULL;
    int block = 8;
    if (make_desc(dnnl, &d, -1, BL_DNNL_FORWARD, &desc) != dnnl_success)
        return block;
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    if (md && md->format_desc.blocking.inner_nblks == 1 && md->format_desc.blocking.inner_blks[0] == 16)
        block = 16;
    dnnl_primitive_desc_destroy(desc);
    return block;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN_B - 1) / ALIGN_B * ALIGN_B;
}

static dnnl_status_t make_memory(const bl_dnnl_conv *conv, const dnnl_memory_desc_t *md, dnnl_memory_t *out)
{
    return dnnl_memory_create(out, md, conv->dnnl->engine, DNNL_MEMORY_NONE);
}

/* Plain weights to those of the primitive, or plain gradients from these. */
static dnnl_status_t make_reorder(bl_dnnl_conv *conv, const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *own)
{
    dnnl_primitive_desc_t desc = NULL;
    bool from_own = conv->kind == BL_DNNL_GRAD_WEIGHTS;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, from_own ? own : plain, conv->dnnl->engine,
                                                              from_own ? plain : own, conv->dnnl->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&conv->reorder, desc);
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    return status;
}

static dnnl_status_t make_memories(bl_dnnl_conv *conv, const bl_dnnl_conv_desc *d)
{
    bool grad_data = conv->kind == BL_DNNL_GRAD_DATA, grad_weights = conv->kind == BL_DNNL_GRAD_WEIGHTS;
    dnnl_memory_desc_t plain;
    const dnnl_memory_desc_t *x =
        dnnl_primitive_desc_query_md(conv->desc, grad_data ? dnnl_query_diff_src_md : dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *y = dnnl_primitive_desc_query_md(
        conv->desc, grad_data || grad_weights ? dnnl_query_diff_dst_md : dnnl_query_dst_md, 0);
    dnnl_query_t weights_query = grad_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    const dnnl_memory_desc_t *weights = dnnl_primitive_desc_query_md(conv->desc, weights_query, 0);
    const dnnl_memory_desc_t *scratchpad = dnnl_primitive_desc_query_md(conv->desc, dnnl_query_scratchpad_md, 0);
    dnnl_status_t status = weights_md(&plain, d, true);
    if (status == dnnl_success)
        status = make_memory(conv, x, &conv->x);
    if (status == dnnl_success)
        status = make_memory(conv, y, &conv->y);
    if (status == dnnl_success)
        status = make_memory(conv, weights, &conv->weights);
    if (status == dnnl_success)
        status = make_memory(conv, &plain, &conv->plain);
    if (status == dnnl_success)
        status = make_memory(conv, scratchpad, &conv->scratchpad);
    if (status == dnnl_success && d->bias && !grad_data)
        status = make_memory(conv, dnnl_primitive_desc_query_md(conv->desc, weights_query, 1), &conv->bias);
    if (status == dnnl_success && !dnnl_memory_desc_equal(&plain, weights)) {
        conv->weights_b = aligned(dnnl_memory_desc_get_size(weights));
        status = make_reorder(conv, &plain, weights);
    }
    conv->scratchpad_b = aligned(dnnl_memory_desc_get_size(scratchpad));
    return status;
}

int bl_dnnl_conv_new(bl_dnnl *dnnl, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind, bool keep_weights,
                     bl_dnnl_conv **out, bl_error *err)
{
    bl_dnnl_conv *conv = bl_calloc(1, sizeof *conv);
    if (!conv)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a convolution");
    conv->dnnl = dnnl;
    conv->kind = kind;
    dnnl_status_t status = make_desc(dnnl, desc, desc->block, kind, &conv->desc);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&conv->primitive, conv->desc);
    if (status == dnnl_success)
        status = make_memories(conv, desc);
    if (status == dnnl_success &&
        dnnl_primitive_desc_query(conv->desc, dnnl_query_impl_info_str, 0, &conv->implementation) != dnnl_success)
        conv->implementation = "oneDNN";
    if (status == dnnl_success && keep_weights && conv->weights_b > 0 && kind != BL_DNNL_GRAD_WEIGHTS) {
        conv->kept = bl_aligned_alloc(ALIGN_B, conv->weights_b);
        status = conv->kept ? dnnl_success : dnnl_out_of_memory;
    }
    if (status != dnnl_success) {
        bl_dnnl_conv_free(conv);
        return fail(status, "making a convolution", err);
    }
    *out = conv;
    return BL_OK;
}

void bl_dnnl_conv_free(bl_dnnl_conv *conv)
{
    if (!conv)
        return;
    dnnl_memory_t memories[] = {conv->x, conv->y, conv->weights, conv->plain, conv->bias, conv->scratchpad};
    for (size_t i = 0; i < BL_ARRAY_LEN(memories); i++)
        if (memories[i])
            dnnl_memory_destroy(memories[i]);
    if (conv->reorder)
        dnnl_primitive_destroy(conv->reorder);
    if (conv->primitive)
        dnnl_primitive_destroy(conv->primitive);
    if (conv->desc)
        dnnl_primitive_desc_destroy(conv->desc);
    free(conv->kept);
    free(conv);
}

size_t bl_dnnl_conv_scratch_b(const bl_dnnl_conv *conv)
{
    return conv->scratchpad_b + (conv->kept ? 0 : conv->weights_b);
}

size_t bl_dnnl_conv_kept_b(const bl_dnnl_conv *conv)
{
    return conv->kept ? conv->weights_b : 0;
}

const char *bl_dnnl_conv_implementation(const bl_dnnl_conv *conv)
{
    return conv->implementation;
}

/* oneDNN's handles are not const; it writes only to what a primitive puts out. */
static void point(dnnl_memory_t memory, const void *data)
{
    if (memory)
        dnnl_memory_set_data_handle(memory, (void *)data);
}

static dnnl_status_t run_reorder(bl_dnnl_conv *conv, dnnl_memory_t from, dnnl_memory_t to)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(conv->reorder, conv->dnnl->stream, 2, args);
}

/* Points the primitive's weights at the plain ones, or at reordered ones. */
static dnnl_status_t place_weights(bl_dnnl_conv *conv, const float *plain, void *scratch, bool changed)
{
    if (!conv->reorder) {
        point(conv->weights, plain);
        return dnnl_success;
    }
    point(conv->plain, plain);
    point(conv->weights, conv->kept ? conv->kept : (char *)scratch + conv->scratchpad_b);
    if (conv->kept && !changed)
        return dnnl_success;
    return run_reorder(conv, conv->plain, conv->weights);
}

static int execute(bl_dnnl_conv *conv, const dnnl_exec_arg_t *args, int n, bl_error *err)
{
    dnnl_status_t status = dnnl_primitive_execute(conv->primitive, conv->dnnl->stream, n, args);
    if (status == dnnl_success)
        status = dnnl_stream_wait(conv->dnnl->stream);
    return status == dnnl_success ? BL_OK : fail(status, "a convolution", err);
}

int bl_dnnl_conv_forward(bl_dnnl_conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch,
                         bool weights_changed, bl_error *err)
{
    dnnl_status_t status = place_weights(conv, w, scratch, weights_changed);
    if (status != dnnl_success)
        return fail(status, "reordering weights", err);
    point(conv->x, x);
    point(conv->y, y);
    point(conv->bias, bias);
    point(conv->scratchpad, scratch);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, conv->x},
                              {DNNL_ARG_WEIGHTS, conv->weights},
                              {DNNL_ARG_DST, conv->y},
                              {DNNL_ARG_SCRATCHPAD, conv->scratchpad},
                              {DNNL_ARG_BIAS, conv->bias}};
    return execute(conv, args, conv->bias ? 5 : 4, err);
}

int bl_dnnl_conv_grad_data(bl_dnnl_conv *conv, const float *dy, const float *w, float *dx, void *scratch, bl_error *err)
{
    dnnl_status_t status = place_weights(conv, w, scratch, true);
    if (status != dnnl_success)
        return fail(status, "reordering weights", err);
    point(conv->x, dx);
    point(conv->y, dy);
    point(conv->scratchpad, scratch);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_SRC, conv->x},
                              {DNNL_ARG_WEIGHTS, conv->weights},
                              {DNNL_ARG_DIFF_DST, conv->y},
                              {DNNL_ARG_SCRATCHPAD, conv->scratchpad}};
    return execute(conv, args, 4, err);
}

int bl_dnnl_conv_grad_weights(bl_dnnl_conv *conv, const float *x, const float *dy, float *dw, float *dbias,
                              void *scratch, bl_error *err)
{
    point(conv->x, x);
    point(conv->y, dy);
    point(conv->bias, dbias);
    point(conv->scratchpad, scratch);
    point(conv->weights, conv->reorder ? (char *)scratch + conv->scratchpad_b : (void *)dw);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, conv->x},
                              {DNNL_ARG_DIFF_WEIGHTS, conv->weights},
                              {DNNL_ARG_DIFF_DST, conv->y},
                              {DNNL_ARG_SCRATCHPAD, conv->scratchpad},
                              {DNNL_ARG_DIFF_BIAS, conv->bias}};
    int code = execute(conv, args, conv->bias ? 5 : 4, err);
    if (code != BL_OK || !conv->reorder)
        return code;
    point(conv->plain, dw);
    dnnl_status_t status = run_reorder(conv, conv->weights, conv->plain);
    return status == dnnl_success ? BL_OK : fail(status, "reordering gradients", err);
}

int bl_dnnl_gemm(bool turn_a, bool turn_b, int m, int n, int k, const float *a, const float *b, float *c, bl_error *err)
{
    dnnl_status_t status = dnnl_sgemm(turn_a ? 'T' : 'N', turn_b ? 'T' : 'N', m, n, k, 1.0f, a, turn_a ? m : k, b,
                                      turn_b ? k : n, 0.0f, c, n);
    return status == dnnl_success ? BL_OK : fail(status, "a matrix product", err);
}
