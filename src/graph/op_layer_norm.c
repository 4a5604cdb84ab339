/* Layer normalisation (Ba et al. 2016) over the channels, for each image and pixel (or row) alone:
 * y = gamma (x - mean) / sqrt(var + eps) + beta, mean and var over dimension 1; of tokens (N, T, C) over the last. */
#include "graph/op.h"

#include <math.h>
#include <string.h>

enum { X, GAMMA, BETA, MEAN = 2, RSTD = 3, DY = 4 }; /* BETA of the forward op, MEAN and RSTD of its gradient */

/* Rows are what is normalised: their number, and how far apart a row's elements lie. */
typedef struct row_walk {
    int64_t n, channels, apart;
} row_walk;

static row_walk rows_of(const bl_shape *x)
{
    int64_t apart = 1, channels = x->dim[x->n_dims == 3 ? 2 : 1];
    for (int d = 2; d < x->n_dims && x->n_dims != 3; d++)
        apart *= x->dim[d];
    return (row_walk){.n = bl_shape_count(x) / channels, .channels = channels, .apart = apart};
}

/* Where row r begins. */
static int64_t start_of(const row_walk *rows, int64_t r)
{
    return r / rows->apart * rows->apart * rows->channels + r % rows->apart;
}

static int infer_layer_norm(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    if (in[X]->n_dims < 2 || in[GAMMA]->dim[0] != rows_of(in[X]).channels)
        return BL_FAIL(err, BL_ERR_INTERNAL, "layer normalisation wants channels");
    out[0] = *in[X];
    out[1] = out[2] = BL_SHAPE1(rows_of(in[X]).n);
    return BL_OK;
}

static int gradient_layer_norm(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value out[BL_MAX_OUT];
    bl_value in[] = {node.in[X], node.in[GAMMA], node.out[1], node.out[2], d_out[0]};
    int code = bl_graph_emit(graph, &bl_op_layer_norm_grad, &node.attrs, in, 5, node.name, out, err);
    if (code != BL_OK)
        return code;
    if (graph->values[node.in[X]].needs_grad)
        d_in[X] = out[0];
    d_in[GAMMA] = out[1];
    d_in[BETA] = out[2];
    return BL_OK;
}

static int reference_layer_norm(const bl_ref_call *call, bl_error *err)
{
    row_walk rows = rows_of(call->in_shape[X]);
    for (int64_t r = 0; r < rows.n; r++) {
        const double *x = call->in[X] + start_of(&rows, r);
        double *y = call->out[0] + start_of(&rows, r), mean = 0, var = 0;
        for (int64_t c = 0; c < rows.channels; c++)
            mean += x[c * rows.apart] / (double)rows.channels;
        for (int64_t c = 0; c < rows.channels; c++)
            var += (x[c * rows.apart] - mean) * (x[c * rows.apart] - mean) / (double)rows.channels;
        double rstd = 1 / sqrt(var + (double)call->node->attrs.norm.eps);
        for (int64_t c = 0; c < rows.channels; c++)
            y[c * rows.apart] = call->in[GAMMA][c] * (x[c * rows.apart] - mean) * rstd + call->in[BETA][c];
        call->out[1][r] = mean;
        call->out[2][r] = rstd;
    }
    return BL_OK;
}

static int infer_layer_norm_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[X];
    out[1] = out[2] = *in[GAMMA];
    return BL_OK;
}

/* With g = dy gamma and xhat the normalised x: dx = rstd (g - mean(g) - xhat mean(g xhat)). */
static int reference_layer_norm_grad(const bl_ref_call *call, bl_error *err)
{
    row_walk rows = rows_of(call->in_shape[X]);
    memset(call->out[1], 0, (size_t)rows.channels * sizeof(double));
    memset(call->out[2], 0, (size_t)rows.channels * sizeof(double));
    for (int64_t r = 0; r < rows.n; r++) {
        int64_t start = start_of(&rows, r);
        const double *x = call->in[X] + start, *dy = call->in[DY] + start;
        double mean = call->in[MEAN][r], rstd = call->in[RSTD][r], mean_g = 0, mean_gx = 0;
        for (int64_t c = 0; c < rows.channels; c++) {
            double xhat = (x[c * rows.apart] - mean) * rstd, d = dy[c * rows.apart];
            mean_g += d * call->in[GAMMA][c] / (double)rows.channels;
            mean_gx += d * call->in[GAMMA][c] * xhat / (double)rows.channels;
            call->out[1][c] += d * xhat;
            call->out[2][c] += d;
        }
        for (int64_t c = 0; c < rows.channels; c++) {
            double xhat = (x[c * rows.apart] - mean) * rstd;
            call->out[0][start + c * rows.apart] =
                rstd * (dy[c * rows.apart] * call->in[GAMMA][c] - mean_g - xhat * mean_gx);
        }
    }
    return BL_OK;
}

const bl_op bl_op_layer_norm = {.name = "layer_norm",
                                .min_in = 3,
                                .max_in = 3,
                                .n_out = 3,
                                .layout = BL_OP_IMAGE,
                                .infer = infer_layer_norm,
                                .gradient = gradient_layer_norm,
                                .reference = reference_layer_norm};
const bl_op bl_op_layer_norm_grad = {.name = "layer_norm_grad",
                                     .min_in = 5,
                                     .max_in = 5,
                                     .n_out = 3,
                                     .layout = BL_OP_IMAGE,
                                     .in_place = {{5}},
                                     .infer = infer_layer_norm_grad,
                                     .reference = reference_layer_norm_grad};
