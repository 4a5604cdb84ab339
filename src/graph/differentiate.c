#include <stdlib.h>

#include "graph/op.h"
#include "graph/passes.h"

typedef struct differentiation {
    bl_graph *graph;
    bl_value *grad; /* of each forward value; BL_NO_VALUE where none has arrived */
    bool *live;     /* a gradient flows, though it may be the implied 1 */
    int n_values;   /* forward values */
    int first_backward;
    bl_error *err;
} differentiation;

static int add_gradient(differentiation *d, bl_value v, bl_value gradient)
{
    if (v < 0 || gradient < 0 || !d->graph->values[v].needs_grad)
        return BL_OK;
    d->live[v] = true;
    if (d->grad[v] < 0) {
        d->grad[v] = gradient;
        return BL_OK;
    }
    return bl_graph_emit(d->graph, &bl_op_add, NULL, (bl_value[]){d->grad[v], gradient}, 2, NULL, &d->grad[v], d->err);
}

static int through_node(differentiation *d, int index)
{
    const bl_node node = d->graph->nodes[index];
    bl_value d_out[BL_MAX_OUT], d_in[BL_MAX_IN];
    bool live = false;
    for (int k = 0; k < BL_MAX_OUT; k++) {
        d_out[k] = k < node.n_out ? d->grad[node.out[k]] : BL_NO_VALUE;
        live = live || (k < node.n_out && d->live[node.out[k]]);
    }
    if (!live || !node.op->gradient)
        return BL_OK;
    for (int k = 0; k < BL_MAX_IN; k++)
        d_in[k] = BL_NO_VALUE;
    int code = node.op->gradient(d->graph, index, d_out, d_in, d->err);
    for (int k = 0; code == BL_OK && k < node.n_in; k++)
        code = add_gradient(d, node.in[k], d_in[k]);
    return code;
}

static int producer_of(const bl_graph *graph, bl_value v, int *output)
{
    for (int i = 0; i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_out; k++)
            if (graph->nodes[i].out[k] == v) {
                *output = k;
                return i;
            }
    return -1;
}

/* A parameter's gradient lies plain in the table: images in the backend's layout, values used otherwise and seeds
 * that came from outside are copied there. */
static int settle_parameter(differentiation *d, bl_value v)
{
    bl_graph *graph = d->graph;
    bl_value gradient = d->grad[v];
    if (graph->values[v].kind != BL_VALUE_PARAM || gradient < 0)
        return BL_OK;
    int output = 0, producer = producer_of(graph, gradient, &output), n_uses = 0;
    for (int i = 0; i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_in; k++)
            n_uses += graph->nodes[i].in[k] == gradient;
    bool image = producer < 0 ||
                 (graph->values[gradient].shape.n_dims == 4 && !(graph->nodes[producer].op->weights_out & 1 << output));
    if (image || n_uses > 0 || graph->values[gradient].kind != BL_VALUE_TEMP) {
        int code = bl_graph_emit(graph, &bl_op_copy, NULL, &gradient, 1, NULL, &gradient, d->err);
        if (code != BL_OK)
            return code;
    }
    graph->values[gradient].kind = BL_VALUE_GRAD;
    graph->values[gradient].param = graph->values[v].param;
    return BL_OK;
}

int bl_graph_differentiate(bl_graph *graph, const bl_value *outs, const bl_value *d_outs, int n, bl_error *err)
{
    differentiation d = {.graph = graph, .n_values = graph->n_values, .first_backward = graph->n_nodes, .err = err};
    d.grad = bl_calloc((size_t)d.n_values, sizeof *d.grad);
    d.live = bl_calloc((size_t)d.n_values, sizeof *d.live);
    int code = d.grad && d.live ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to differentiate the graph");
    for (int v = 0; code == BL_OK && v < d.n_values; v++)
        d.grad[v] = BL_NO_VALUE;
    for (int i = 0; code == BL_OK && i < n; i++) {
        d.live[outs[i]] = true;
        d.grad[outs[i]] = d_outs[i];
    }
    for (int i = d.first_backward; code == BL_OK && i-- > 0;)
        code = through_node(&d, i);
    for (int v = 0; code == BL_OK && v < d.n_values; v++)
        code = settle_parameter(&d, v);
    for (int i = d.first_backward; i < graph->n_nodes; i++)
        graph->nodes[i].backward = true;
    free(d.grad);
    free(d.live);
    return code;
}
