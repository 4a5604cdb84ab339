#include "testing.h"

#include "cases.h"

#include "graph/op.h"

static const bl_detect_loss_setup detector = {
    .spec = {.n_classes = 3,
             .n_levels = 2,
             .auxiliary = true,
             .stride = {8, 16},
             .anchor = {{{10, 13}, {16, 30}, {33, 23}}, {{30, 61}, {62, 45}, {59, 119}}}},
    .gains = {.box = 0.05, .objectness = 0.7, .classes = 0.3},
    .label_smoothing = 0.1};

/* Two images, lead and auxiliary heads; the classes behind it are there for the loss's own gradient not to be 1. */
bl_value case_detection(bl_graph *g)
{
    enum { CHANNELS = BL_DETECT_ANCHORS * 8, TARGETS = 7 };
    static const char *const x_names[] = {"x0", "x1"}, *const names[] = {"lead0", "lead1", "aux0", "aux1"};
    bl_value in[5], out[BL_MAX_OUT];
    for (int k = 0; k < 2; k++)
        in[k] = case_param(g, x_names[k], BL_SHAPE4(2, 5, 8 >> k, 6 >> k));
    for (int k = 3; k >= 0; k--)
        in[k] = bl_build_conv2d(g, names[k], in[k % 2], (bl_conv2d_args){.out_channels = CHANNELS, .kernel = 1});
    in[4] = bl_build_input(g, "targets", BL_F32, BL_SHAPE2(TARGETS, BL_DETECT_TARGET_COLS));
    bl_attrs attrs = {.detection = {.setup = &detector, .gradient = g->mode == BL_MODE_TRAIN}};
    if (g->error.code != BL_OK || bl_graph_emit(g, &bl_op_detection_loss, &attrs, in, 5, "detection", out, &g->error))
        return BL_NO_VALUE;
    return bl_build_linear(g, "linear", bl_build_flatten(g, out[0]), (bl_linear_args){.outputs = 6});
}

const float *case_targets(const bl_graph *graph)
{
    static const float rows[][BL_DETECT_TARGET_COLS] = {
        {0, 1, 0.3f, 0.4f, 0.4f, 0.5f}, {1, 0, 0.7f, 0.3f, 0.5f, 0.2f},   {-1, 2, 0.5f, 0.5f, 0.5f, 0.5f},
        {1, 2, 0.2f, 0.8f, 0.3f, 0.6f}, {0, 2, 0.62f, 0.71f, 0.9f, 0.7f}, {0, 0, 0.31f, 0.42f, 0.3f, 0.3f},
        {1, 1, 1, 0, 0.25f, 0.25f}};
    bl_value v = bl_graph_find_value(graph, "targets");
    if (v < 0)
        return NULL;
    assert_int_equal(graph->values[v].shape.dim[0], BL_ARRAY_LEN(rows));
    return rows[0];
}
