#include "timing/layer_work.h"

#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/attributes.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "timing/samples.h"

/* Of the layers' grammar: larger counts would not be ints any more, which builders and libraries take. */
enum { SIZE_MAX_INT = 1 << 24 };

static int check(const bl_layer *l, int batch, bl_error *err)
{
    const int64_t sizes[] = {l->in, l->out, l->rows, l->heads, l->height, l->width, l->kernel[0], l->pad, l->stride};
    for (size_t i = 0; i < BL_ARRAY_LEN(sizes); i++)
        if (sizes[i] > SIZE_MAX_INT)
            return BL_FAIL(err, BL_ERR_USAGE, "sizes above %d are not timed", SIZE_MAX_INT);
    if (l->kind == BL_LAYER_CONV && l->kernel[0] != l->kernel[1])
        return BL_FAIL(err, BL_ERR_USAGE, "the trainer's convolutions are square");
    return batch >= 1 ? BL_OK : BL_FAIL(err, BL_ERR_USAGE, "a batch has a sample at least");
}

static bl_shape input_shape(const bl_layer *l, int batch)
{
    switch (l->kind) {
    case BL_LAYER_CONV:
        return BL_SHAPE4(batch, l->in, l->height, l->width);
    case BL_LAYER_ATTENTION:
        return BL_SHAPE3(batch, l->rows, 3 * l->heads * l->in);
    default:
        return l->rows > 1 ? BL_SHAPE3(batch, l->rows, l->in) : BL_SHAPE2(batch, l->in);
    }
}

/* What the layer reads is learnt, unless it is the first: so its gradient is wanted, and it lies as activations do. */
static void build(bl_graph *graph, const bl_layer *l, int batch)
{
    bl_shape shape = input_shape(l, batch);
    bl_init normal = {.kind = BL_INIT_NORMAL, .a = 1};
    bl_value x = l->first ? bl_build_input(graph, "x", BL_F32, shape)
                          : bl_build_parameter(graph, NULL, "x", shape, shape, normal);
    bl_value y;
    if (l->kind == BL_LAYER_CONV) {
        bl_conv2d_args args = {.out_channels = (int)l->out,
                               .kernel = (int)l->kernel[0],
                               .stride = (int)l->stride,
                               .pad = (int)l->pad,
                               .dilation = (int)l->dilation,
                               .groups = (int)l->groups,
                               .bias = l->bias};
        y = bl_build_conv2d(graph, "layer", x, args);
    } else if (l->kind == BL_LAYER_LINEAR) {
        y = bl_build_linear(graph, "layer", x, (bl_linear_args){.outputs = (int)l->out, .bias = l->bias});
    } else {
        y = bl_build_attention(graph, x, (int)l->heads);
    }
    /* The executor differentiates "loss" from "loss_gradient"; both may have any shape. */
    bl_build_output(graph, "loss", y);
    bl_build_input(graph, "loss_gradient", BL_F32, bl_build_shape(graph, y));
}

static void find_nodes(bl_layer_work *w, bl_role role)
{
    static const bl_op *const ops[][BL_N_ROLES] = {
        {&bl_op_conv2d, &bl_op_conv2d_grad_data, &bl_op_conv2d_grad_weights},
        {&bl_op_linear, &bl_op_linear_grad_data, &bl_op_linear_grad_weights},
        {&bl_op_attention, &bl_op_attention_grad, NULL},
    };
    const bl_graph *graph = bl_exec_graph(w->exec);
    const bl_exec_profile_row *rows;
    bl_exec_profile(w->exec, &rows);
    for (int i = 0; i < graph->n_nodes && w->n_nodes < BL_LAYER_WORK_NODES; i++)
        for (size_t kind = 0; kind < BL_ARRAY_LEN(ops); kind++)
            if (graph->nodes[i].op == ops[kind][role]) {
                w->kernel = rows[i].kernel;
                w->nodes[w->n_nodes++] = i;
            }
}

static int random_data(const bl_graph *graph, const char *name, float **out, bl_error *err)
{
    bl_value v = bl_graph_find_value(graph, name);
    size_t n = v >= 0 ? (size_t)bl_shape_count(&graph->values[v].shape) : 0;
    *out = n > 0 ? bl_aligned_alloc(64, n * sizeof **out) : NULL;
    if (!*out)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a layer's data");
    bl_samples_fill(*out, n);
    return BL_OK;
}

/* Once the whole graph, so that every value holds what it would in a step. */
static int prepare(bl_layer_work *w, const bl_layer *layer, bl_error *err)
{
    const bl_graph *graph = bl_exec_graph(w->exec);
    int code = bl_params_init(w->params, 1, err);
    if (code == BL_OK)
        code = random_data(graph, "loss_gradient", &w->seed, err);
    if (code == BL_OK)
        code = bl_exec_bind(w->exec, "loss_gradient", w->seed, err);
    if (code == BL_OK && layer->first)
        code = random_data(graph, "x", &w->input, err);
    if (code == BL_OK && layer->first)
        code = bl_exec_bind(w->exec, "x", w->input, err);
    return code == BL_OK ? bl_exec_run(w->exec, err) : code;
}

int bl_layer_work_make(const bl_layer *layer, bl_role role, int batch, int threads, bl_layer_work *out, bl_error *err)
{
    *out = (bl_layer_work){0};
    bl_graph *graph = NULL;
    int code = check(layer, batch, err);
    if (code == BL_OK)
        code = bl_params_new(&out->params, err);
    if (code == BL_OK)
        code = bl_graph_new(out->params, BL_MODE_TRAIN, &graph, err);
    if (code != BL_OK)
        return code;
    build(graph, layer, batch);
    bl_exec_options options = {.n_threads = threads, .no_reuse = true, .profile = true};
    code = bl_exec_new(&bl_backend_cpu, graph, &options, &out->exec, err);
    if (code == BL_OK)
        code = prepare(out, layer, err);
    if (code != BL_OK)
        return code;
    find_nodes(out, role);
    bl_product products[BL_LAYER_PRODUCTS];
    int n = bl_layer_products(layer, batch, role, products);
    for (int i = 0; i < n; i++)
        out->flop += products[i].flop;
    return out->n_nodes > 0 ? BL_OK : BL_FAIL(err, BL_ERR_INTERNAL, "the layer's graph has no such node");
}

int bl_layer_work_run(void *work, bl_error *err)
{
    bl_layer_work *w = work;
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < w->n_nodes; i++)
        code = bl_exec_run_node(w->exec, w->nodes[i], err);
    return code;
}

void bl_layer_work_clear(bl_layer_work *w)
{
    bl_exec_free(w->exec);
    bl_params_free(w->params);
    free(w->input);
    free(w->seed);
    *w = (bl_layer_work){0};
}
