/* A small convolutional network: trains in seconds, for demonstrations and tests. */
#include <stdio.h>

#include "model/model.h"

static bl_value build(bl_graph *graph, bl_value x, int n_classes)
{
    static const int channels[] = {16, 32, 64};
    char name[32];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "conv%d", i + 1);
        x = bl_build_conv2d(graph, name, x,
                            (bl_conv2d_args){.out_channels = channels[i],
                                             .kernel = 3,
                                             .stride = 2,
                                             .pad = 1,
                                             .init = {.kind = BL_INIT_KAIMING_FAN_OUT},
                                             .init_set = true});
        snprintf(name, sizeof name, "norm%d", i + 1);
        x = bl_build_activation(graph, bl_build_batch_norm(graph, name, x, 0, 0), BL_ACT_RELU);
    }
    x = bl_build_flatten(graph, bl_build_global_avg_pool(graph, x));
    return bl_build_linear(graph, "head", x, (bl_linear_args){.outputs = n_classes, .bias = true});
}

const bl_model bl_model_tiny_cnn = {
    .name = "tiny_cnn",
    .summary = "three convolutions, for demonstrations and tests",
    .image_size = 32,
    .min_image_size = 8,
    .build = build,
};
