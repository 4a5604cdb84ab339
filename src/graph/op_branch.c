/* What stands at the end of a residual branch: a scale for each channel (Touvron et al., "Going deeper with Image
 * Transformers", ICCV 2021: layer scale), and dropping the branch for some samples (Huang et al. 2016: stochastic
 * depth). And a shift for each channel (Wang et al., "You only learn one representation", 2021: implicit knowledge). */
#include "graph/op.h"

#include <string.h>

#include "graph/dropout.h"

static int64_t pixels_of(const bl_shape *x)
{
    return bl_shape_count(x) / x->dim[0] / x->dim[1];
}

static int gradient_scale(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_channel_scale_grad, NULL, (bl_value[]){node.in[0], node.in[1], d_out[0]}, 3,
                         node.name, d_in, err);
}

static int reference_scale(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    for (int64_t i = 0; i < bl_shape_count(x); i++)
        call->out[0][i] = call->in[0][i] * call->in[1][i / pixels_of(x) % x->dim[1]];
    return BL_OK;
}

static int infer_scale_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[0];
    out[1] = *in[1];
    return BL_OK;
}

static int reference_scale_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    memset(call->out[1], 0, (size_t)bl_shape_count(call->out_shape[1]) * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(x); i++) {
        int64_t c = i / pixels_of(x) % x->dim[1];
        call->out[1][c] += call->in[2][i] * call->in[0][i];
        call->out[0][i] = call->in[2][i] * call->in[1][c];
    }
    return BL_OK;
}

static int gradient_shift(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    d_in[0] = d_out[0];
    return bl_graph_emit(graph, &bl_op_channel_sum, NULL, d_out, 1, graph->nodes[index].name, &d_in[1], err);
}

static int reference_shift(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    for (int64_t i = 0; i < bl_shape_count(x); i++)
        call->out[0][i] = call->in[0][i] + call->in[1][i / pixels_of(x) % x->dim[1]];
    return BL_OK;
}

static int infer_sum(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = BL_SHAPE1(in[0]->dim[1]);
    return BL_OK;
}

static int reference_sum(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0];
    memset(call->out[0], 0, (size_t)x->dim[1] * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(x); i++)
        call->out[0][i / pixels_of(x) % x->dim[1]] += call->in[0][i];
    return BL_OK;
}

static int gradient_drop(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_drop_path_grad, &node.attrs, d_out, 1, node.name, d_in, err);
}

static int reference_drop(const bl_ref_call *call, bl_error *err)
{
    const bl_dropout_attrs *a = &call->node->attrs.dropout;
    int64_t each = bl_shape_count(call->in_shape[0]) / call->in_shape[0]->dim[0];
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][i] =
            bl_dropout_keeps(a->p, call->seed, call->step, a->stream, call->first_sample + (uint64_t)(i / each))
                ? call->in[0][i] / (1 - (double)a->p)
                : 0;
    return BL_OK;
}

const bl_op bl_op_channel_scale = {.name = "channel_scale",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .n_out = 1,
                                   .layout = BL_OP_IMAGE,
                                   .infer = bl_op_infer_first,
                                   .gradient = gradient_scale,
                                   .reference = reference_scale};
const bl_op bl_op_channel_scale_grad = {.name = "channel_scale_grad",
                                        .min_in = 3,
                                        .max_in = 3,
                                        .n_out = 2,
                                        .layout = BL_OP_IMAGE,
                                        .in_place = {{3}},
                                        .infer = infer_scale_grad,
                                        .reference = reference_scale_grad};
const bl_op bl_op_channel_shift = {.name = "channel_shift",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .n_out = 1,
                                   .layout = BL_OP_IMAGE,
                                   .in_place = {{1}},
                                   .infer = bl_op_infer_first,
                                   .gradient = gradient_shift,
                                   .reference = reference_shift};
const bl_op bl_op_channel_sum = {.name = "channel_sum",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .layout = BL_OP_IMAGE,
                                 .infer = infer_sum,
                                 .reference = reference_sum};
const bl_op bl_op_drop_path = {.name = "drop_path",
                               .min_in = 1,
                               .max_in = 1,
                               .n_out = 1,
                               .layout = BL_OP_IMAGE,
                               .in_place = {{1}},
                               .infer = bl_op_infer_first,
                               .gradient = gradient_drop,
                               .reference = reference_drop};
const bl_op bl_op_drop_path_grad = {.name = "drop_path_grad",
                                    .min_in = 1,
                                    .max_in = 1,
                                    .n_out = 1,
                                    .layout = BL_OP_IMAGE,
                                    .in_place = {{1}},
                                    .infer = bl_op_infer_first,
                                    .reference = reference_drop};
