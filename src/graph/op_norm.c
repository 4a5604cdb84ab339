/* Batch normalisation (Ioffe and Szegedy 2015) with the activation after it:
 * y = act(gamma (x - mean) / sqrt(var + eps) + beta) [+ residual], mean and var over N, H and W. */
#include "graph/op.h"

#include <math.h>
#include <string.h>

#include "graph/act.h"

enum { X, GAMMA, BETA, MEAN, VAR, DY, GATE, POOLED };

static int64_t pixels_of(const bl_shape *shape)
{
    int64_t pixels = 1;
    for (int i = 2; i < shape->n_dims; i++)
        pixels *= shape->dim[i];
    return pixels;
}

static int infer_norm(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[X];
    out[1] = out[2] = BL_SHAPE1(in[X]->dim[1]);
    return BL_OK;
}

static int gradient_norm(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value out[BL_MAX_OUT];
    bl_value in[] = {node.in[X], node.in[GAMMA], node.in[BETA], node.out[1], node.out[2], d_out[0]};
    int code = bl_graph_emit(graph, &bl_op_norm_act_grad, &node.attrs, in, 6, node.name, out, err);
    if (code != BL_OK)
        return code;
    if (graph->values[node.in[X]].needs_grad)
        d_in[X] = out[0];
    d_in[GAMMA] = out[1];
    d_in[BETA] = out[2];
    if (node.n_in > 3 && node.in[3] >= 0)
        d_in[3] = d_out[0]; /* the residual's is the sum's own */
    return BL_OK;
}

static void apply(const bl_ref_call *call, const double *mean, const double *var, const double *residual)
{
    const bl_shape *x = call->in_shape[X];
    const bl_norm_attrs *a = &call->node->attrs.norm;
    int64_t pixels = pixels_of(x), channels = x->dim[1];
    for (int64_t i = 0; i < bl_shape_count(x); i++) {
        int64_t c = i / pixels % channels;
        double normal = (call->in[X][i] - mean[c]) / sqrt(var[c] + (double)a->eps);
        call->out[0][i] = bl_act_value(a->act, call->in[GAMMA][c] * normal + call->in[BETA][c]);
        if (residual)
            call->out[0][i] += residual[i];
    }
}

static int reference_norm(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[X];
    int64_t pixels = pixels_of(x), channels = x->dim[1], total = bl_shape_count(x);
    double *mean = call->out[1], *var = call->out[2], count = (double)total / (double)channels;
    memset(mean, 0, (size_t)channels * sizeof *mean);
    memset(var, 0, (size_t)channels * sizeof *var);
    for (int64_t i = 0; i < total; i++)
        mean[i / pixels % channels] += call->in[X][i] / count;
    for (int64_t i = 0; i < total; i++) {
        double d = call->in[X][i] - mean[i / pixels % channels];
        var[i / pixels % channels] += d * d / count;
    }
    apply(call, mean, var, call->in[3]);
    return BL_OK;
}

static int infer_apply(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[X];
    return BL_OK;
}

static int reference_apply(const bl_ref_call *call, bl_error *err)
{
    apply(call, call->in[MEAN], call->in[VAR], call->in[5]);
    return BL_OK;
}

static int infer_grad(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[X];
    out[1] = out[2] = BL_SHAPE1(in[X]->dim[1]);
    return BL_OK;
}

/* The gradient that arrives at element i: dy, or where the pass let this op take a gate's and a pool's gradient upon
 * itself, dy * gate + dpooled / pixels. */
static double arriving(const bl_ref_call *call, int64_t i, int64_t pixels)
{
    double dy = call->in[DY] ? call->in[DY][i] : 0;
    if (call->in[GATE])
        dy *= call->in[GATE][i / pixels];
    if (call->in[POOLED])
        dy += call->in[POOLED][i / pixels] / (double)pixels;
    return dy;
}

/* With g = dy act'(.) and xhat the normalised x: dbeta = sum g, dgamma = sum g xhat,
 * dx = gamma / sqrt(var + eps) (g - dbeta / n - xhat dgamma / n). */
static int reference_grad(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[X];
    const bl_norm_attrs *a = &call->node->attrs.norm;
    const double *gamma = call->in[GAMMA], *mean = call->in[MEAN], *var = call->in[VAR];
    int64_t pixels = pixels_of(x), channels = x->dim[1], total = bl_shape_count(x);
    double *dgamma = call->out[1], *dbeta = call->out[2], count = (double)total / (double)channels;
    memset(dgamma, 0, (size_t)channels * sizeof *dgamma);
    memset(dbeta, 0, (size_t)channels * sizeof *dbeta);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < total; i++) {
            int64_t c = i / pixels % channels;
            double scale = 1 / sqrt(var[c] + (double)a->eps), hat = (call->in[X][i] - mean[c]) * scale;
            double g = arriving(call, i, pixels) * bl_act_slope(a->act, gamma[c] * hat + call->in[BETA][c]);
            if (pass == 1) {
                call->out[0][i] = gamma[c] * scale * (g - dbeta[c] / count - hat * dgamma[c] / count);
                continue;
            }
            dbeta[c] += g;
            dgamma[c] += g * hat;
        }
    return BL_OK;
}

static int infer_track(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    for (int k = 0; k < 3; k++)
        out[k] = *in[k];
    return BL_OK;
}

/* PyTorch's rule: the running variance takes the unbiased one. */
static int reference_track(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *x = call->in_shape[5];
    double momentum = (double)call->node->attrs.norm.momentum, n = (double)bl_shape_count(x) / (double)x->dim[1];
    double unbiased = n > 1 ? n / (n - 1) : 1;
    for (int64_t c = 0; c < x->dim[1]; c++) {
        call->out[0][c] += momentum * (call->in[3][c] - call->out[0][c]);
        call->out[1][c] += momentum * (unbiased * call->in[4][c] - call->out[1][c]);
    }
    call->out[2][0] += 1;
    return BL_OK;
}

const bl_op bl_op_norm_act = {.name = "norm_act",
                              .min_in = 3,
                              .max_in = 4,
                              .n_out = 3,
                              .layout = BL_OP_IMAGE,
                              .in_place = {{4}},
                              .infer = infer_norm,
                              .gradient = gradient_norm,
                              .reference = reference_norm};
const bl_op bl_op_norm_act_apply = {.name = "norm_act_apply",
                                    .min_in = 5,
                                    .max_in = 6,
                                    .n_out = 1,
                                    .layout = BL_OP_IMAGE,
                                    .in_place = {{1, 6}},
                                    .infer = infer_apply,
                                    .reference = reference_apply};
const bl_op bl_op_norm_act_grad = {.name = "norm_act_grad",
                                   .min_in = 6,
                                   .max_in = 8,
                                   .n_out = 3,
                                   .layout = BL_OP_IMAGE,
                                   .in_place = {{6, 1}},
                                   .infer = infer_grad,
                                   .reference = reference_grad};
const bl_op bl_op_norm_track = {.name = "norm_track",
                                .min_in = 6,
                                .max_in = 6,
                                .n_out = 3,
                                .layout = BL_OP_IMAGE,
                                .shape_only = 1 << 5,
                                .updates = {1, 2, 3},
                                .infer = infer_track,
                                .reference = reference_track};
