/* Convolutions by oneDNN, and products of matrices as convolutions of 1 x 1. */
#include <dnnl.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_internal.h"
#include "backend/cpu/dnnl_versions.h"
#include "backend/cpu/kernels/bfloat16.h"
#include "base/alloc.h"
#include "tensor/layout.h"

/* An argument of a primitive: its memory object, made once, and the address that it points to now. */
typedef struct argument {
    dnnl_memory_t memory;
    const void *at;
} argument;

enum { SRC, FILTERS, BIAS, DST, SCRATCH, N_ARGUMENTS };
/* What a precision below float32 rounds: the first image, the second one (of the weights' gradient), the filters. */
enum { FIRST, SECOND, PLAIN_FILTERS, N_FACTORS };

struct bl_dnnl_conv {
    bl_dnnl *dnnl;
    bl_dnnl_conv_kind kind;
    bl_precision precision;
    dnnl_primitive_t primitive, reorder; /* reorder: of the filters; NULL where plain ones do */
    argument arguments[N_ARGUMENTS];
    argument plain, reorder_scratch;
    size_t scratch_b, reorder_scratch_b, filters_b; /* filters_b: 0 without a reorder */
    size_t factors[N_FACTORS];                      /* numbers that are rounded before each run */
    bool keep;
    void *kept; /* made at the first run, so that a plan takes no memory */
    const char *impl;
};

static dnnl_format_tag_t image_tag(const bl_dnnl_conv_desc *d, bool plain)
{
    if (d->rows)
        return dnnl_nhwc;
    return plain ? dnnl_nchw : d->block == 16 ? dnnl_nChw16c : d->block == 8 ? dnnl_nChw8c : dnnl_nchw;
}

static dnnl_status_t describe_filters(const bl_dnnl_conv_desc *d, dnnl_data_type_t type, bool plain, tensors *t)
{
    const dnnl_dims_t w = {d->o, d->c, d->kernel[0], d->kernel[1]};
    const dnnl_dims_t grouped = {d->groups, d->o / d->groups, d->c / d->groups, d->kernel[0], d->kernel[1]};
    bool groups = d->groups > 1;
    dnnl_format_tag_t tag = !plain ? dnnl_format_tag_any : groups ? dnnl_goihw : dnnl_oihw;
    return make_desc(DESC(t, w), groups ? 5 : 4, groups ? grouped : w, type, tag);
}

/* The factors are of the desc's precision, the result is float32; of a hint, which no one computes, all is. */
static dnnl_status_t describe(const bl_dnnl_conv_desc *d, bl_dnnl_conv_kind kind, bool any, bool hint, tensors *t)
{
    const dnnl_data_type_t low = d->precision == BL_PRECISION_BFLOAT16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_data_type_t x_type = hint || kind != BL_DNNL_GRAD_DATA ? low : dnnl_f32;
    const dnnl_data_type_t y_type = hint || kind != BL_DNNL_FORWARD ? low : dnnl_f32;
    const dnnl_data_type_t w_type = hint || kind != BL_DNNL_GRAD_WEIGHTS ? low : dnnl_f32;
    const dnnl_dims_t x = {d->n, d->c, d->h, d->w}, y = {d->n, d->o, d->oh, d->ow}, bias = {d->o};
    dnnl_status_t status = make_desc(DESC(t, x), 4, x, x_type, any ? dnnl_format_tag_any : image_tag(d, d->plain_x));
    if (status == dnnl_success)
        status = make_desc(DESC(t, y), 4, y, y_type, any ? dnnl_format_tag_any : image_tag(d, false));
    if (status == dnnl_success)
        status = describe_filters(d, w_type, false, t);
    if (status == dnnl_success)
        status = make_desc(DESC(t, bias), 1, bias, dnnl_f32, dnnl_a);
    return status;
}

dnnl_status_t bl_dnnl_ask(const bl_dnnl *dnnl, const bl_dnnl_conv_desc *d, bl_dnnl_conv_kind kind, bool any,
                          const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    tensors t = {0}, of_hint = {0};
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = describe(d, kind, any, false, &t);
    if (status == dnnl_success && kind != BL_DNNL_FORWARD) {
        status = describe(d, BL_DNNL_FORWARD, any, true, &of_hint);
        if (status == dnnl_success)
            status = make_conv_desc(dnnl->engine, d, BL_DNNL_FORWARD, &of_hint, NULL, attr, &hint);
    }
    if (status == dnnl_success)
        status = make_conv_desc(dnnl->engine, d, kind, &t, hint, attr, out);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    clear_tensors(&of_hint);
    clear_tensors(&t);
    return status;
}

size_t bl_dnnl_block_of(const_dnnl_primitive_desc_t conv)
{
    return inner_block(dnnl_primitive_desc_query_md(conv, dnnl_query_dst_md, 0));
}

static int make_argument(bl_dnnl *dnnl, desc_ref desc, argument *out, bl_error *err)
{
    return bl_dnnl_check(dnnl_memory_create(&out->memory, desc, dnnl->engine, DNNL_MEMORY_NONE), "describe memory",
                         err);
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
    int code = bl_dnnl_check(describe_filters(d, dnnl_f32, true, &plain), "describe filters", err);
    desc_ref chosen = dnnl_primitive_desc_query_md(pd, filters_query(conv->kind), 0);
    if (code == BL_OK && !dnnl_memory_desc_equal(plain.w, chosen)) {
        bool out = conv->kind == BL_DNNL_GRAD_WEIGHTS;
        dnnl_primitive_desc_t reorder = NULL;
        code = bl_dnnl_check(dnnl_reorder_primitive_desc_create(&reorder, out ? chosen : plain.w, conv->dnnl->engine,
                                                                out ? plain.w : chosen, conv->dnnl->engine, attr),
                             "reorder filters", err);
        if (code == BL_OK)
            code = bl_dnnl_check(dnnl_primitive_create(&conv->reorder, reorder), "reorder filters", err);
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
    if (code == BL_OK && conv->kind != BL_DNNL_GRAD_WEIGHTS && conv->precision == BL_PRECISION_BFLOAT16_EMULATED)
        conv->factors[PLAIN_FILTERS] = dnnl_memory_desc_get_size(plain.w) / sizeof(float);
    clear_tensors(&plain);
    return code;
}

static size_t number_b(const bl_dnnl_conv *conv)
{
    return conv->precision == BL_PRECISION_BFLOAT16 ? sizeof(uint16_t) : sizeof(float);
}

/* Numbers of an image's factor, padding included. */
static size_t count_of(const bl_dnnl_conv *conv, desc_ref desc)
{
    return dnnl_memory_desc_get_size(desc) / number_b(conv);
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
    if (conv->precision == BL_PRECISION_FLOAT32)
        return code;
    conv->factors[FIRST] = count_of(conv, dnnl_primitive_desc_query_md(pd, sources[conv->kind], 0));
    if (conv->kind == BL_DNNL_GRAD_WEIGHTS)
        conv->factors[SECOND] = count_of(conv, dnnl_primitive_desc_query_md(pd, results[conv->kind], 0));
    return code;
}

/* scratch in the caller's memory, and where asked for a sum with what the result's place held before. */
static int make_attr(bool add, dnnl_primitive_attr_t *out, bl_error *err)
{
    dnnl_post_ops_t sum = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && add) {
        status = dnnl_post_ops_create(&sum);
        if (status == dnnl_success)
            status = append_sum(sum);
        if (status == dnnl_success)
            status = dnnl_primitive_attr_set_post_ops(*out, sum);
        if (sum)
            dnnl_post_ops_destroy(sum);
    }
    return bl_dnnl_check(status, "make a convolution", err);
}

static int make_primitive(bl_dnnl_conv *conv, const bl_dnnl_conv_desc *d, bl_error *err)
{
    dnnl_primitive_attr_t attr = NULL, reorder_attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    int code = make_attr(d->add, &attr, err);
    if (code == BL_OK)
        code = make_attr(false, &reorder_attr, err);
    if (code == BL_OK)
        code = bl_dnnl_check(bl_dnnl_ask(conv->dnnl, d, conv->kind, false, attr, &pd), "make a convolution", err);
    if (code == BL_OK)
        code = bl_dnnl_check(dnnl_primitive_create(&conv->primitive, pd), "make a convolution", err);
    if (code == BL_OK)
        code = make_arguments(conv, d, pd, err);
    if (code == BL_OK)
        code = make_reorder(conv, d, pd, reorder_attr, err);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    if (reorder_attr)
        dnnl_primitive_attr_destroy(reorder_attr);
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
    conv->precision = desc->precision;
    int code = make_primitive(conv, desc, err);
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

/* The scratch of a run: rounded factors, filters in oneDNN's form that live for one run, scratchpads. */
static size_t rounded_b(const bl_dnnl_conv *conv, int factor)
{
    return aligned(conv->factors[factor] * (factor == PLAIN_FILTERS ? sizeof(float) : number_b(conv)));
}

static size_t passing_filters_b(const bl_dnnl_conv *conv)
{
    return conv->keep ? 0 : aligned(conv->filters_b);
}

size_t bl_dnnl_conv_scratch_b(const bl_dnnl_conv *conv)
{
    size_t pad = conv->scratch_b > conv->reorder_scratch_b ? conv->scratch_b : conv->reorder_scratch_b;
    for (int factor = 0; factor < N_FACTORS; factor++)
        pad += rounded_b(conv, factor);
    return passing_filters_b(conv) + pad;
}

/* A factor as the convolution reads it: itself, or rounded into the scratch, which then begins behind it. */
static const void *rounded(const bl_dnnl_conv *conv, int factor, const float *from, char **scratch)
{
    void *to = *scratch;
    if (conv->factors[factor] == 0)
        return from;
    *scratch += rounded_b(conv, factor);
    if (conv->precision == BL_PRECISION_BFLOAT16)
        bl_k_bfloat16(conv->factors[factor], from, to);
    else
        bl_k_round_to_bfloat16(conv->factors[factor], from, to);
    return to;
}

size_t bl_dnnl_conv_kept_b(const bl_dnnl_conv *conv)
{
    return conv->keep ? conv->filters_b : 0;
}

static int reorder(bl_dnnl_conv *conv, dnnl_memory_t from, dnnl_memory_t to, void *pad, bl_error *err)
{
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, point(&conv->reorder_scratch, pad)}};
    return bl_dnnl_check(dnnl_primitive_execute(conv->reorder, conv->dnnl->stream, BL_ARRAY_LEN(args), args),
                         "reorder filters", err);
}

/* Points the primitive's filters at the plain ones, or at what they are reordered to. Takes its part of the scratch;
 * what is left of it serves as scratchpads. */
static int place_filters(bl_dnnl_conv *conv, const float *plain, char **scratch, bool changed, bl_error *err)
{
    argument *filters = &conv->arguments[FILTERS];
    bool fresh = conv->kept && !changed;
    const void *from = fresh ? plain : rounded(conv, PLAIN_FILTERS, plain, scratch);
    if (!conv->reorder) {
        point(filters, from);
        return BL_OK;
    }
    if (conv->keep && !conv->kept && !(conv->kept = bl_aligned_alloc(BL_ALIGN_B, aligned(conv->filters_b))))
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu bytes of filters", conv->filters_b);
    point(filters, conv->keep ? conv->kept : *scratch);
    *scratch += passing_filters_b(conv);
    return fresh ? BL_OK : reorder(conv, point(&conv->plain, from), filters->memory, *scratch, err);
}

static int execute(bl_dnnl_conv *conv, const dnnl_exec_arg_t *args, int n, bl_error *err)
{
    int code =
        bl_dnnl_check(dnnl_primitive_execute(conv->primitive, conv->dnnl->stream, n, args), "run a convolution", err);
    return code != BL_OK ? code : bl_dnnl_check(dnnl_stream_wait(conv->dnnl->stream), "run a convolution", err);
}

int bl_dnnl_conv_forward(bl_dnnl_conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch,
                         bool weights_changed, bl_error *err)
{
    argument *a = conv->arguments;
    char *pad = scratch;
    const void *factor = rounded(conv, FIRST, x, &pad);
    int code = place_filters(conv, w, &pad, weights_changed, err);
    if (code != BL_OK)
        return code;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, point(&a[SRC], factor)},
                              {DNNL_ARG_WEIGHTS, a[FILTERS].memory},
                              {DNNL_ARG_DST, point(&a[DST], y)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)},
                              {DNNL_ARG_BIAS, point(&a[BIAS], bias)}};
    return execute(conv, args, a[BIAS].memory ? 5 : 4, err);
}

int bl_dnnl_conv_grad_data(bl_dnnl_conv *conv, const float *dy, const float *w, float *dx, void *scratch, bl_error *err)
{
    argument *a = conv->arguments;
    char *pad = scratch;
    const void *factor = rounded(conv, FIRST, dy, &pad);
    int code = place_filters(conv, w, &pad, true, err);
    if (code != BL_OK)
        return code;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_DST, point(&a[SRC], factor)},
                              {DNNL_ARG_WEIGHTS, a[FILTERS].memory},
                              {DNNL_ARG_DIFF_SRC, point(&a[DST], dx)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)}};
    return execute(conv, args, 4, err);
}

int bl_dnnl_conv_grad_weights(bl_dnnl_conv *conv, const float *x, const float *dy, float *dw, float *dbias,
                              void *scratch, bl_error *err)
{
    argument *a = conv->arguments;
    char *filters = scratch;
    const void *first = rounded(conv, FIRST, x, &filters), *second = rounded(conv, SECOND, dy, &filters);
    char *pad = filters + passing_filters_b(conv);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, point(&a[SRC], first)},
                              {DNNL_ARG_DIFF_DST, point(&a[DST], second)},
                              {DNNL_ARG_DIFF_WEIGHTS, point(&a[FILTERS], conv->reorder ? (void *)filters : dw)},
                              {DNNL_ARG_SCRATCHPAD, point(&a[SCRATCH], pad)},
                              {DNNL_ARG_DIFF_BIAS, point(&a[BIAS], dbias)}};
    int code = execute(conv, args, a[BIAS].memory ? 5 : 4, err);
    if (code == BL_OK && conv->reorder)
        code = reorder(conv, a[FILTERS].memory, point(&conv->plain, dw), pad, err);
    return code;
}
