/* Global average pooling, max pooling, and reshaping. */
#include "graph/op.h"

#include <string.h>

static int infer_pool(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 4)
        return BL_FAIL(err, BL_ERR_INTERNAL, "pooling wants an image, not %s",
                       bl_shape_format(in[0], text, sizeof text));
    out[0] = BL_SHAPE4(in[0]->dim[0], in[0]->dim[1], 1, 1);
    return BL_OK;
}

static int gradient_pool(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_global_avg_pool_grad, NULL, (bl_value[]){d_out[0], node.in[0]}, 2, node.name,
                         d_in, err);
}

static int reference_pool(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    int64_t pixels = x->dim[2] * x->dim[3];
    memset(call->out[0], 0, (size_t)bl_shape_count(call->out_shape[0]) * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(x); i++)
        call->out[0][i / pixels] += call->in[0][i] / (double)pixels;
    return BL_OK;
}

static int infer_pool_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[1];
    return BL_OK;
}

static int reference_pool_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->out_shape[0];
    int64_t pixels = x->dim[2] * x->dim[3];
    for (int64_t i = 0; i < bl_shape_count(x); i++)
        call->out[0][i] = call->in[0][i / pixels] / (double)pixels;
    return BL_OK;
}

/* ---- max pooling: windows as a convolution's; what lies outside the image never wins ---- */

static int infer_max_pool(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    const bl_conv_attrs *a = &node->attrs.conv;
    char text[128];
    int64_t side[2];
    for (int axis = 0; axis < 2; axis++) {
        int64_t room = in[0]->n_dims == 4 ? in[0]->dim[2 + axis] + 2 * a->pad[axis] - a->kernel[axis] : -1;
        /* Padding of half a window at most, so that every window holds a pixel. */
        if (room < 0 || a->stride[axis] < 1 || 2 * a->pad[axis] > a->kernel[axis])
            return BL_FAIL(err, BL_ERR_INTERNAL, "max pooling by %d does not fit %s", a->kernel[axis],
                           bl_shape_format(in[0], text, sizeof text));
        side[axis] = room / a->stride[axis] + 1;
    }
    out[0] = BL_SHAPE4(in[0]->dim[0], in[0]->dim[1], side[0], side[1]);
    return BL_OK;
}

static int gradient_max_pool(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_max_pool_grad, &node.attrs, (bl_value[]){node.in[0], d_out[0]}, 2, node.name,
                         d_in, err);
}

/* The place in its plane of the largest element of a window, the first of equal ones. */
static int64_t winner(const bl_conv_attrs *a, const bl_shape *x, const double *plane, int64_t oy, int64_t ox)
{
    int64_t best = -1;
    for (int ky = 0; ky < a->kernel[0]; ky++)
        for (int kx = 0; kx < a->kernel[1]; kx++) {
            int64_t y = oy * a->stride[0] + ky - a->pad[0], at = ox * a->stride[1] + kx - a->pad[1];
            if (y < 0 || at < 0 || y >= x->dim[2] || at >= x->dim[3])
                continue;
            at += y * x->dim[3];
            if (best < 0 || plane[at] > plane[best])
                best = at;
        }
    return best;
}

static int reference_max_pool(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0], *y = call->out_shape[0];
    int64_t pixels = x->dim[2] * x->dim[3], results = y->dim[2] * y->dim[3];
    for (int64_t i = 0; i < bl_shape_count(y); i++) {
        const double *plane = call->in[0] + i / results * pixels;
        int64_t at = winner(&call->node->attrs.conv, x, plane, i % results / y->dim[3], i % y->dim[3]);
        call->out[0][i] = plane[at];
    }
    return BL_OK;
}

static int reference_max_pool_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0], *y = call->in_shape[1];
    int64_t pixels = x->dim[2] * x->dim[3], results = y->dim[2] * y->dim[3];
    memset(call->out[0], 0, (size_t)bl_shape_count(x) * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(y); i++) {
        int64_t start = i / results * pixels;
        int64_t at = winner(&call->node->attrs.conv, x, call->in[0] + start, i % results / y->dim[3], i % y->dim[3]);
        call->out[0][start + at] += call->in[1][i];
    }
    return BL_OK;
}

static int infer_reshape(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char a[128], b[128];
    out[0] = node->attrs.shape;
    if (bl_shape_count(in[0]) != bl_shape_count(&out[0]))
        return BL_FAIL(err, BL_ERR_INTERNAL, "%s cannot become %s", bl_shape_format(in[0], a, sizeof a),
                       bl_shape_format(&out[0], b, sizeof b));
    return BL_OK;
}

static int gradient_reshape(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_attrs attrs = {.shape = graph->values[node.in[0]].shape};
    return bl_graph_emit(graph, &bl_op_reshape, &attrs, d_out, 1, node.name, d_in, err);
}

static int reference_reshape(const bl_ref_call *call, bl_error *err)
{
    memcpy(call->out[0], call->in[0], (size_t)bl_shape_count(call->out_shape[0]) * sizeof(double));
    return BL_OK;
}

const bl_op bl_op_global_avg_pool = {.name = "global_avg_pool",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .n_out = 1,
                                     .layout = BL_OP_IMAGE,
                                     .norm_at = 1,
                                     .infer = infer_pool,
                                     .gradient = gradient_pool,
                                     .reference = reference_pool};
const bl_op bl_op_global_avg_pool_grad = {.name = "global_avg_pool_grad",
                                          .min_in = 2,
                                          .max_in = 2,
                                          .n_out = 1,
                                          .layout = BL_OP_IMAGE,
                                          .shape_only = 1 << 1,
                                          .infer = infer_pool_grad,
                                          .reference = reference_pool_grad};
const bl_op bl_op_max_pool = {.name = "max_pool",
                              .min_in = 1,
                              .max_in = 1,
                              .n_out = 1,
                              .layout = BL_OP_IMAGE,
                              .norm_at = 1,
                              .infer = infer_max_pool,
                              .gradient = gradient_max_pool,
                              .reference = reference_max_pool};
const bl_op bl_op_max_pool_grad = {.name = "max_pool_grad",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .n_out = 1,
                                   .layout = BL_OP_IMAGE,
                                   .norm_at = 2,
                                   .infer = bl_op_infer_first,
                                   .reference = reference_max_pool_grad};
const bl_op bl_op_reshape = {.name = "reshape",
                             .min_in = 1,
                             .max_in = 1,
                             .n_out = 1,
                             .layout = BL_OP_PLAIN,
                             .in_place = {{1}},
                             .infer = infer_reshape,
                             .gradient = gradient_reshape,
                             .reference = reference_reshape};
