/* Elementwise ops, the gate of squeeze-and-excitation, dropout, copies. */
#include "graph/op.h"

#include <string.h>

#include "graph/act.h"
#include "graph/dropout.h"

static int64_t count_of(const bl_ref_call *call)
{
    return bl_shape_count(call->out_shape[0]);
}

/* ---- activation ---- */

/* Of these the result shows the slope as well as the input does: the input need not be kept, and the result may take
 * its place. */
static bool result_shows_slope(bl_act act)
{
    return act == BL_ACT_RELU || act == BL_ACT_RELU6 || act == BL_ACT_LEAKY;
}

static int gradient_activation(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value at = result_shows_slope(node.attrs.act) ? node.out[0] : node.in[0];
    return bl_graph_emit(graph, &bl_op_activation_grad, &node.attrs, (bl_value[]){at, d_out[0]}, 2, node.name, d_in,
                         err);
}

static int reference_activation(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < count_of(call); i++)
        call->out[0][i] = bl_act_value(call->node->attrs.act, call->in[0][i]);
    return BL_OK;
}

static int reference_activation_grad(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < count_of(call); i++)
        call->out[0][i] = call->in[1][i] * bl_act_slope(call->node->attrs.act, call->in[0][i]);
    return BL_OK;
}

/* ---- add ---- */

static int infer_add(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char a[128], b[128];
    out[0] = *in[0];
    if (!bl_shape_equal(in[0], in[1]))
        return BL_FAIL(err, BL_ERR_INTERNAL, "add: %s and %s", bl_shape_format(in[0], a, sizeof a),
                       bl_shape_format(in[1], b, sizeof b));
    return BL_OK;
}

static int gradient_add(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    d_in[0] = d_in[1] = d_out[0];
    return BL_OK;
}

static int reference_add(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < count_of(call); i++)
        call->out[0][i] = call->in[0][i] + call->in[1][i];
    return BL_OK;
}

/* ---- gate ---- */

static int gradient_gate(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_gate_grad, NULL, (bl_value[]){node.in[0], node.in[1], d_out[0]}, 3, node.name,
                         d_in, err);
}

static int reference_gate(const bl_ref_call *call, bl_error *err)
{
    int64_t pixels = call->in_shape[0]->dim[2] * call->in_shape[0]->dim[3];
    for (int64_t i = 0; i < count_of(call); i++)
        call->out[0][i] = call->in[0][i] * call->in[1][i / pixels];
    return BL_OK;
}

static int infer_gate_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[0];
    out[1] = *in[1];
    return BL_OK;
}

static int reference_gate_grad(const bl_ref_call *call, bl_error *err)
{
    int64_t pixels = call->in_shape[0]->dim[2] * call->in_shape[0]->dim[3];
    memset(call->out[1], 0, (size_t)bl_shape_count(call->out_shape[1]) * sizeof(double));
    for (int64_t i = 0; i < count_of(call); i++) {
        call->out[1][i / pixels] += call->in[2][i] * call->in[0][i];
        call->out[0][i] = call->in[2][i] * call->in[1][i / pixels];
    }
    return BL_OK;
}

/* ---- dropout ---- */

static int gradient_dropout(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &bl_op_dropout_grad, &node.attrs, d_out, 1, node.name, d_in, err);
}

static int reference_dropout(const bl_ref_call *call, bl_error *err)
{
    const bl_dropout_attrs *a = &call->node->attrs.dropout;
    uint64_t first = call->first_sample * (uint64_t)(count_of(call) / call->in_shape[0]->dim[0]);
    for (int64_t i = 0; i < count_of(call); i++)
        call->out[0][i] = bl_dropout_keeps(a->p, call->seed, call->step, a->stream, first + (uint64_t)i)
                              ? call->in[0][i] / (1 - (double)a->p)
                              : 0;
    return BL_OK;
}

/* ---- copy ---- */

static int gradient_copy(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    d_in[0] = d_out[0];
    return BL_OK;
}

static int reference_copy(const bl_ref_call *call, bl_error *err)
{
    memcpy(call->out[0], call->in[0], (size_t)count_of(call) * sizeof(double));
    return BL_OK;
}

const bl_op bl_op_activation = {.name = "activation",
                                .min_in = 1,
                                .max_in = 1,
                                .n_out = 1,
                                .layout = BL_OP_IMAGE,
                                .in_place = {{1}},
                                .infer = bl_op_infer_first,
                                .gradient = gradient_activation,
                                .reference = reference_activation};
const bl_op bl_op_activation_grad = {.name = "activation_grad",
                                     .min_in = 2,
                                     .max_in = 2,
                                     .n_out = 1,
                                     .layout = BL_OP_IMAGE,
                                     .in_place = {{2}},
                                     .infer = bl_op_infer_first,
                                     .reference = reference_activation_grad};
const bl_op bl_op_add = {.name = "add",
                         .min_in = 2,
                         .max_in = 2,
                         .n_out = 1,
                         .layout = BL_OP_IMAGE,
                         .in_place = {{1, 2}},
                         .infer = infer_add,
                         .gradient = gradient_add,
                         .reference = reference_add};
const bl_op bl_op_gate = {.name = "gate",
                          .min_in = 2,
                          .max_in = 2,
                          .n_out = 1,
                          .layout = BL_OP_IMAGE,
                          .norm_at = 2,
                          .in_place = {{1}},
                          .infer = bl_op_infer_first,
                          .gradient = gradient_gate,
                          .reference = reference_gate};
const bl_op bl_op_gate_grad = {.name = "gate_grad",
                               .min_in = 3,
                               .max_in = 3,
                               .n_out = 2,
                               .layout = BL_OP_IMAGE,
                               .norm_at = 3,
                               .in_place = {{3}},
                               .infer = infer_gate_grad,
                               .reference = reference_gate_grad};
const bl_op bl_op_dropout = {.name = "dropout",
                             .min_in = 1,
                             .max_in = 1,
                             .n_out = 1,
                             .layout = BL_OP_IMAGE,
                             .in_place = {{1}},
                             .infer = bl_op_infer_first,
                             .gradient = gradient_dropout,
                             .reference = reference_dropout};
const bl_op bl_op_dropout_grad = {.name = "dropout_grad",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 1,
                                  .layout = BL_OP_IMAGE,
                                  .in_place = {{1}},
                                  .infer = bl_op_infer_first,
                                  .reference = reference_dropout};
const bl_op bl_op_copy = {.name = "copy",
                          .min_in = 1,
                          .max_in = 1,
                          .n_out = 1,
                          .layout = BL_OP_COPY,
                          .infer = bl_op_infer_first,
                          .gradient = gradient_copy,
                          .reference = reference_copy};
