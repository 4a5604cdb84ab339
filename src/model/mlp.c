/* Two hidden layers on the image as one row: matrix products alone, where a batch's size shows most plainly. */
#include "model/model.h"

#define HIDDEN 512

static bl_value build(bl_graph *graph, bl_value x, int n_classes)
{
    bl_linear_args hidden = {.outputs = HIDDEN, .bias = true}, head = {.outputs = n_classes, .bias = true};
    x = bl_build_flatten(graph, x);
    x = bl_build_activation(graph, bl_build_linear(graph, "fc1", x, hidden), BL_ACT_RELU);
    x = bl_build_activation(graph, bl_build_linear(graph, "fc2", x, hidden), BL_ACT_RELU);
    return bl_build_linear(graph, "head", x, head);
}

const bl_model bl_model_mlp = {.name = "mlp",
                               .summary = "two hidden layers of 512 on the image as one row",
                               .image_size = 32,
                               .min_image_size = 1,
                               .build = build};
