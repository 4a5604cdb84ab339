/* Which layout every value has: images are blocked, the rest is plain; copies where a reader wants the other one. */
#include "backend/cpu/internal.h"

#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

/* (N, C, 1, 1) with whole blocks lies in memory just as (N, C). */
static bool same_in_memory(const bl_shape *shape, int block)
{
    return shape->n_dims == 4 && shape->dim[2] == 1 && shape->dim[3] == 1 && shape->dim[1] % block == 0;
}

typedef struct layout_pass {
    bl_cpu *cpu;
    bl_graph *graph;
    bl_node *nodes; /* the new array */
    int n_nodes, cap_nodes;
    bl_value *copies; /* of each value: its copy in the other layout, or BL_NO_VALUE */
    int n_copies;     /* length of the array */
    bl_error *err;
} layout_pass;

static bool output_is_image(const bl_graph *graph, const bl_node *node, int k)
{
    bl_value v = node->out[k];
    return v >= 0 && node->op->layout == BL_OP_IMAGE && graph->values[v].shape.n_dims == 4 &&
           !(node->op->weights_out & 1 << k) && graph->values[v].kind == BL_VALUE_TEMP;
}

static bool input_is_image(const bl_graph *graph, const bl_node *node, int k)
{
    bl_value v = node->in[k];
    return node->op->layout == BL_OP_IMAGE && graph->values[v].shape.n_dims == 4 && !(node->op->weights_in & 1 << k);
}

/* The first convolution reads the graph's input as it comes, unless it is a depthwise one, which is ours. */
static bool takes_plain(const bl_graph *graph, const bl_node *node, int k)
{
    return k == 0 && graph->values[node->in[0]].kind == BL_VALUE_INPUT &&
           (node->op == &bl_op_conv2d || node->op == &bl_op_conv2d_grad_weights) && !bl_cpu_is_depthwise(graph, node);
}

static int push_node(layout_pass *p, const bl_node *node)
{
    if (p->n_nodes == p->cap_nodes) {
        int cap = p->cap_nodes ? p->cap_nodes * 2 : 512;
        bl_node *nodes = bl_realloc(p->nodes, (size_t)cap, sizeof *nodes);
        if (!nodes)
            return BL_FAIL(p->err, BL_ERR_NOMEM, "no memory for the graph");
        p->nodes = nodes;
        p->cap_nodes = cap;
    }
    p->nodes[p->n_nodes++] = *node;
    return BL_OK;
}

/* Node input k in layout `wanted`: itself, or a copy made just before. */
static int want_layout(layout_pass *p, bl_node *node, int k, bl_layout wanted)
{
    bl_value v = node->in[k];
    const bl_layout have = p->graph->values[v].layout;
    if (bl_layout_equal(&have, &wanted))
        return BL_OK;
    if (same_in_memory(&p->graph->values[v].shape, p->cpu->block))
        return BL_OK;
    if (v < p->n_copies && p->copies[v] >= 0) {
        node->in[k] = p->copies[v];
        return BL_OK;
    }
    bl_shape shape = p->graph->values[v].shape;
    bl_value copy = bl_graph_add_value(p->graph, BL_VALUE_TEMP, BL_F32, &shape, p->err);
    if (copy < 0)
        return p->err ? (int)p->err->code : BL_ERR_NOMEM;
    p->graph->values[copy].layout = wanted;
    if (v < p->n_copies)
        p->copies[v] = copy;
    bl_node made = {.op = &bl_op_copy, .n_in = 1, .n_out = 1, .name = node->name, .backward = node->backward};
    for (int i = 0; i < BL_MAX_IN; i++)
        made.in[i] = i == 0 ? v : BL_NO_VALUE;
    for (int i = 0; i < BL_MAX_OUT; i++)
        made.out[i] = i == 0 ? copy : BL_NO_VALUE;
    node->in[k] = copy;
    return push_node(p, &made);
}

static int place_node(layout_pass *p, const bl_node *original)
{
    bl_node node = *original;
    bl_layout image = BL_BLOCKED(p->cpu->block);
    int code = BL_OK;
    for (int k = 0; code == BL_OK && k < node.n_in; k++) {
        if (node.in[k] < 0 || node.op->layout == BL_OP_COPY || node.op->shape_only & 1 << k)
            continue;
        if (input_is_image(p->graph, &node, k)) {
            if (!takes_plain(p->graph, &node, k))
                code = want_layout(p, &node, k, image);
        } else if (p->graph->values[node.in[k]].kind == BL_VALUE_TEMP) {
            code = want_layout(p, &node, k, BL_PLAIN);
        }
    }
    for (int k = 0; k < node.n_out; k++)
        if (output_is_image(p->graph, &node, k))
            p->graph->values[node.out[k]].layout = image;
    return code == BL_OK ? push_node(p, &node) : code;
}

int bl_cpu_assign_layouts(void *state, bl_graph *graph, bl_error *err)
{
    layout_pass p = {.cpu = state, .graph = graph, .n_copies = graph->n_values, .err = err};
    p.copies = bl_calloc((size_t)p.n_copies, sizeof *p.copies);
    if (!p.copies)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph");
    for (int v = 0; v < p.n_copies; v++)
        p.copies[v] = BL_NO_VALUE;
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < graph->n_nodes; i++)
        code = place_node(&p, &graph->nodes[i]);
    free(p.copies);
    if (code != BL_OK) {
        free(p.nodes);
        return code;
    }
    free(graph->nodes);
    graph->nodes = p.nodes;
    graph->n_nodes = p.n_nodes;
    graph->cap_nodes = p.cap_nodes;
    return BL_OK;
}
