/* Images of twice the side, and of half of it with four times the channels. */
#include "graph/op.h"

#include <string.h>

static int infer_upsample(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 4)
        return BL_FAIL(err, BL_ERR_INTERNAL, "%s is no image to enlarge", bl_shape_format(in[0], text, sizeof text));
    out[0] = BL_SHAPE4(in[0]->dim[0], in[0]->dim[1], 2 * in[0]->dim[2], 2 * in[0]->dim[3]);
    return BL_OK;
}

/* The number of the pixel in the small image that pixel i of the large one shows. */
static int64_t source_of(const bl_shape *large, int64_t i)
{
    int64_t w = large->dim[3], column = i % w, row = i / w; /* over all images and channels: heights are even */
    return row / 2 * (w / 2) + column / 2;
}

static int gradient_upsample(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    return bl_graph_emit(graph, &bl_op_upsample_grad, NULL, d_out, 1, graph->nodes[index].name, d_in, err);
}

static int reference_upsample(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->out_shape[0]); i++)
        call->out[0][i] = call->in[0][source_of(call->out_shape[0], i)];
    return BL_OK;
}

static int infer_halves(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 4 || in[0]->dim[2] % 2 != 0 || in[0]->dim[3] % 2 != 0)
        return BL_FAIL(err, BL_ERR_INTERNAL, "%s has no even sides", bl_shape_format(in[0], text, sizeof text));
    out[0] = BL_SHAPE4(in[0]->dim[0], in[0]->dim[1], in[0]->dim[2] / 2, in[0]->dim[3] / 2);
    return BL_OK;
}

static int reference_upsample_grad(const bl_ref_call *call, bl_error *err)
{
    memset(call->out[0], 0, (size_t)bl_shape_count(call->out_shape[0]) * sizeof(double));
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][source_of(call->in_shape[0], i)] += call->in[0][i];
    return BL_OK;
}

/* ---- space to depth: channel p C + c of the result holds the pixels of channel c with row parity p % 2 and column
 * parity p / 2 (YOLOv7's ReOrg; Redmon and Farhadi 2017 have another order) ---- */

static int infer_to_depth(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    int code = infer_halves(node, in, out, err);
    out[0].dim[1] *= 4;
    return code;
}

static int infer_to_space(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    char text[128];
    if (in[0]->n_dims != 4 || in[0]->dim[1] % 4 != 0)
        return BL_FAIL(err, BL_ERR_INTERNAL, "%s has no four parts", bl_shape_format(in[0], text, sizeof text));
    out[0] = BL_SHAPE4(in[0]->dim[0], in[0]->dim[1] / 4, 2 * in[0]->dim[2], 2 * in[0]->dim[3]);
    return BL_OK;
}

static int gradient_to_depth(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    return bl_graph_emit(graph, &bl_op_depth_to_space, NULL, d_out, 1, graph->nodes[index].name, d_in, err);
}

/* Where element i of the shallow tensor lies in the deep one. */
static int64_t place_in_depth(const bl_shape *deep, int64_t i)
{
    int64_t h = deep->dim[2], w = deep->dim[3], channels = deep->dim[1] / 4;
    int64_t column = i % (2 * w), row = i / (2 * w) % (2 * h), plane = i / (4 * h * w);
    int64_t phase = row % 2 + 2 * (column % 2), n = plane / channels, c = plane % channels;
    return (((n * 4 + phase) * channels + c) * h + row / 2) * w + column / 2;
}

static int reference_to_depth(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][place_in_depth(call->out_shape[0], i)] = call->in[0][i];
    return BL_OK;
}

static int reference_to_space(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][i] = call->in[0][place_in_depth(call->in_shape[0], i)];
    return BL_OK;
}

const bl_op bl_op_upsample = {.name = "upsample",
                              .min_in = 1,
                              .max_in = 1,
                              .n_out = 1,
                              .layout = BL_OP_IMAGE,
                              .infer = infer_upsample,
                              .gradient = gradient_upsample,
                              .reference = reference_upsample};
const bl_op bl_op_upsample_grad = {.name = "upsample_grad",
                                   .min_in = 1,
                                   .max_in = 1,
                                   .n_out = 1,
                                   .layout = BL_OP_IMAGE,
                                   .infer = infer_halves,
                                   .reference = reference_upsample_grad};
const bl_op bl_op_space_to_depth = {.name = "space_to_depth",
                                    .min_in = 1,
                                    .max_in = 1,
                                    .n_out = 1,
                                    .layout = BL_OP_PLAIN,
                                    .infer = infer_to_depth,
                                    .gradient = gradient_to_depth,
                                    .reference = reference_to_depth};
const bl_op bl_op_depth_to_space = {.name = "depth_to_space",
                                    .min_in = 1,
                                    .max_in = 1,
                                    .n_out = 1,
                                    .layout = BL_OP_PLAIN,
                                    .infer = infer_to_space,
                                    .reference = reference_to_space};
