/* Linear layers: x (..., I), w (O, I), y = x w^T + bias + residual (..., O). All dimensions but the last are rows. */
#include "graph/op.h"

#include <string.h>

static int64_t last_of(const bl_shape *shape)
{
    return shape->dim[shape->n_dims - 1];
}

static int64_t rows_of(const bl_shape *shape)
{
    return bl_shape_count(shape) / last_of(shape);
}

static bl_shape with_last(const bl_shape *shape, int64_t last)
{
    bl_shape result = *shape;
    result.dim[shape->n_dims - 1] = last;
    return result;
}

static int infer_linear(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    if (last_of(in[0]) != in[1]->dim[1])
        return BL_FAIL(err, BL_ERR_INTERNAL, "linear: rows of %lld for weights of %lld", (long long)last_of(in[0]),
                       (long long)in[1]->dim[1]);
    out[0] = with_last(in[0], in[1]->dim[0]);
    return BL_OK;
}

static bool has_bias(const bl_node *node)
{
    return node->n_in > 2 && node->in[2] >= 0;
}

static int gradient_linear(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value out[BL_MAX_OUT];
    bl_value in[] = {node.in[0], d_out[0], node.in[2]};
    int code = bl_graph_emit(graph, &bl_op_linear_grad_weights, NULL, in, has_bias(&node) ? 3 : 2, node.name, out, err);
    if (code != BL_OK)
        return code;
    d_in[1] = out[0];
    if (has_bias(&node))
        d_in[2] = out[1];
    if (node.n_in > 3)
        d_in[3] = d_out[0];
    if (!graph->values[node.in[0]].needs_grad)
        return BL_OK;
    return bl_graph_emit(graph, &bl_op_linear_grad_data, NULL, (bl_value[]){d_out[0], node.in[1]}, 2, node.name,
                         &d_in[0], err);
}

static int reference_linear(const bl_ref_call *call, bl_error *err)
{
    int64_t n_rows = rows_of(call->in_shape[0]), inner = last_of(call->in_shape[0]), n_out = call->in_shape[1]->dim[0];
    for (int64_t n = 0; n < n_rows; n++)
        for (int64_t o = 0; o < n_out; o++) {
            double sum = (call->in[2] ? call->in[2][o] : 0) + (call->in[3] ? call->in[3][n * n_out + o] : 0);
            for (int64_t i = 0; i < inner; i++)
                sum += call->in[0][n * inner + i] * call->in[1][o * inner + i];
            call->out[0][n * n_out + o] = sum;
        }
    return BL_OK;
}

static int infer_grad_data(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = with_last(in[0], in[1]->dim[1]);
    return BL_OK;
}

static int reference_grad_data(const bl_ref_call *call, bl_error *err)
{
    int64_t n_rows = rows_of(call->in_shape[0]), n_out = last_of(call->in_shape[0]), inner = call->in_shape[1]->dim[1];
    for (int64_t n = 0; n < n_rows; n++)
        for (int64_t i = 0; i < inner; i++) {
            double sum = 0;
            for (int64_t o = 0; o < n_out; o++)
                sum += call->in[0][n * n_out + o] * call->in[1][o * inner + i];
            call->out[0][n * inner + i] = sum;
        }
    return BL_OK;
}

static int infer_grad_weights(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = BL_SHAPE2(last_of(in[1]), last_of(in[0]));
    out[1] = BL_SHAPE1(last_of(in[1]));
    return BL_OK;
}

static int reference_grad_weights(const bl_ref_call *call, bl_error *err)
{
    int64_t n_rows = rows_of(call->in_shape[0]), inner = last_of(call->in_shape[0]), n_out = last_of(call->in_shape[1]);
    memset(call->out[0], 0, (size_t)(n_out * inner) * sizeof(double));
    memset(call->out[1], 0, (size_t)n_out * sizeof(double));
    for (int64_t n = 0; n < n_rows; n++)
        for (int64_t o = 0; o < n_out; o++) {
            double d = call->in[1][n * n_out + o];
            call->out[1][o] += d;
            for (int64_t i = 0; i < inner; i++)
                call->out[0][o * inner + i] += d * call->in[0][n * inner + i];
        }
    return BL_OK;
}

const bl_op bl_op_linear = {.name = "linear",
                            .min_in = 2,
                            .max_in = 4,
                            .n_out = 1,
                            .layout = BL_OP_PLAIN,
                            .in_place = {{4}},
                            .infer = infer_linear,
                            .gradient = gradient_linear,
                            .reference = reference_linear};
const bl_op bl_op_linear_grad_data = {.name = "linear_grad_data",
                                      .min_in = 2,
                                      .max_in = 2,
                                      .n_out = 1,
                                      .layout = BL_OP_PLAIN,
                                      .infer = infer_grad_data,
                                      .reference = reference_grad_data};
const bl_op bl_op_linear_grad_weights = {.name = "linear_grad_weights",
                                         .min_in = 2,
                                         .max_in = 3,
                                         .n_out = 2,
                                         .layout = BL_OP_PLAIN,
                                         .shape_only = 1 << 2,
                                         .infer = infer_grad_weights,
                                         .reference = reference_grad_weights};
