/* What the gradient checks need around the cases. */
#include "testing.h"

#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/op.h"
#include "graph/passes.h"

#define STEP       1e-5
#define MAX_PROBES 24 /* elements of a parameter that are moved, spread over it */

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

const int32_t *case_labels(const bl_graph *graph)
{
    static int32_t labels[16];
    bl_shape shape = graph->values[bl_graph_find_value(graph, "y")].shape;
    assert_true(shape.dim[0] <= (int64_t)BL_ARRAY_LEN(labels));
    for (int64_t i = 0; i < shape.dim[0]; i++)
        labels[i] = (int32_t)((i * 7 + 1) % shape.dim[1]);
    if (shape.dim[0] > 2)
        labels[1] = -1;
    return labels;
}

const float case_share = 0.7f;

const int32_t *case_others(const bl_graph *graph)
{
    static int32_t others[16];
    bl_shape shape = graph->values[bl_graph_find_value(graph, "y")].shape;
    assert_true(shape.dim[0] <= (int64_t)BL_ARRAY_LEN(others));
    for (int64_t i = 0; i < shape.dim[0]; i++)
        others[i] = (int32_t)((i * 4 + 1) % shape.dim[1]);
    return others;
}

static void odd_buffers(bl_params *params)
{
    for (int i = 0; i < bl_params_count(params); i++) {
        const bl_param *p = bl_params_at(params, i);
        for (int64_t k = 0; k < p->count; k++)
            if (p->buffer)
                bl_params_value(params, i)[k] = 0.5f + 0.25f * (float)(k % 5);
            else if (p->init.kind == BL_INIT_ONES || p->init.kind == BL_INIT_ZEROS)
                bl_params_value(params, i)[k] += 0.125f * (float)(k % 7) - 0.25f;
    }
    bl_params_touch(params);
}

bl_graph *case_graph(const graph_case *c, bl_mode mode, bl_params **params)
{
    bl_error err = {0};
    bool fresh = *params == NULL;
    if (fresh)
        must(bl_params_new(params, &err), &err);
    bl_graph *graph = NULL;
    must(bl_graph_new(*params, mode, &graph, &err), &err);
    bl_value y = bl_build_flatten(graph, c->build(graph));
    bl_build_output(graph, "y", y);
    bl_shape rows = bl_build_shape(graph, y);
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(rows.dim[0]));
    if (c->mixed) {
        bl_value others = bl_build_input(graph, "others", BL_I32, BL_SHAPE1(rows.dim[0]));
        bl_value share = bl_build_input(graph, "share", BL_F32, BL_SHAPE1(1));
        bl_build_mixed_cross_entropy(graph, y, labels, others, share, c->label_smoothing);
    } else {
        bl_build_softmax_cross_entropy(graph, y, labels, c->label_smoothing);
    }
    must(bl_graph_finish(graph, &err), &err);
    if (fresh) {
        must(bl_params_alloc(*params, true, &err), &err);
        must(bl_params_init(*params, 5, &err), &err);
        odd_buffers(*params);
    }
    return graph;
}

bl_reference *case_reference(const bl_graph *graph)
{
    bl_error err = {0};
    bl_reference *reference = NULL;
    must(bl_reference_new(graph, &reference, &err), &err);
    bl_value labels = bl_graph_find_value(graph, "labels");
    const int32_t *data = case_labels(graph);
    for (int64_t i = 0; i < graph->values[labels].shape.dim[0]; i++)
        bl_reference_data(reference, labels)[i] = data[i];
    const float *targets = case_targets(graph);
    bl_value v = bl_graph_find_value(graph, "targets");
    for (int64_t i = 0; targets && i < bl_shape_count(&graph->values[v].shape); i++)
        bl_reference_data(reference, v)[i] = (double)targets[i];
    bl_value others = bl_graph_find_value(graph, "others");
    for (int64_t i = 0; others >= 0 && i < graph->values[others].shape.dim[0]; i++)
        bl_reference_data(reference, others)[i] = case_others(graph)[i];
    if (others >= 0)
        bl_reference_data(reference, bl_graph_find_value(graph, "share"))[0] = (double)case_share;
    return reference;
}

double case_loss(const bl_graph *graph, bl_reference *reference)
{
    bl_error err = {0};
    must(bl_reference_run(reference, 0, 0, &err), &err);
    return bl_reference_data(reference, bl_graph_find_value(graph, "loss"))[0];
}

bl_value case_grad(const bl_graph *graph, int param)
{
    for (int v = 0; v < graph->n_values; v++)
        if (graph->values[v].kind == BL_VALUE_GRAD && graph->values[v].param == param)
            return v;
    return BL_NO_VALUE;
}

double relative_error(const double *a, const double *b, int64_t n)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    if (isnan(difference))
        return INFINITY;
    return difference == 0 ? 0 : size == 0 ? 1 : sqrt(difference / size);
}

double gradient_error(bl_graph *graph)
{
    bl_error err = {0};
    bl_value loss = bl_graph_find_value(graph, "loss"), one = BL_NO_VALUE;
    int n_forward = graph->n_nodes;
    must(bl_graph_differentiate(graph, &loss, &one, 1, &err), &err);
    bl_reference *at = case_reference(graph);
    case_loss(graph, at);
    graph->n_nodes = n_forward; /* the differences need no backward pass */
    double worst = 0;
    for (int v = 0; v < graph->n_values; v++) {
        if (graph->values[v].kind != BL_VALUE_PARAM || !graph->values[v].needs_grad)
            continue;
        bl_value gradient = case_grad(graph, graph->values[v].param);
        assert_true(gradient >= 0);
        int64_t n = bl_shape_count(&graph->values[v].shape);
        double numeric[MAX_PROBES], analytic[MAX_PROBES];
        int64_t n_probes = n < MAX_PROBES ? n : MAX_PROBES;
        bl_reference *moved = case_reference(graph);
        for (int64_t i = 0; i < n_probes; i++) {
            int64_t element = i * n / n_probes;
            double *x = bl_reference_data(moved, v) + element, kept = *x;
            *x = kept + STEP;
            double above = case_loss(graph, moved);
            *x = kept - STEP;
            numeric[i] = (above - case_loss(graph, moved)) / (2 * STEP);
            *x = kept;
            analytic[i] = bl_reference_data(at, gradient)[element];
        }
        double error = relative_error(analytic, numeric, n_probes);
        worst = fmax(worst, error);
        bl_reference_free(moved);
    }
    bl_reference_free(at);
    return worst;
}
