/* MobileNetV3 (Howard et al., "Searching for MobileNetV3", ICCV 2019, tables 1 and 2), its parameters named, ordered
 * and initialised as in torchvision's state dicts: 5 483 032 of Large and 2 542 856 of Small at 1000 classes. */
#include <stdio.h>

#include "base/attributes.h"
#include "model/model.h"

#define EPS      1e-3f /* of the batch normalisations, which also differ in momentum from the default */
#define MOMENTUM 0.01f
#define DROPOUT  0.2f

typedef struct block {
    int kernel, expanded, out;
    bool excite;
    bl_act act;
    int stride;
} block;

static const block large[] = {
    {3, 16, 16, false, BL_ACT_RELU, 1},       {3, 64, 24, false, BL_ACT_RELU, 2},
    {3, 72, 24, false, BL_ACT_RELU, 1},       {5, 72, 40, true, BL_ACT_RELU, 2},
    {5, 120, 40, true, BL_ACT_RELU, 1},       {5, 120, 40, true, BL_ACT_RELU, 1},
    {3, 240, 80, false, BL_ACT_HARDSWISH, 2}, {3, 200, 80, false, BL_ACT_HARDSWISH, 1},
    {3, 184, 80, false, BL_ACT_HARDSWISH, 1}, {3, 184, 80, false, BL_ACT_HARDSWISH, 1},
    {3, 480, 112, true, BL_ACT_HARDSWISH, 1}, {3, 672, 112, true, BL_ACT_HARDSWISH, 1},
    {5, 672, 160, true, BL_ACT_HARDSWISH, 2}, {5, 960, 160, true, BL_ACT_HARDSWISH, 1},
    {5, 960, 160, true, BL_ACT_HARDSWISH, 1},
};

static const block small[] = {
    {3, 16, 16, true, BL_ACT_RELU, 2},       {3, 72, 24, false, BL_ACT_RELU, 2},
    {3, 88, 24, false, BL_ACT_RELU, 1},      {5, 96, 40, true, BL_ACT_HARDSWISH, 2},
    {5, 240, 40, true, BL_ACT_HARDSWISH, 1}, {5, 240, 40, true, BL_ACT_HARDSWISH, 1},
    {5, 120, 48, true, BL_ACT_HARDSWISH, 1}, {5, 144, 48, true, BL_ACT_HARDSWISH, 1},
    {5, 288, 96, true, BL_ACT_HARDSWISH, 2}, {5, 576, 96, true, BL_ACT_HARDSWISH, 1},
    {5, 576, 96, true, BL_ACT_HARDSWISH, 1},
};

/* The multiple of 8 nearest to v, but not below 90 % of it. */
static int make_divisible(int v)
{
    int rounded = (v + 4) / 8 * 8;
    if (rounded < 8)
        rounded = 8;
    return rounded * 10 < v * 9 ? rounded + 8 : rounded;
}

static int channels_of(const bl_graph *graph, bl_value x)
{
    return (int)bl_build_shape(graph, x).dim[1];
}

/* Convolution, normalisation, activation: PREFIX.0 and PREFIX.1. */
static bl_value conv_norm(bl_graph *graph, const char *prefix, bl_value x, bl_conv2d_args args, bl_act act)
{
    char name[64];
    args.pad = (args.kernel - 1) / 2;
    args.init = (bl_init){.kind = BL_INIT_KAIMING_FAN_OUT};
    args.init_set = true;
    snprintf(name, sizeof name, "%s.0", prefix);
    x = bl_build_conv2d(graph, name, x, args);
    snprintf(name, sizeof name, "%s.1", prefix);
    x = bl_build_batch_norm(graph, name, x, EPS, MOMENTUM);
    return bl_build_activation(graph, x, act);
}

/* Squeeze-and-excitation (Hu et al. 2018) with a hard sigmoid: PREFIX.fc1 and PREFIX.fc2. */
static bl_value excite(bl_graph *graph, const char *prefix, bl_value x)
{
    char name[64];
    int channels = channels_of(graph, x);
    bl_conv2d_args args = {.out_channels = make_divisible(channels / 4),
                           .kernel = 1,
                           .bias = true,
                           .init = {.kind = BL_INIT_KAIMING_FAN_OUT},
                           .init_set = true};
    bl_value s = bl_build_global_avg_pool(graph, x);
    snprintf(name, sizeof name, "%s.fc1", prefix);
    s = bl_build_activation(graph, bl_build_conv2d(graph, name, s, args), BL_ACT_RELU);
    args.out_channels = channels;
    snprintf(name, sizeof name, "%s.fc2", prefix);
    s = bl_build_activation(graph, bl_build_conv2d(graph, name, s, args), BL_ACT_HARDSIGMOID);
    return bl_build_gate(graph, x, s);
}

/* The inverted residual: widen, filter each channel, perhaps excite, narrow, add. */
static bl_value inverted_residual(bl_graph *graph, int index, bl_value x, const block *b)
{
    char prefix[48];
    bl_value in = x;
    int part = 0, in_channels = channels_of(graph, x);
    if (b->expanded != in_channels) {
        snprintf(prefix, sizeof prefix, "features.%d.block.%d", index, part++);
        x = conv_norm(graph, prefix, x, (bl_conv2d_args){.out_channels = b->expanded, .kernel = 1}, b->act);
    }
    snprintf(prefix, sizeof prefix, "features.%d.block.%d", index, part++);
    x = conv_norm(
        graph, prefix, x,
        (bl_conv2d_args){.out_channels = b->expanded, .kernel = b->kernel, .stride = b->stride, .groups = b->expanded},
        b->act);
    if (b->excite) {
        snprintf(prefix, sizeof prefix, "features.%d.block.%d", index, part++);
        x = excite(graph, prefix, x);
    }
    snprintf(prefix, sizeof prefix, "features.%d.block.%d", index, part);
    x = conv_norm(graph, prefix, x, (bl_conv2d_args){.out_channels = b->out, .kernel = 1}, BL_ACT_NONE);
    return b->stride == 1 && b->out == in_channels ? bl_build_add(graph, x, in) : x;
}

static bl_value build(bl_graph *graph, const block *blocks, int n_blocks, int hidden, bl_value x, int n_classes)
{
    char prefix[48];
    bl_linear_args linear = {
        .outputs = hidden, .bias = true, .init = {.kind = BL_INIT_NORMAL, .a = 0.01}, .init_set = true};
    x = conv_norm(graph, "features.0", x, (bl_conv2d_args){.out_channels = 16, .kernel = 3, .stride = 2},
                  BL_ACT_HARDSWISH);
    for (int i = 0; i < n_blocks; i++)
        x = inverted_residual(graph, i + 1, x, &blocks[i]);
    snprintf(prefix, sizeof prefix, "features.%d", n_blocks + 1);
    x = conv_norm(graph, prefix, x, (bl_conv2d_args){.out_channels = 6 * channels_of(graph, x), .kernel = 1},
                  BL_ACT_HARDSWISH);
    x = bl_build_flatten(graph, bl_build_global_avg_pool(graph, x));
    x = bl_build_activation(graph, bl_build_linear(graph, "classifier.0", x, linear), BL_ACT_HARDSWISH);
    x = bl_build_dropout(graph, x, DROPOUT);
    linear.outputs = n_classes;
    return bl_build_linear(graph, "classifier.3", x, linear);
}

static bl_value build_large(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, large, (int)BL_ARRAY_LEN(large), 1280, x, n_classes);
}

static bl_value build_small(bl_graph *graph, bl_value x, int n_classes)
{
    return build(graph, small, (int)BL_ARRAY_LEN(small), 1024, x, n_classes);
}

const bl_model bl_model_mobilenet_v3_large = {
    .name = "mobilenet_v3_large",
    .summary = "MobileNetV3-Large",
    .image_size = 224,
    .min_image_size = 32,
    .build = build_large,
};
const bl_model bl_model_mobilenet_v3_small = {
    .name = "mobilenet_v3_small",
    .summary = "MobileNetV3-Small",
    .image_size = 224,
    .min_image_size = 32,
    .build = build_small,
};
