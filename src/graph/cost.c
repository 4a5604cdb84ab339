#include "graph/cost.h"

#include "graph/op.h"

/* Every output element takes one multiply-add for each weight of its filter or row; one of attention takes one for each
 * token in the scores and one in the weighted sum. */
static int64_t of_node(const bl_graph *graph, const bl_node *node)
{
    if (!node->backward && node->op == &bl_op_attention) {
        const bl_shape *y = &graph->values[node->out[0]].shape;
        return 2 * bl_shape_count(y) / y->dim[0] * y->dim[1];
    }
    if (node->backward || (node->op != &bl_op_conv2d && node->op != &bl_op_linear))
        return 0;
    const bl_shape *w = &graph->values[node->in[1]].shape, *y = &graph->values[node->out[0]].shape;
    return bl_shape_count(y) / y->dim[0] * (bl_shape_count(w) / w->dim[0]);
}

int64_t bl_graph_multiply_adds(const bl_graph *graph)
{
    int64_t sum = 0;
    for (int i = 0; i < graph->n_nodes; i++)
        sum += of_node(graph, &graph->nodes[i]);
    return sum;
}
