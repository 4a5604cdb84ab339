/* ConvNeXt (Liu et al., "A ConvNet for the 2020s", CVPR 2022), its parameters named, ordered and initialised as in
 * torchvision's state dict: 28 589 128 of ConvNeXt-Tiny at 1000 classes. */
#include <stdio.h>

#include "model/model.h"

#define EPS         1e-6f
#define LAYER_SCALE 1e-6
#define DROP_PATH   0.1f /* of the last block; it rises linearly from 0 */

static const bl_init weights = {.kind = BL_INIT_TRUNC_NORMAL, .a = 0.02};

static bl_value conv(bl_graph *graph, const char *name, bl_value x, bl_conv2d_args args)
{
    args.bias = args.init_set = true;
    args.init = weights;
    return bl_build_conv2d(graph, name, x, args);
}

static bl_value linear(bl_graph *graph, const char *name, bl_value x, int outputs)
{
    return bl_build_pointwise(graph, name, x,
                              (bl_linear_args){.outputs = outputs, .bias = true, .init = weights, .init_set = true});
}

static bl_value block(bl_graph *graph, const char *prefix, bl_value in, float drop)
{
    char name[64];
    int channels = (int)bl_build_shape(graph, in).dim[1];
    bl_value scale = bl_build_parameter(graph, prefix, "layer_scale", BL_SHAPE3(channels, 1, 1), BL_SHAPE1(channels),
                                        (bl_init){.kind = BL_INIT_CONSTANT, .a = LAYER_SCALE});
    snprintf(name, sizeof name, "%s.block.0", prefix);
    bl_value x =
        conv(graph, name, in, (bl_conv2d_args){.out_channels = channels, .kernel = 7, .pad = 3, .groups = channels});
    snprintf(name, sizeof name, "%s.block.2", prefix);
    x = bl_build_layer_norm(graph, name, x, EPS);
    snprintf(name, sizeof name, "%s.block.3", prefix);
    x = bl_build_activation(graph, linear(graph, name, x, 4 * channels), BL_ACT_GELU);
    snprintf(name, sizeof name, "%s.block.5", prefix);
    x = bl_build_channel_scale(graph, linear(graph, name, x, channels), scale);
    return bl_build_add(graph, bl_build_drop_path(graph, x, drop), in);
}

static bl_value build(bl_graph *graph, bl_value x, int n_classes)
{
    static const int channels[] = {96, 192, 384, 768}, depth[] = {3, 3, 9, 3}; /* 18 blocks */
    char name[48];
    int done = 0;
    x = conv(graph, "features.0.0", x, (bl_conv2d_args){.out_channels = channels[0], .kernel = 4, .stride = 4});
    x = bl_build_layer_norm(graph, "features.0.1", x, EPS);
    for (int stage = 0; stage < 4; stage++) {
        if (stage > 0) {
            snprintf(name, sizeof name, "features.%d.0", 2 * stage);
            x = bl_build_layer_norm(graph, name, x, EPS);
            snprintf(name, sizeof name, "features.%d.1", 2 * stage);
            x = conv(graph, name, x, (bl_conv2d_args){.out_channels = channels[stage], .kernel = 2, .stride = 2});
        }
        for (int i = 0; i < depth[stage]; i++, done++) {
            snprintf(name, sizeof name, "features.%d.%d", 2 * stage + 1, i);
            x = block(graph, name, x, DROP_PATH * (float)done / 17);
        }
    }
    x = bl_build_layer_norm(graph, "classifier.0", bl_build_global_avg_pool(graph, x), EPS);
    return bl_build_linear(graph, "classifier.2", bl_build_flatten(graph, x),
                           (bl_linear_args){.outputs = n_classes, .bias = true, .init = weights, .init_set = true});
}

const bl_model bl_model_convnext_tiny = {
    .name = "convnext_tiny", .summary = "ConvNeXt-Tiny", .image_size = 224, .min_image_size = 32, .build = build};
