/* Tokens (N, T, C), plain: what a vision transformer makes of patches (Dosovitskiy et al., "An image is worth 16x16
 * words", ICLR 2021, eq. 1). */
#include "graph/op.h"

#include <string.h>

/* Where element i of a matrix of patches (N, P, C k k) lies in the image: the squares of k x k pixels row by row, each
 * as a filter of a convolution lies. */
static int64_t pixel_of(const bl_shape *x, int k, int64_t i)
{
    int64_t columns = x->dim[3] / k, inner = x->dim[1] * k * k, n_patches = x->dim[2] / k * columns;
    int64_t e = i % inner, patch = i / inner % n_patches, n = i / inner / n_patches;
    int64_t row = patch / columns * k + e / k % k, column = patch % columns * k + e % k;
    return ((n * x->dim[1] + e / k / k) * x->dim[2] + row) * x->dim[3] + column;
}

static int infer_patches(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    int k = node->attrs.conv.kernel[0];
    if (in[0]->n_dims != 4 || k < 1 || in[0]->dim[2] % k != 0 || in[0]->dim[3] % k != 0)
        return BL_FAIL(err, BL_ERR_USAGE, "images of %lld x %lld are no whole patches of %d x %d",
                       (long long)in[0]->dim[2], (long long)in[0]->dim[3], k, k);
    out[0] = BL_SHAPE3(in[0]->dim[0], in[0]->dim[2] / k * (in[0]->dim[3] / k), in[0]->dim[1] * k * k);
    return BL_OK;
}

static int gradient_patches(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    if (!graph->values[node.in[0]].needs_grad)
        return BL_OK;
    return bl_graph_emit(graph, &bl_op_patches_grad, &node.attrs, (bl_value[]){d_out[0], node.in[0]}, 2, node.name,
                         d_in, err);
}

static int reference_patches(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->out_shape[0]); i++)
        call->out[0][i] = call->in[0][pixel_of(call->in_shape[0], call->node->attrs.conv.kernel[0], i)];
    return BL_OK;
}

static int infer_as_second(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[1];
    return BL_OK;
}

static int reference_patches_grad(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][pixel_of(call->out_shape[0], call->node->attrs.conv.kernel[0], i)] = call->in[0][i];
    return BL_OK;
}

static int infer_tokens(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    int64_t c = in[0]->n_dims == 3 ? in[0]->dim[2] : 0;
    if (c == 0 || bl_shape_count(in[1]) != c || in[2]->n_dims != 2 || in[2]->dim[0] != 1 + in[0]->dim[1] ||
        in[2]->dim[1] != c)
        return BL_FAIL(err, BL_ERR_INTERNAL, "tokens: the class token or the positions do not fit the patches");
    out[0] = BL_SHAPE3(in[0]->dim[0], 1 + in[0]->dim[1], c);
    return BL_OK;
}

static int gradient_tokens(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_tokens_grad, NULL, d_out, 1, node.name, d_in, err);
}

static int reference_tokens(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *y = call->out_shape[0];
    int64_t n_tokens = y->dim[1], c = y->dim[2];
    for (int64_t n = 0; n < y->dim[0]; n++)
        for (int64_t t = 0; t < n_tokens; t++)
            for (int64_t i = 0; i < c; i++) {
                double own = t == 0 ? call->in[1][i] : call->in[0][(n * (n_tokens - 1) + t - 1) * c + i];
                call->out[0][(n * n_tokens + t) * c + i] = own + call->in[2][t * c + i];
            }
    return BL_OK;
}

static int infer_tokens_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = BL_SHAPE3(in[0]->dim[0], in[0]->dim[1] - 1, in[0]->dim[2]);
    out[1] = BL_SHAPE1(in[0]->dim[2]);
    out[2] = BL_SHAPE2(in[0]->dim[1], in[0]->dim[2]);
    return BL_OK;
}

static int reference_tokens_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *dy = call->in_shape[0];
    int64_t n_tokens = dy->dim[1], c = dy->dim[2];
    memset(call->out[1], 0, (size_t)c * sizeof(double));
    memset(call->out[2], 0, (size_t)(n_tokens * c) * sizeof(double));
    for (int64_t n = 0; n < dy->dim[0]; n++)
        for (int64_t t = 0; t < n_tokens; t++)
            for (int64_t i = 0; i < c; i++) {
                double d = call->in[0][(n * n_tokens + t) * c + i];
                call->out[2][t * c + i] += d;
                if (t == 0)
                    call->out[1][i] += d;
                else
                    call->out[0][(n * (n_tokens - 1) + t - 1) * c + i] = d;
            }
    return BL_OK;
}

static int infer_first(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    if (in[0]->n_dims != 3)
        return BL_FAIL(err, BL_ERR_INTERNAL, "first_token wants tokens");
    out[0] = BL_SHAPE2(in[0]->dim[0], in[0]->dim[2]);
    return BL_OK;
}

static int gradient_first(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_first_token_grad, NULL, (bl_value[]){d_out[0], node.in[0]}, 2, node.name, d_in,
                         err);
}

static int reference_first(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    for (int64_t n = 0; n < x->dim[0]; n++)
        memcpy(call->out[0] + n * x->dim[2], call->in[0] + n * x->dim[1] * x->dim[2],
               (size_t)x->dim[2] * sizeof(double));
    return BL_OK;
}

static int reference_first_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->out_shape[0];
    memset(call->out[0], 0, (size_t)bl_shape_count(x) * sizeof(double));
    for (int64_t n = 0; n < x->dim[0]; n++)
        memcpy(call->out[0] + n * x->dim[1] * x->dim[2], call->in[0] + n * x->dim[2],
               (size_t)x->dim[2] * sizeof(double));
    return BL_OK;
}

const bl_op bl_op_patches = {.name = "patches",
                             .min_in = 1,
                             .max_in = 1,
                             .n_out = 1,
                             .layout = BL_OP_PLAIN,
                             .infer = infer_patches,
                             .gradient = gradient_patches,
                             .reference = reference_patches};
const bl_op bl_op_patches_grad = {.name = "patches_grad",
                                  .min_in = 2,
                                  .max_in = 2,
                                  .n_out = 1,
                                  .layout = BL_OP_PLAIN,
                                  .shape_only = 1 << 1,
                                  .infer = infer_as_second,
                                  .reference = reference_patches_grad};
const bl_op bl_op_tokens = {.name = "tokens",
                            .min_in = 3,
                            .max_in = 3,
                            .n_out = 1,
                            .layout = BL_OP_PLAIN,
                            .infer = infer_tokens,
                            .gradient = gradient_tokens,
                            .reference = reference_tokens};
const bl_op bl_op_tokens_grad = {.name = "tokens_grad",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 3,
                                 .layout = BL_OP_PLAIN,
                                 .infer = infer_tokens_grad,
                                 .reference = reference_tokens_grad};
const bl_op bl_op_first_token = {.name = "first_token",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .layout = BL_OP_PLAIN,
                                 .infer = infer_first,
                                 .gradient = gradient_first,
                                 .reference = reference_first};
const bl_op bl_op_first_token_grad = {.name = "first_token_grad",
                                      .min_in = 2,
                                      .max_in = 2,
                                      .n_out = 1,
                                      .layout = BL_OP_PLAIN,
                                      .shape_only = 1 << 1,
                                      .infer = infer_as_second,
                                      .reference = reference_first_grad};
