#include "graph/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/act.h"
#include "graph/op.h"

struct bl_reference {
    const bl_graph *graph;
    double **data; /* one array a value */
};

static int64_t count_of(const bl_graph *graph, bl_value v)
{
    return bl_shape_count(&graph->values[v].shape);
}

int bl_reference_new(const bl_graph *graph, bl_reference **out, bl_error *err)
{
    bl_reference *r = bl_calloc(1, sizeof *r);
    bool ok = r && (r->data = bl_calloc((size_t)graph->n_values, sizeof *r->data)) != NULL;
    if (r)
        r->graph = graph;
    for (int v = 0; ok && v < graph->n_values; v++) {
        const bl_value_info *info = &graph->values[v];
        r->data[v] = bl_calloc((size_t)count_of(graph, v), sizeof **r->data);
        ok = r->data[v] != NULL;
        const float *value = info->kind == BL_VALUE_PARAM ? bl_params_value(graph->params, info->param) : NULL;
        for (int64_t i = 0; ok && value && i < count_of(graph, v); i++)
            r->data[v][i] = (double)value[i];
    }
    if (!ok) {
        bl_reference_free(r);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph's reference");
    }
    *out = r;
    return BL_OK;
}

void bl_reference_free(bl_reference *r)
{
    if (!r)
        return;
    for (int v = 0; r->data && v < r->graph->n_values; v++)
        free(r->data[v]);
    free(r->data);
    free(r);
}

double *bl_reference_data(bl_reference *r, bl_value value)
{
    return r->data[value];
}

/* What an absorbed normalisation would have made. NULL when memory is out. */
static double *normalised(const bl_reference *r, const bl_node *node)
{
    const bl_shape *shape = &r->graph->values[node->in[0]].shape;
    const double *x = r->data[node->in[0]], *s[4];
    for (int k = 0; k < 4; k++)
        s[k] = r->data[node->in[node->norm_at + k]];
    int64_t total = bl_shape_count(shape), pixels = shape->dim[2] * shape->dim[3];
    double *y = bl_calloc((size_t)total, sizeof *y);
    for (int64_t i = 0; y && i < total; i++) {
        int64_t c = i / pixels % shape->dim[1];
        y[i] =
            bl_act_value(node->norm.act, s[0][c] * (x[i] - s[2][c]) / sqrt(s[3][c] + (double)node->norm.eps) + s[1][c]);
    }
    return y;
}

static int run_node(bl_reference *r, const bl_node *node, uint64_t seed, uint64_t step, bl_error *err)
{
    bl_ref_call call = {.node = node, .seed = seed, .step = step};
    double *temporary = node->norm_at > 0 ? normalised(r, node) : NULL;
    if (node->norm_at > 0 && !temporary)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph's reference");
    int n_in = node->norm_at > 0 ? node->norm_at : node->n_in;
    for (int k = 0; k < n_in; k++)
        if (node->in[k] >= 0) {
            call.in[k] = k == 0 && temporary ? temporary : r->data[node->in[k]];
            call.in_shape[k] = &r->graph->values[node->in[k]].shape;
        }
    double *unwanted[BL_MAX_OUT] = {NULL};
    bl_shape shapes[BL_MAX_OUT];
    int code = node->op->infer(node, call.in_shape, shapes, err);
    for (int k = 0; k < node->n_out && code == BL_OK; k++) {
        call.out_shape[k] = &shapes[k];
        if (node->out[k] < 0)
            unwanted[k] = bl_calloc((size_t)bl_shape_count(&shapes[k]), sizeof(double));
        call.out[k] = node->out[k] >= 0 ? r->data[node->out[k]] : unwanted[k];
        if (!call.out[k])
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the graph's reference");
    }
    if (code == BL_OK)
        code = node->op->reference(&call, err);
    for (int k = 0; k < node->n_out; k++)
        free(unwanted[k]);
    free(temporary);
    return code;
}

int bl_reference_run(bl_reference *r, uint64_t seed, uint64_t step, bl_error *err)
{
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < r->graph->n_nodes; i++)
        code = run_node(r, &r->graph->nodes[i], seed, step, err);
    return code;
}
