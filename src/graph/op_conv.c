/* Convolutions: x (N, C, H, W), w (O, C / groups, kh, kw), y (N, O, H', W'). */
#include "graph/op.h"

#include <string.h>

static int64_t out_extent(int64_t in, const bl_conv_attrs *a, int axis)
{
    int64_t span = (int64_t)a->dilation[axis] * (a->kernel[axis] - 1) + 1;
    int64_t room = in + 2 * a->pad[axis] - span;
    return room < 0 ? 0 : room / a->stride[axis] + 1;
}

static int infer_conv(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    const bl_conv_attrs *a = &node->attrs.conv;
    const bl_shape *x = in[0], *w = in[1];
    char text[128];
    out[0] = BL_SHAPE4(x->dim[0], w->dim[0], out_extent(x->dim[2], a, 0), out_extent(x->dim[3], a, 1));
    if (out[0].dim[2] < 1 || out[0].dim[3] < 1)
        return BL_FAIL(err, BL_ERR_USAGE, "an image of %s is too small for a %dx%d convolution",
                       bl_shape_format(x, text, sizeof text), a->kernel[0], a->kernel[1]);
    return BL_OK;
}

static int gradient_conv(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    bl_value out[BL_MAX_OUT];
    int code = BL_OK;
    if (graph->values[node.in[1]].needs_grad) {
        bl_value in[] = {node.in[0], d_out[0], node.in[1], node.in[2]};
        code = bl_graph_emit(graph, &bl_op_conv2d_grad_weights, &node.attrs, in, node.n_in > 2 ? 4 : 3, node.name, out,
                             err);
        d_in[1] = out[0];
        if (node.n_in > 2)
            d_in[2] = out[1];
    }
    if (code == BL_OK && graph->values[node.in[0]].needs_grad) {
        bl_value in[] = {d_out[0], node.in[1], node.in[0]};
        code = bl_graph_emit(graph, &bl_op_conv2d_grad_data, &node.attrs, in, 3, node.name, &d_in[0], err);
    }
    return code;
}

/* The sums of all three, over every pair of an input and an output element that a weight joins. */
typedef struct conv_walk {
    const bl_conv_attrs *a;
    const bl_shape *x, *w, *y;
} conv_walk;

typedef void conv_visit(void *context, int64_t x_at, int64_t w_at, int64_t y_at);

static void walk_pixel(const conv_walk *k, int64_t n, int64_t o, int64_t oh, int64_t ow, conv_visit *visit,
                       void *context)
{
    const bl_conv_attrs *a = k->a;
    int64_t per_group = k->w->dim[1], group = o / (k->w->dim[0] / a->groups);
    int64_t y_at = ((n * k->y->dim[1] + o) * k->y->dim[2] + oh) * k->y->dim[3] + ow;
    for (int64_t c = 0; c < per_group; c++)
        for (int i = 0; i < a->kernel[0]; i++)
            for (int j = 0; j < a->kernel[1]; j++) {
                int64_t ih = oh * a->stride[0] + i * a->dilation[0] - a->pad[0];
                int64_t iw = ow * a->stride[1] + j * a->dilation[1] - a->pad[1];
                if (ih < 0 || ih >= k->x->dim[2] || iw < 0 || iw >= k->x->dim[3])
                    continue;
                int64_t channel = group * per_group + c;
                visit(context, ((n * k->x->dim[1] + channel) * k->x->dim[2] + ih) * k->x->dim[3] + iw,
                      ((o * per_group + c) * a->kernel[0] + i) * a->kernel[1] + j, y_at);
            }
}

static void walk(const conv_walk *k, conv_visit *visit, void *context)
{
    for (int64_t n = 0; n < k->y->dim[0]; n++)
        for (int64_t o = 0; o < k->y->dim[1]; o++)
            for (int64_t oh = 0; oh < k->y->dim[2]; oh++)
                for (int64_t ow = 0; ow < k->y->dim[3]; ow++)
                    walk_pixel(k, n, o, oh, ow, visit, context);
}

typedef struct conv_sums {
    const double *x, *w, *y; /* the two that are read */
    double *out;
} conv_sums;

static void add_y(void *context, int64_t x_at, int64_t w_at, int64_t y_at)
{
    conv_sums *s = context;
    s->out[y_at] += s->x[x_at] * s->w[w_at];
}

static void add_dx(void *context, int64_t x_at, int64_t w_at, int64_t y_at)
{
    conv_sums *s = context;
    s->out[x_at] += s->y[y_at] * s->w[w_at];
}

static void add_dw(void *context, int64_t x_at, int64_t w_at, int64_t y_at)
{
    conv_sums *s = context;
    s->out[w_at] += s->y[y_at] * s->x[x_at];
}

static int reference_conv(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *y = call->out_shape[0];
    int64_t pixels = y->dim[2] * y->dim[3];
    for (int64_t i = 0; i < bl_shape_count(y); i++)
        call->out[0][i] = call->in[2] ? call->in[2][i / pixels % y->dim[1]] : 0;
    conv_walk k = {&call->node->attrs.conv, call->in_shape[0], call->in_shape[1], y};
    walk(&k, add_y, &(conv_sums){.x = call->in[0], .w = call->in[1], .out = call->out[0]});
    return BL_OK;
}

static int infer_grad_data(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[2];
    return BL_OK;
}

static int reference_grad_data(const bl_ref_call *call, bl_error *err)
{
    memset(call->out[0], 0, (size_t)bl_shape_count(call->out_shape[0]) * sizeof(double));
    conv_walk k = {&call->node->attrs.conv, call->out_shape[0], call->in_shape[1], call->in_shape[0]};
    walk(&k, add_dx, &(conv_sums){.y = call->in[0], .w = call->in[1], .out = call->out[0]});
    return BL_OK;
}

static int infer_grad_weights(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[2];
    out[1] = BL_SHAPE1(in[2]->dim[0]);
    return BL_OK;
}

static int reference_grad_weights(const bl_ref_call *call, bl_error *err)
{
    const bl_shape *dy = call->in_shape[1];
    int64_t pixels = dy->dim[2] * dy->dim[3];
    memset(call->out[0], 0, (size_t)bl_shape_count(call->out_shape[0]) * sizeof(double));
    conv_walk k = {&call->node->attrs.conv, call->in_shape[0], call->out_shape[0], dy};
    walk(&k, add_dw, &(conv_sums){.x = call->in[0], .y = call->in[1], .out = call->out[0]});
    memset(call->out[1], 0, (size_t)dy->dim[1] * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(dy); i++)
        call->out[1][i / pixels % dy->dim[1]] += call->in[1][i];
    return BL_OK;
}

const bl_op bl_op_conv2d = {.name = "conv2d",
                            .min_in = 2,
                            .max_in = 3,
                            .n_out = 1,
                            .layout = BL_OP_IMAGE,
                            .weights_in = 1 << 1,
                            .norm_at = 3,
                            .infer = infer_conv,
                            .gradient = gradient_conv,
                            .reference = reference_conv};
const bl_op bl_op_conv2d_grad_data = {.name = "conv2d_grad_data",
                                      .min_in = 3,
                                      .max_in = 3,
                                      .n_out = 1,
                                      .layout = BL_OP_IMAGE,
                                      .shape_only = 1 << 2,
                                      .weights_in = 1 << 1,
                                      .infer = infer_grad_data,
                                      .reference = reference_grad_data};
const bl_op bl_op_conv2d_grad_weights = {.name = "conv2d_grad_weights",
                                         .min_in = 3,
                                         .max_in = 4,
                                         .n_out = 2,
                                         .layout = BL_OP_IMAGE,
                                         .shape_only = 1 << 2 | 1 << 3,
                                         .weights_in = 1 << 2,
                                         .weights_out = 1 << 0,
                                         .norm_at = 4,
                                         .infer = infer_grad_weights,
                                         .reference = reference_grad_weights};
