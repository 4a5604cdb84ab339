#include "formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "model/model.h"

double formula_uniform(uint64_t stream, uint64_t index)
{
    uint64_t z = (stream << 32) + index;
    z = z * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 40) / (1 << 23) - 1;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static double start_value(const bl_param *p, double shift, double u)
{
    double fan_in = 1;
    for (int d = 1; d < p->shape.n_dims; d++)
        fan_in *= (double)p->shape.dim[d];
    if (ends_with(p->name, "running_var"))
        return 1 + 0.3 * u;
    if (shift != 0 && ends_with(p->name, "bias") && strncmp(p->name, "fc.", 3) != 0)
        return (u > -0.5 ? shift : -shift) + 0.1 * u;
    if (ends_with(p->name, "running_mean") || ends_with(p->name, "bias"))
        return 0.1 * u;
    if (ends_with(p->name, "num_batches_tracked"))
        return 0;
    return p->shape.n_dims == 1 ? 1 + 0.2 * u : sqrt(6 / fan_in) * u;
}

static void fill(formula_net *net, int size, double shift)
{
    for (int i = 0; i < bl_params_count(net->params); i++) {
        const bl_param *p = bl_params_at(net->params, i);
        float *value = bl_params_value(net->params, i);
        for (int64_t k = 0; k < p->count; k++)
            value[k] = (float)start_value(p, shift, formula_uniform((uint64_t)i + 1, (uint64_t)k));
    }
    bl_params_touch(net->params);
    for (size_t i = 0; i < (size_t)(FORMULA_BATCH * 3 * size * size); i++)
        net->images[i] = (float)(2 * formula_uniform(1 << 20, i));
    for (int i = 0; i < FORMULA_BATCH; i++)
        net->labels[i] = i * 7 % FORMULA_CLASSES;
}

/* A detector's predictions brought to logits by one linear layer a head: Probed of tools/reference_yolov7.py. */
static bl_value probe(bl_graph *graph, const bl_model *model, bl_value x)
{
    bl_detector_heads heads;
    bl_value sum = BL_NO_VALUE;
    model->build_detector(graph, x, FORMULA_CLASSES, &heads);
    int n = heads.spec.n_levels * (heads.spec.auxiliary ? 2 : 1);
    for (int i = 0; i < n; i++) {
        char name[24];
        bl_value head = i < heads.spec.n_levels ? heads.head[i] : heads.aux[i - heads.spec.n_levels];
        snprintf(name, sizeof name, "probe.%d", i);
        bl_value logits =
            bl_build_linear(graph, name, bl_build_flatten(graph, head), (bl_linear_args){.outputs = FORMULA_CLASSES});
        sum = i == 0 ? logits : bl_build_add(graph, sum, logits);
    }
    return sum;
}

int formula_net_init(formula_net *net, const formula_setup *setup, bl_mode mode)
{
    *net = (formula_net){0};
    bl_error err = {0};
    bl_graph *graph = NULL;
    const bl_model *found = bl_model_find(setup->model);
    int size = setup->size;
    if (!found) {
        fprintf(stderr, "there is no model '%s'\n", setup->model);
        return BL_ERR_USAGE;
    }
    bl_params_new(&net->params, &err);
    bl_graph_new(net->params, mode, &graph, &err);
    bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(FORMULA_BATCH, 3, size, size));
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(FORMULA_BATCH));
    bl_value logits = found->task == BL_TASK_DETECT ? probe(graph, found, x) : found->build(graph, x, FORMULA_CLASSES);
    bl_build_output(graph, "logits", logits);
    bl_build_softmax_cross_entropy(graph, logits, labels, 0);
    for (int i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].op == &bl_op_dropout || graph->nodes[i].op == &bl_op_drop_path)
            graph->nodes[i].attrs.dropout.p = 0;
    net->images = malloc(sizeof(float) * (size_t)(FORMULA_BATCH * 3 * size * size));
    bl_exec_options options = {.n_threads = setup->n_threads > 0 ? setup->n_threads : 2};
    int code = bl_exec_new(&bl_backend_cpu, graph, &options, &net->exec, &err);
    if (code == BL_OK) {
        fill(net, size, setup->shift);
        bl_exec_bind(net->exec, "images", net->images, &err);
        bl_exec_bind(net->exec, "labels", net->labels, &err);
    }
    if (err.code != BL_OK)
        fprintf(stderr, "%s\n", err.message);
    return err.code;
}

void formula_net_clear(formula_net *net)
{
    bl_exec_free(net->exec);
    bl_params_free(net->params);
    free(net->images);
}
