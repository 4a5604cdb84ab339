#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "graph/op.h"

int bl_graph_new(bl_params *params, bl_mode mode, bl_graph **out, bl_error *err)
{
    bl_graph *graph = bl_calloc(1, sizeof *graph);
    if (!graph)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a graph");
    bl_arena_init(&graph->arena);
    graph->params = params;
    graph->mode = mode;
    *out = graph;
    return BL_OK;
}

void bl_graph_free(bl_graph *graph)
{
    if (!graph)
        return;
    bl_arena_clear(&graph->arena);
    free(graph->values);
    free(graph->nodes);
    free(graph);
}

bl_value bl_graph_add_value(bl_graph *graph, bl_value_kind kind, bl_dtype dtype, const bl_shape *shape, bl_error *err)
{
    if (bl_shape_check(shape, err) != BL_OK)
        return BL_NO_VALUE;
    if (graph->n_values == graph->cap_values) {
        int cap = graph->cap_values ? graph->cap_values * 2 : 256;
        bl_value_info *values = bl_realloc(graph->values, (size_t)cap, sizeof *values);
        if (!values) {
            BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph");
            return BL_NO_VALUE;
        }
        graph->values = values;
        graph->cap_values = cap;
    }
    graph->values[graph->n_values] =
        (bl_value_info){.kind = kind, .dtype = dtype, .shape = *shape, .layout = BL_PLAIN, .param = -1};
    return graph->n_values++;
}

static int check_inputs(const bl_graph *graph, const bl_op *op, const bl_value *in, int n_in, bl_error *err)
{
    if (n_in < op->min_in || n_in > op->max_in)
        return BL_FAIL(err, BL_ERR_INTERNAL, "op %s with %d inputs", op->name, n_in);
    for (int i = 0; i < n_in; i++)
        if (in[i] >= graph->n_values || (in[i] < 0 && i < op->min_in))
            return BL_FAIL(err, BL_ERR_INTERNAL, "op %s: input %d is no value of the graph", op->name, i);
    return BL_OK;
}

/* Reserves the place, since the arrays may move while the outputs are made. */
static int grow_nodes(bl_graph *graph, bl_error *err)
{
    if (graph->n_nodes < graph->cap_nodes)
        return BL_OK;
    int cap = graph->cap_nodes ? graph->cap_nodes * 2 : 256;
    bl_node *nodes = bl_realloc(graph->nodes, (size_t)cap, sizeof *nodes);
    if (!nodes)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph");
    graph->nodes = nodes;
    graph->cap_nodes = cap;
    return BL_OK;
}

static int make_outputs(bl_graph *graph, bl_node *node, const bl_shape *shapes, bl_error *err)
{
    const bl_op *op = node->op;
    bool needs_grad = false;
    for (int i = 0; i < node->n_in; i++)
        needs_grad = needs_grad || (node->in[i] >= 0 && graph->values[node->in[i]].needs_grad);
    for (int k = 0; k < node->n_out; k++) {
        if (op->updates[k] > 0) {
            node->out[k] = node->in[op->updates[k] - 1];
            continue;
        }
        node->out[k] = bl_graph_add_value(graph, BL_VALUE_TEMP, BL_F32, &shapes[k], err);
        if (node->out[k] < 0)
            return err ? (int)err->code : BL_ERR_NOMEM;
        graph->values[node->out[k]].needs_grad = needs_grad && op->gradient;
    }
    return BL_OK;
}

int bl_graph_emit(bl_graph *graph, const bl_op *op, const bl_attrs *attrs, const bl_value *in, int n_in,
                  const char *name, bl_value *out, bl_error *err)
{
    int code = check_inputs(graph, op, in, n_in, err);
    if (code == BL_OK)
        code = grow_nodes(graph, err);
    if (code != BL_OK)
        return code;
    bl_node node = {.op = op, .n_in = n_in, .n_out = op->n_out, .name = name};
    if (attrs)
        node.attrs = *attrs;
    for (int k = 0; k < BL_MAX_IN; k++)
        node.in[k] = k < n_in ? in[k] : BL_NO_VALUE;
    for (int k = 0; k < BL_MAX_OUT; k++)
        node.out[k] = BL_NO_VALUE;
    /* Copies: adding values may move the array that these shapes lie in. */
    bl_shape in_shapes[BL_MAX_IN], out_shapes[BL_MAX_OUT] = {0};
    const bl_shape *in_pointers[BL_MAX_IN] = {NULL};
    for (int k = 0; k < n_in; k++)
        if (in[k] >= 0) {
            in_shapes[k] = graph->values[in[k]].shape;
            in_pointers[k] = &in_shapes[k];
        }
    code = op->infer(&node, in_pointers, out_shapes, err);
    while (node.n_out > 0 && out_shapes[node.n_out - 1].n_dims < 0)
        node.n_out--;
    if (code == BL_OK)
        code = make_outputs(graph, &node, out_shapes, err);
    if (code != BL_OK) {
        if (name)
            bl_error_context(err, "%s", name);
        return code;
    }
    for (int k = 0; out && k < op->n_out; k++)
        out[k] = node.out[k];
    graph->nodes[graph->n_nodes++] = node;
    return BL_OK;
}

bl_value bl_graph_find_value(const bl_graph *graph, const char *name)
{
    for (int v = 0; v < graph->n_values; v++)
        if (graph->values[v].name && strcmp(graph->values[v].name, name) == 0)
            return v;
    return BL_NO_VALUE;
}

static void dump_value(const bl_graph *graph, bl_value v, bl_str *out)
{
    static const char *const kinds[] = {"input", "param", "grad", "%", "weights"};
    char shape[128];
    if (v < 0) {
        bl_str_append(out, "-");
        return;
    }
    const bl_value_info *info = &graph->values[v];
    bl_str_printf(out, "%s%d%s", kinds[info->kind], v, bl_shape_format(&info->shape, shape, sizeof shape));
    if (info->layout.kind == BL_LAYOUT_BLOCKED)
        bl_str_printf(out, "/%d", info->layout.block);
}

char *bl_graph_dump(const bl_graph *graph)
{
    bl_str out;
    bl_str_init(&out);
    for (int i = 0; i < graph->n_nodes; i++) {
        const bl_node *node = &graph->nodes[i];
        bl_str_printf(&out, "%4d %s%s", i, node->backward ? "<- " : "", node->op->name);
        for (int k = 0; k < node->n_in; k++) {
            bl_str_append(&out, k ? ", " : " ");
            dump_value(graph, node->in[k], &out);
        }
        bl_str_append(&out, " ->");
        for (int k = 0; k < node->n_out; k++) {
            bl_str_append(&out, k ? ", " : " ");
            dump_value(graph, node->out[k], &out);
        }
        bl_str_printf(&out, "%s%s\n", node->name ? "  # " : "", node->name ? node->name : "");
    }
    return bl_str_take(&out);
}
