#include "train/layers.h"

#include "graph/op.h"
#include "model/model.h"

/* What every layer may end with. */
static void print_end(const bl_graph *graph, const bl_node *node, FILE *out)
{
    fprintf(out, "%s%s", node->n_in > 2 && node->in[2] >= 0 ? ":bias" : "",
            graph->values[node->in[0]].kind == BL_VALUE_INPUT ? ":first" : "");
}

static void print_conv(const bl_graph *graph, const bl_node *node, FILE *out)
{
    const bl_shape *x = &graph->values[node->in[0]].shape, *y = &graph->values[node->out[0]].shape;
    const bl_conv_attrs *a = &node->attrs.conv;
    fprintf(out, "conv:%lldx%lldx%lld:o%lld:k%dx%d:s%d:p%d:d%d:g%d", (long long)x->dim[1], (long long)x->dim[2],
            (long long)x->dim[3], (long long)y->dim[1], a->kernel[0], a->kernel[1], a->stride[0], a->pad[0],
            a->dilation[0], a->groups);
    print_end(graph, node, out);
}

static void print_linear(const bl_graph *graph, const bl_node *node, FILE *out)
{
    const bl_shape *x = &graph->values[node->in[0]].shape, *y = &graph->values[node->out[0]].shape;
    int64_t in = x->dim[x->n_dims - 1];
    fprintf(out, "linear:%lld:o%lld:r%lld", (long long)in, (long long)y->dim[y->n_dims - 1],
            (long long)(bl_shape_count(x) / in));
    print_end(graph, node, out);
}

static void print_attention(const bl_graph *graph, const bl_node *node, FILE *out)
{
    const bl_shape *qkv = &graph->values[node->in[0]].shape;
    int heads = node->attrs.attention.heads;
    fprintf(out, "attention:t%lld:h%d:w%lld", (long long)qkv->dim[1], heads, (long long)(qkv->dim[2] / 3 / heads));
}

static void print_graph(const bl_graph *graph, FILE *out)
{
    for (int i = 0; i < graph->n_nodes; i++) {
        const bl_node *node = &graph->nodes[i];
        if (node->op == &bl_op_conv2d)
            print_conv(graph, node, out);
        else if (node->op == &bl_op_linear)
            print_linear(graph, node, out);
        else if (node->op == &bl_op_attention)
            print_attention(graph, node, out);
        else
            continue;
        fprintf(out, " %s\n", node->name ? node->name : "-");
    }
}

int bl_layers_print(const bl_train_options *o, FILE *out, bl_error *err)
{
    const bl_model *model = o->model;
    bool detects = model->task == BL_TASK_DETECT;
    int side = (int)(o->image_size > 0 ? o->image_size : model->image_size);
    int classes = (int)(o->classes > 0 ? o->classes : detects ? 80 : 1000);
    bl_params *params = NULL;
    bl_graph *graph = NULL;
    int code = bl_params_new(&params, err);
    if (code == BL_OK)
        code = bl_graph_new(params, BL_MODE_EVAL, &graph, err);
    if (code == BL_OK) {
        bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(1, 3, side, side));
        bl_detector_heads heads;
        if (detects)
            model->build_detector(graph, x, classes, &heads);
        else
            model->build(graph, x, classes);
        code = bl_graph_finish(graph, err);
    }
    if (code == BL_OK)
        print_graph(graph, out);
    bl_graph_free(graph);
    bl_params_free(params);
    return code;
}
