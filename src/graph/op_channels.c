/* Tensors joined along their channels, and parts of them. */
#include "graph/op.h"

#include <string.h>

static bool fits_beside(const bl_shape *a, const bl_shape *b)
{
    return b->n_dims == 4 && a->dim[0] == b->dim[0] && a->dim[2] == b->dim[2] && a->dim[3] == b->dim[3];
}

static int infer_concat(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char a[128], b[128];
    out[0] = *in[0];
    for (int k = 0; k < node->n_in; k++) {
        if (!fits_beside(in[0], in[k]))
            return BL_FAIL(err, BL_ERR_INTERNAL, "%s and %s cannot be joined", bl_shape_format(in[0], a, sizeof a),
                           bl_shape_format(in[k], b, sizeof b));
        out[0].dim[1] += k > 0 ? in[k]->dim[1] : 0;
    }
    return BL_OK;
}

static int gradient_concat(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_attrs attrs = {.slice = {.start = 0}};
    int code = BL_OK;
    for (int k = 0; code == BL_OK && k < node.n_in; k++) {
        if (graph->values[node.in[k]].needs_grad)
            code = bl_graph_emit(graph, &bl_op_slice, &attrs, (bl_value[]){d_out[0], node.in[k]}, 2, node.name,
                                 &d_in[k], err);
        attrs.slice.start += (int)graph->values[node.in[k]].shape.dim[1];
    }
    return code;
}

static int reference_concat(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *y = call->out_shape[0];
    int64_t pixels = y->dim[2] * y->dim[3], start = 0;
    for (int k = 0; k < call->node->n_in; k++) {
        int64_t count = call->in_shape[k]->dim[1] * pixels;
        for (int64_t n = 0; n < y->dim[0]; n++)
            memcpy(call->out[0] + n * y->dim[1] * pixels + start, call->in[k] + n * count,
                   (size_t)count * sizeof(double));
        start += count;
    }
    return BL_OK;
}

static int infer_slice(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char a[128], b[128];
    int start = node->attrs.slice.start;
    if (!fits_beside(in[0], in[1]) || start < 0 || start + in[1]->dim[1] > in[0]->dim[1])
        return BL_FAIL(err, BL_ERR_INTERNAL, "%s has no part %s from channel %d on",
                       bl_shape_format(in[0], a, sizeof a), bl_shape_format(in[1], b, sizeof b), start);
    out[0] = *in[1];
    return BL_OK;
}

static int reference_slice(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[0], *y = call->out_shape[0];
    int64_t pixels = y->dim[2] * y->dim[3], count = y->dim[1] * pixels;
    for (int64_t n = 0; n < y->dim[0]; n++)
        memcpy(call->out[0] + n * count, call->in[0] + (n * x->dim[1] + call->node->attrs.slice.start) * pixels,
               (size_t)count * sizeof(double));
    return BL_OK;
}

const bl_op bl_op_concat = {.name = "concat",
                            .min_in = 1,
                            .max_in = BL_MAX_IN,
                            .n_out = 1,
                            .layout = BL_OP_IMAGE,
                            .infer = infer_concat,
                            .gradient = gradient_concat,
                            .reference = reference_concat};
const bl_op bl_op_slice = {.name = "slice",
                           .min_in = 2,
                           .max_in = 2,
                           .n_out = 1,
                           .layout = BL_OP_IMAGE,
                           .shape_only = 1 << 1,
                           .infer = infer_slice,
                           .reference = reference_slice};
