/* ResNet (He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1), with the stride of a
 * bottleneck in its 3x3 convolution, and parameters named, ordered and initialised as in torchvision's state dicts: 11
 * 689 512 of ResNet-18 and 25 557 032 of ResNet-50 at 1000 classes. */
#include <stdio.h>

#include "model/model.h"

typedef struct resnet {
    int blocks[4];   /* of each stage */
    bool bottleneck; /* 1x1, 3x3, 1x1 to four times the width; else 3x3, 3x3 */
} resnet;

static bl_value conv(bl_graph *graph, const char *prefix, const char *leaf, bl_value x, int channels, int kernel,
                     int stride)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, leaf);
    return bl_build_conv2d(graph, name, x,
                           (bl_conv2d_args){.out_channels = channels,
                                            .kernel = kernel,
                                            .stride = stride,
                                            .pad = kernel / 2,
                                            .init = {.kind = BL_INIT_KAIMING_FAN_OUT},
                                            .init_set = true});
}

static bl_value norm(bl_graph *graph, const char *prefix, const char *leaf, bl_value x, bl_act act)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", prefix, leaf);
    return bl_build_activation(graph, bl_build_batch_norm(graph, name, x, 0, 0), act);
}

static bl_value residual_block(bl_graph *graph, const resnet *net, const char *prefix, bl_value in, int width,
                               int stride)
{
    int channels = net->bottleneck ? 4 * width : width;
    bl_value x;
    if (net->bottleneck) {
        x = norm(graph, prefix, "bn1", conv(graph, prefix, "conv1", in, width, 1, 1), BL_ACT_RELU);
        x = norm(graph, prefix, "bn2", conv(graph, prefix, "conv2", x, width, 3, stride), BL_ACT_RELU);
        x = norm(graph, prefix, "bn3", conv(graph, prefix, "conv3", x, channels, 1, 1), BL_ACT_NONE);
    } else {
        x = norm(graph, prefix, "bn1", conv(graph, prefix, "conv1", in, width, 3, stride), BL_ACT_RELU);
        x = norm(graph, prefix, "bn2", conv(graph, prefix, "conv2", x, width, 3, 1), BL_ACT_NONE);
    }
    if (stride != 1 || bl_build_shape(graph, in).dim[1] != channels)
        in = norm(graph, prefix, "downsample.1", conv(graph, prefix, "downsample.0", in, channels, 1, stride),
                  BL_ACT_NONE);
    return bl_build_activation(graph, bl_build_add(graph, x, in), BL_ACT_RELU);
}

static bl_value build(bl_graph *graph, const resnet *net, bl_value x, int n_classes)
{
    x = norm(graph, "", "bn1", conv(graph, "", "conv1", x, 64, 7, 2), BL_ACT_RELU);
    x = bl_build_max_pool(graph, x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < net->blocks[stage]; i++) {
            char prefix[48];
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, i);
            x = residual_block(graph, net, prefix, x, 64 << stage, i == 0 && stage > 0 ? 2 : 1);
        }
    x = bl_build_flatten(graph, bl_build_global_avg_pool(graph, x));
    return bl_build_linear(graph, "fc", x, (bl_linear_args){.outputs = n_classes, .bias = true});
}

static bl_value build_18(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, &(resnet){.blocks = {2, 2, 2, 2}}, x, n_classes);
}

static bl_value build_50(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, &(resnet){.blocks = {3, 4, 6, 3}, .bottleneck = true}, x, n_classes);
}

const bl_model bl_model_resnet18 = {
    .name = "resnet18", .summary = "ResNet-18", .image_size = 224, .min_image_size = 32, .build = build_18};
const bl_model bl_model_resnet50 = {
    .name = "resnet50", .summary = "ResNet-50", .image_size = 224, .min_image_size = 32, .build = build_50};
