#include "graph/passes.h"

#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

/* How often each value is read, an output of the graph counting as one more. malloc'd; NULL when memory is out. */
static int *count_uses(const bl_graph *graph)
{
    int *uses = bl_calloc((size_t)graph->n_values, sizeof *uses);
    for (int i = 0; uses && i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_in; k++)
            if (graph->nodes[i].in[k] >= 0)
                uses[graph->nodes[i].in[k]]++;
    for (int v = 0; uses && v < graph->n_values; v++)
        uses[v] += graph->values[v].is_output;
    return uses;
}

static void remove_node(bl_graph *graph, int index)
{
    memmove(graph->nodes + index, graph->nodes + index + 1,
            (size_t)(graph->n_nodes - index - 1) * sizeof *graph->nodes);
    graph->n_nodes--;
}

static int producer_before(const bl_graph *graph, int end, bl_value v)
{
    for (int i = end; i-- > 0;)
        for (int k = 0; k < graph->nodes[i].n_out; k++)
            if (graph->nodes[i].out[k] == v)
                return i;
    return -1;
}

/* The node that makes v for one reader alone, as its first output; -1 where that is not so. */
static int sole_producer(const bl_graph *graph, int end, bl_value v, const int *uses)
{
    int at = v >= 0 && uses[v] == 1 ? producer_before(graph, end, v) : -1;
    return at >= 0 && graph->nodes[at].out[0] == v ? at : -1;
}

static bool is_norm(const bl_node *node)
{
    return node->op == &bl_op_norm_act || node->op == &bl_op_norm_act_apply;
}

static int residual_slot(const bl_node *norm)
{
    return norm->op == &bl_op_norm_act ? 3 : 5;
}

static bool has_residual(const bl_node *norm)
{
    return norm->n_in > residual_slot(norm);
}

/* The normalisation whose result `v` only node `index` reads; -1 where there is none. */
static int sole_norm(const bl_graph *graph, int index, bl_value v, const int *uses)
{
    int at = uses[v] == 1 ? producer_before(graph, index, v) : -1;
    return at >= 0 && is_norm(&graph->nodes[at]) && graph->nodes[at].out[0] == v && !has_residual(&graph->nodes[at])
               ? at
               : -1;
}

/* True where node `index` went into the normalisation before it. */
static bool fuse_activation(bl_graph *graph, int index, const int *uses)
{
    const bl_node node = graph->nodes[index];
    int at = node.op == &bl_op_activation ? sole_norm(graph, index, node.in[0], uses) : -1;
    if (at < 0 || graph->nodes[at].attrs.norm.act != BL_ACT_NONE)
        return false;
    graph->nodes[at].attrs.norm.act = node.attrs.act;
    graph->nodes[at].out[0] = node.out[0];
    remove_node(graph, index);
    return true;
}

static bool fuse_residual(bl_graph *graph, int index, const int *uses)
{
    const bl_node node = graph->nodes[index];
    for (int side = 0; node.op == &bl_op_add && side < 2; side++) {
        bl_value other = node.in[1 - side];
        int at = sole_norm(graph, index, node.in[side], uses);
        /* The other summand must be there when the normalisation runs. */
        if (at < 0 || other == node.in[side] || producer_before(graph, index, other) >= at)
            continue;
        bl_node *norm = &graph->nodes[at];
        norm->in[residual_slot(norm)] = other;
        norm->n_in = residual_slot(norm) + 1;
        norm->out[0] = node.out[0];
        graph->values[node.out[0]].needs_grad = graph->mode == BL_MODE_TRAIN;
        remove_node(graph, index);
        return true;
    }
    return false;
}

/* y = x w^T + bias + other: the product is added to what is there already. */
static bool fuse_linear_residual(bl_graph *graph, int index, const int *uses)
{
    const bl_node node = graph->nodes[index];
    for (int side = 0; node.op == &bl_op_add && side < 2; side++) {
        bl_value other = node.in[1 - side];
        int at = sole_producer(graph, index, node.in[side], uses);
        if (at < 0 || graph->nodes[at].op != &bl_op_linear || graph->nodes[at].n_in > 3 ||
            producer_before(graph, index, other) >= at)
            continue;
        bl_node *linear = &graph->nodes[at];
        for (int absent = linear->n_in; absent < 3; absent++)
            linear->in[absent] = BL_NO_VALUE;
        linear->in[3] = other;
        linear->n_in = 4;
        linear->out[0] = node.out[0];
        remove_node(graph, index);
        return true;
    }
    return false;
}

int bl_graph_fuse(bl_graph *graph, bl_error *err)
{
    int *uses = count_uses(graph);
    if (!uses)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    for (int i = 0; i < graph->n_nodes; i++)
        if (fuse_activation(graph, i, uses) || fuse_residual(graph, i, uses) || fuse_linear_residual(graph, i, uses))
            i--;
    free(uses);
    return BL_OK;
}

/* ---- absorbing ---- */

static bool is_depthwise(const bl_graph *graph, const bl_node *node)
{
    return node->attrs.conv.groups > 1 && graph->values[node->in[0]].shape.dim[1] == node->attrs.conv.groups &&
           graph->values[node->out[0]].shape.dim[node->op == &bl_op_conv2d ? 1 : 0] == node->attrs.conv.groups;
}

/* Can this node read v as in[0] unnormalised (or needs its shape only)? */
static bool can_absorb(const bl_graph *graph, const bl_node *node, bl_value v)
{
    for (int k = 0; k < node->n_in; k++) {
        if (node->in[k] != v || node->op->shape_only & 1 << k)
            continue;
        bool fits = k == 0 && node->op->norm_at > 0 && node->norm_at == 0;
        if (node->op == &bl_op_conv2d || node->op == &bl_op_conv2d_grad_weights)
            fits = fits && is_depthwise(graph, node) && node->attrs.conv.dilation[0] == 1 &&
                   node->attrs.conv.dilation[1] == 1;
        if (!fits)
            return false;
    }
    return true;
}

static void absorb_into(bl_node *node, const bl_node *norm, bl_value v, const bl_value *statistics)
{
    for (int k = 0; k < node->n_in; k++) {
        if (node->in[k] != v)
            continue;
        node->in[k] = norm->in[0];
        if (node->op->shape_only & 1 << k)
            continue;
        int at = node->op->norm_at;
        for (int absent = node->n_in; absent < at; absent++)
            node->in[absent] = BL_NO_VALUE;
        for (int s = 0; s < 4; s++)
            node->in[at + s] = statistics[s];
        node->n_in = at + 4;
        node->norm_at = at;
        node->norm = norm->attrs.norm;
        return;
    }
}

static bool absorb(bl_graph *graph, int index)
{
    const bl_node norm = graph->nodes[index];
    bl_value v = norm.out[0];
    if (!is_norm(&norm) || has_residual(&norm) || v < 0 || graph->values[v].is_output ||
        graph->values[v].shape.n_dims != 4)
        return false;
    for (int i = 0; i < graph->n_nodes; i++)
        if (!can_absorb(graph, &graph->nodes[i], v))
            return false;
    bool training = norm.op == &bl_op_norm_act;
    bl_value statistics[4] = {norm.in[1], norm.in[2], training ? norm.out[1] : norm.in[3],
                              training ? norm.out[2] : norm.in[4]};
    for (int i = 0; i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_in; k++)
            if (graph->nodes[i].in[k] == v)
                absorb_into(&graph->nodes[i], &norm, v, statistics);
    graph->nodes[index].out[0] = BL_NO_VALUE; /* only the statistics are still wanted */
    return true;
}

/* A normalisation's gradient computes by itself what a gate's and a pool's gradient would hand to it as a tensor. */
static void absorb_gradient(bl_graph *graph, int index, const int *uses)
{
    bl_node *norm = &graph->nodes[index];
    int at = norm->op == &bl_op_norm_act_grad && norm->n_in == 6 ? sole_producer(graph, index, norm->in[5], uses) : -1;
    if (at < 0 || graph->values[norm->in[0]].shape.n_dims != 4)
        return;
    int parts[2] = {at, -1};
    if (graph->nodes[at].op == &bl_op_add)
        for (int side = 0; side < 2; side++)
            parts[side] = sole_producer(graph, at, graph->nodes[at].in[side], uses);
    int gate = -1, pool = -1, n_parts = graph->nodes[at].op == &bl_op_add ? 2 : 1;
    for (int k = 0; k < n_parts; k++) {
        if (parts[k] >= 0 && graph->nodes[parts[k]].op == &bl_op_gate_grad)
            gate = parts[k];
        if (parts[k] >= 0 && graph->nodes[parts[k]].op == &bl_op_global_avg_pool_grad)
            pool = parts[k];
    }
    if ((gate >= 0) + (pool >= 0) != n_parts)
        return;
    norm->in[5] = gate >= 0 ? graph->nodes[gate].in[2] : BL_NO_VALUE;
    norm->in[6] = gate >= 0 ? graph->nodes[gate].in[1] : BL_NO_VALUE;
    norm->in[7] = pool >= 0 ? graph->nodes[pool].in[0] : BL_NO_VALUE;
    norm->n_in = 8;
    if (gate >= 0)
        graph->nodes[gate].out[0] = BL_NO_VALUE; /* the gate's own gradient is still wanted */
}

int bl_graph_absorb(bl_graph *graph, bl_error *err)
{
    for (int i = 0; i < graph->n_nodes; i++)
        absorb(graph, i);
    int *uses = count_uses(graph);
    if (!uses)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    for (int i = 0; i < graph->n_nodes; i++)
        absorb_gradient(graph, i, uses);
    free(uses);
    return bl_graph_sweep(graph, err);
}

/* ---- dead nodes ---- */

static bool wanted(const bl_graph *graph, const bl_node *node, const int *uses)
{
    for (int k = 0; k < node->n_out; k++) {
        bl_value v = node->out[k];
        if (node->op->updates[k] > 0 || (v >= 0 && (uses[v] > 0 || graph->values[v].kind == BL_VALUE_GRAD)))
            return true;
    }
    return false;
}

int bl_graph_sweep(bl_graph *graph, bl_error *err)
{
    int *uses = count_uses(graph);
    if (!uses)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to transform the graph");
    /* From the back, so that what only a dead node reads is seen dead in its turn. */
    for (int i = graph->n_nodes; i-- > 0;) {
        const bl_node *node = &graph->nodes[i];
        if (wanted(graph, node, uses))
            continue;
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0)
                uses[node->in[k]]--;
        remove_node(graph, i);
    }
    free(uses);
    return BL_OK;
}
