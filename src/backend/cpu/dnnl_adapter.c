#include "backend/cpu/dnnl_adapter.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_versions.h"
#include "base/alloc.h"
#include "tensor/layout.h"

struct bl_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

/* An argument of a primitive: its memory object, made once, and the address that it points to now. */
typedef struct argument {
    dnnl_memory_t memory;
    const void *at;
} argument;

enum { SRC, FILTERS, BIAS, DST, SCRATCH, N_ARGUMENTS };

struct bl_dnnl_conv {
    bl_dnnl *dnnl;
    bl_dnnl_conv_kind kind;
    dnnl_primitive_t primitive, reorder; /* reorder: of the filters; NULL where plain ones do */
    argument arguments[N_ARGUMENTS];
    argument plain, reorder_scratch;
    size_t scratch_b, reorder_scratch_b, filters_b; /* filters_b: 0 without a reorder */
    bool keep;
    float *kept; /* made at the first run, so that a plan takes no memory */
    const char *impl;
};

static int check(dnnl_status_t status, const char *what, bl_error *err)
{
    if (status == dnnl_success)
        return BL_OK;
    if (status == dnnl_out_of_memory)
        return BL_FAIL(err, BL_ERR_NOMEM, "oneDNN has no memory to %s", what);
    return BL_FAIL(err, BL_ERR_INTERNAL, "oneDNN could not %s (status %d)", what, (int)status);
}

static dnnl_format_tag_t image_tag(int block)
{
    return block == 16 ? dnnl_nChw16c : block == 8 ? dnnl_nChw8c : dnnl_nchw;
}

int bl_dnnl_open(bl_dnnl **out, bl_error *err)
{
    bl_dnnl *dnnl = bl_calloc(1, sizeof *dnnl);
    if (!dnnl)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for oneDNN");
    int code = check(dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0), "start", err);
    if (code == BL_OK)
        code = check(dnnl_stream_create(&dnnl->stream, dnnl->engine, dnnl_stream_default_flags), "start", err);
    if (code != BL_OK) {
        bl_dnnl_close(dnnl);
        return code;
    }
    *out = dnnl;
    return BL_OK;
}

void bl_dnnl_close(bl_dnnl *dnnl)
{
    if (!dnnl)
        return;
    if (dnnl->stream)
        dnnl_stream_destroy(dnnl->stream);
    if (dnnl->engine)
        dnnl_engine_destroy(dnnl->engine);
    free(dnnl);
}

const char *bl_dnnl_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static dnnl_status_t describe(const bl_dnnl_conv_desc *d, bool any, tensors *t)
{
    const dnnl_format_tag_t x_tag = any ? dnnl_format_tag_any : image_tag(d->plain_x ? 0 : d->block);
    const dnnl_format_tag_t y_tag = any ? dnnl_format_tag_any : image_tag(d->block);
    const dnnl_dims_t x = {d->n, d->c, d->h, d->w}, y = {d->n, d->o, d->oh, d->ow}, bias = {d->o};
    const dnnl_dims_t w = {d->o, d->c, d->kernel[0], d->kernel[1]};
    const dnnl_dims_t grouped = {d->groups, d->o / d->groups, d->c / d->groups, d->kernel[0], d->kernel[1]};
    bool groups = d->groups > 1;
    dnnl_status_t status = make_desc(DESC(t, x), 4, x, x_tag);
    if (status == dnnl_success)
        status = make_desc(DESC(t, y), 4, y, y_tag);
    if (status == dnnl_success)
        status = make_desc(DESC(t, w), groups ? 5 : 4, groups ? grouped : w, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = make_desc(DESC(t, bias), 1, bias, dnnl_a);
    return status;
}

int bl_dnnl_preferred_block(bl_dnnl *dnnl)
{
    const bl_dnnl_conv_desc typical = {.n = 1,
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
    tensors t = {0};
    dnnl_primitive_desc_t conv = NULL;
    size_t block = 0;
    if (describe(&typical, true, &t) == dnnl_success &&
        make_conv_desc(dnnl->engine, &typical, BL_DNNL_FORWARD, &t, NULL, NULL, &conv) == dnnl_success) {
        block = inner_block(dnnl_primitive_desc_query_md(conv, dnnl_query_dst_md, 0));
        dnnl_primitive_desc_destroy(conv);
    }
    clear_tensors(&t);
    return block == 16 ? 16 : 8;
}

static int make_argument(bl_dnnl *dnnl, desc_ref desc, argument *out, bl_error *err)
{
    return check(dnnl_memory_create(&out->memory, desc, dnnl->engine, DNNL_MEMORY_NONE), "describe memory", err);
}

static dnnl_memory_t point(argument *a, const void *at)
{
    if (a->memory && a->at != at)
        dnnl_memory_set_data_handle(a->memory, (void *)at);
    a->at = at;
    return a->memory;
}

static dnnl_query_t filters_query(bl_dnnl_conv_kind kind)
{
    return kind == BL_DNNL_GRAD_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
}

/* The reorder between plain filters and those that the convolution wants, where these differ. */
static int make_reorder(bl_dnnl_conv *conv, const bl_dnnl_conv_desc *d, dnnl_primitive_desc_t pd,
                        const_dnnl_primitive_attr_t attr, bl_error *err)
{
    tensors plain = {0};
    const dnnl_dims_t w = {d->o, d->c, d->kernel[0], d->kernel[1]};
    const dnnl_dims_t grouped = {d->groups, d->o / d->groups, d->c / d->groups, d->kernel[0], d->kernel[1]};
    bool groups = d->groups > 1;
    int code = check(make_desc(DESC(&plain, w), groups ? 5 : 4, groups ? grouped : w, groups ? dnnl_goihw : dnnl_oihw),
                     "describe filters", err);
    desc_ref chosen = dnnl_primitive_desc_query_md(pd, filters_query(conv->kind), 0);
    if (code == BL_OK && !dnnl_memory_desc_equal(plain.w, chosen)) {
        bool out = conv->kind == BL_DNNL_GRAD_WEIGHTS;
        dnnl_primitive_desc_t reorder = NULL;
        code = check(dnnl_reorder_primitive_desc_create(&reorder, out ? chosen : plain.w, conv->dnnl->engine,
                                                        out ? plain.w : chosen, conv->dnnl->engine, attr),
                     "reorder filters", err);
        if (code == BL_OK)
            code = check(dnnl_primitive_create(&conv->reorder, reorder), "reorder filters", err);
        if (code == BL_OK) {
            desc_ref scratch = dnnl_primitive_desc_query_md(reorder, dnnl_query_scratchpad_md, 0);
            conv->reorder_scratch_b = dnnl_memory_desc_get_size(scratch);
            code = make_argument(conv->dnnl, scratch, &conv->reorder_scratch, err);
        }
        if (code == BL_OK)
            code = make_argument(conv->dnnl, plain.w, &conv->plain, err);
        conv->filters_b = dnnl_memory_desc_get_size(chosen);
        if (reorder)
            dnnl_primitive_desc_destroy(reorder);
    }
    clear_tensors(&plain);
    return code;
}

static int make_arguments(bl_dnnl_conv *conv, const bl_dnnl_conv_desc *d, dnnl_primitive_desc_t pd, bl_error *err)
{
    static const dnnl_query_t sources[] = {dnnl_query_src_md, dnnl_query_diff_dst_md, dnnl_query_src_md};
    static const dnnl_query_t results[] = {dnnl_query_dst_md, dnnl_query_diff_src_md, dnnl_query_diff_dst_md};
    const struct {
        int at;
        dnnl_query_t query;
        int index;
        bool wanted;
    } all[] = {
        {SRC, sources[conv->kind], 0, true},
        {DST, results[conv->kind], 0, true},
        {FILTERS, filters_query(conv->kind), 0, true},
        {BIAS, filters_query(conv->kind), 1, d->bias && conv->kind != BL_DNNL_GRAD_DATA},
        {SCRATCH, dnnl_query_scratchpad_md, 0, true},
    };
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(all); i++)
        if (all[i].wanted)
            code = make_argument(conv->dnnl, dnnl_primitive_desc_query_md(pd, all[i].query, all[i].index),
                                 &conv->arguments[all[i].at], err);
    conv->scratch_b = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
    return code;
}

static int make_primitive(bl_dnnl_conv *conv, const bl_dnnl_conv_desc *d, const tensors *t, bl_error *err)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    int code = check(dnnl_primitive_attr_create(&attr), "make a convolution", err);
    if (code == BL_OK)
        code =
            check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "make a convolution", err);
    if (code == BL_OK && conv->kind != BL_DNNL_FORWARD)
        code = check(make_conv_desc(conv->dnnl->engine, d, BL_DNNL_FORWARD, t, NULL, attr, &hint), "make a convolution",
                     err);
    if (code == BL_OK)
        code = check(make_conv_desc(conv->dnnl->engine, d, conv->kind, t, hint, attr, &pd), "make a convolution", err);
    if (code == BL_OK)
        code = check(dnnl_primitive_create(&conv->primitive, pd), "make a convolution", err);
    if (code == BL_OK)
        code = make_arguments(conv, d, pd, err);
    if (code == BL_OK)
        code = make_reorder(conv, d, pd, attr, err);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return code;
}

int bl_dnnl_conv_new(bl_dnnl *dnnl, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind, bool keep_weights,
                     bl_dnnl_conv **out, bl_error *err)
{
    bl_dnnl_conv *conv = bl_calloc(1, sizeof *conv);
    if (!conv)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a convolution");
    conv->dnnl = dnnl;
    conv->kind = kind;
    tensors t = {0};
    int code = check(describe(desc, false, &t), "describe a convolution", err);
    if (code == BL_OK)
        code = make_primitive(conv, desc, &t, err);
    clear_tensors(&t);
    if (code != BL_OK) {
        bl_dnnl_conv_free(conv);
        return code;
    }
    conv->keep = keep_weights && conv->reorder && kind != BL_DNNL_GRAD_WEIGHTS;
    const_dnnl_primitive_desc_t pd = NULL;
    if (dnnl_primitive_get_primitive_desc(conv->primitive, &pd) != dnnl_success ||
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &conv->impl) != dnnl_success)
        conv->impl = "oneDNN";
    *out = conv;
    return BL_OK;
}

static void clear_argument(argument *a)
{
    if (a->memory)
        dnnl_memory_destroy(a->memory);
}

void bl_dnnl_conv_free(bl_dnnl_conv *conv)
{
    if (!conv)
        return;
    for (int i = 0; i < N_ARGUMENTS; i++)
        clear_argument(&conv->arguments[i]);
    clear_argument(&conv->plain);
    clear_argument(&conv->reorder_scratch);
    if (conv->primitive)
        dnnl_primitive_destroy(conv->primitive);
    if (conv->reorder)
        dnnl_primitive_destroy(conv->reorder);
    free(conv->kept);
    free(conv);
}

const char *bl_dnnl_conv_implementation(const bl_dnnl_conv *conv)
{
    return conv->impl;
}

static size_t aligned(size_t bytes)
{
    return (bytes + BL_ALIGN_B - 1) / BL_ALIGN_B * BL_ALIGN_B;
}

/* Filters in oneDNN's form that live for one run lie before the scratchpads. */
static size_t passing_filters_b(const bl_dnnl_conv *conv)
{
    return conv->keep ? 0 : aligned(conv->filters_b);
}

size_t bl_dnnl_conv_scratch_b(const bl_dnnl_conv *conv)
{
    size_t pad = conv->scratch_b > conv->reorder_scratch_b ? conv->scratch_b : conv->reorder_scratch_b;
    return passing_filters_b(conv) + pad;
}

size_t bl_dnnl_conv_kept_b(const bl_dnnl_conv *conv)
{
    return conv->keep ? conv->filters_b : 0;
}

static int reorder(bl_dnnl_conv *conv, dnnl_memory_t from, dnnl_memory_t to, void *pad, bl_error *err)
{
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, point(&conv->reorder_scratch, pad)}};
    return check(dnnl_primitive_execute(conv->reorder, conv->dnnl->stream, BL_ARRAY_LEN(args), args), "reorder filters",
                 err);
}

/* Points the primitive's filters at the plain ones, or at what they are reordered to. */
static int place_filters(bl_dnnl_conv *conv, const float *plain, void *scratch, void *pad, bool changed, bl_error *err)
{
    argument *filters = &conv->arguments[FILTERS];
    if (!conv->reorder) {
        point(filters, plain);
        return BL_OK;
    }
    bool fresh = conv->kept && !changed;
    if (conv->keep && !conv->kept && !(conv->kept = bl_aligned_alloc(BL_ALIGN_B, aligned(conv->filters_b))))
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu bytes of filters", conv->filters_b);
    point(filters, conv->keep ? (void *)conv->kept : scratch);
    return fresh ? BL_OK : reorder(conv, point(&conv->plain, plain), filters->memory, pad, err);
}

static int execute(bl_dnnl_conv *conv, const dnnl_exec_arg_t *args, int n, bl_error *err)
{
    int code = check(dnnl_primitive_execute(conv->primitive, conv->dnnl->stream, n, args), "run a convolution", err);
    return code != BL_OK ? code : check(dnnl_stream_wait(conv->dnnl->stream), "run a convolution", err);
}

int bl_dnnl_conv_forward(bl_dnnl_conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch,
                         bool weights_changed, bl_error *err)
{
    argument *a = conv->arguments;
    void *pad = (char *)scratch + passing_filters_b(conv);
    int code = place_filters(conv, w, scratch, pad, weights_changed, err);
    if (code != BL_OK)
        return code;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, point(&a[SRC], x)},
                              {DNNL_ARG_WEIGHTS, a[FILTERS].memory},
                              {DNNL_ARG_DST, point(&a[DST], y)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)},
                              {DNNL_ARG_BIAS, point(&a[BIAS], bias)}};
    return execute(conv, args, a[BIAS].memory ? 5 : 4, err);
}

int bl_dnnl_conv_grad_data(bl_dnnl_conv *conv, const float *dy, const float *w, float *dx, void *scratch, bl_error *err)
{
    argument *a = conv->arguments;
    void *pad = (char *)scratch + passing_filters_b(conv);
    int code = place_filters(conv, w, scratch, pad, true, err);
    if (code != BL_OK)
        return code;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, point(&a[SRC], dy)},
                              {DNNL_ARG_WEIGHTS, a[FILTERS].memory},
                              {DNNL_ARG_DIFF_SRC, point(&a[DST], dx)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)}};
    return execute(conv, args, 4, err);
}

int bl_dnnl_conv_grad_weights(bl_dnnl_conv *conv, const float *x, const float *dy, float *dw, float *dbias,
                              void *scratch, bl_error *err)
{
    argument *a = conv->arguments;
    void *pad = (char *)scratch + passing_filters_b(conv);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, point(&a[SRC], x)},
                              {DNNL_ARG_DIFF_DST, point(&a[DST], dy)},
                              {DNNL_ARG_DIFF_WEIGHTS, point(&a[FILTERS], conv->reorder ? scratch : dw)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)},
                              {DNNL_ARG_DIFF_BIAS, point(&a[BIAS], dbias)}};
    int code = execute(conv, args, a[BIAS].memory ? 5 : 4, err);
    if (code == BL_OK && conv->reorder)
        code = reorder(conv, a[FILTERS].memory, point(&conv->plain, dw), pad, err);
    return code;
}

int bl_dnnl_multiply(const bl_dnnl_product *p, bl_error *err)
{
    return check(dnnl_sgemm(p->turn_a ? 'T' : 'N', p->turn_b ? 'T' : 'N', p->m, p->n, p->k, p->scale, p->a, p->a_apart,
                            p->b, p->b_apart, p->add ? 1.0f : 0.0f, p->c, p->c_apart),
                 "multiply matrices", err);
}

int bl_dnnl_gemm(bool turn_a, bool turn_b, int m, int n, int k, const float *a, const float *b, float *c, bl_error *err)
{
    return bl_dnnl_multiply(
        &(bl_dnnl_product){turn_a, turn_b, m, n, k, a, b, c, turn_a ? m : k, turn_b ? k : n, n, 1, false}, err);
}
