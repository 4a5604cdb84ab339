#include "testing.h"

#include "cases.h"

bl_value case_param(bl_graph *graph, const char *name, bl_shape shape)
{
    int index = -1;
    if (graph->error.code != BL_OK ||
        bl_params_declare(graph->params, name, &shape, (bl_init){.kind = BL_INIT_NORMAL, .a = 1}, false, false, &index,
                          &graph->error) != BL_OK)
        return BL_NO_VALUE;
    bl_value v = bl_graph_add_value(graph, BL_VALUE_PARAM, BL_F32, &shape, &graph->error);
    if (v >= 0) {
        graph->values[v].param = index;
        graph->values[v].needs_grad = graph->mode == BL_MODE_TRAIN;
    }
    return v;
}

static bl_value conv(bl_graph *g, bl_shape x, bl_conv2d_args args)
{
    return bl_build_conv2d(g, "conv", case_param(g, "x", x), args);
}

#define CONV(function, shape, ...)                                                                                     \
    static bl_value function(bl_graph *g)                                                                              \
    {                                                                                                                  \
        return conv(g, shape, (bl_conv2d_args){__VA_ARGS__});                                                          \
    }
CONV(conv_1x1, BL_SHAPE4(2, 5, 4, 3), .out_channels = 20, .kernel = 1)
CONV(conv_3x3_bias, BL_SHAPE4(2, 3, 6, 5), .out_channels = 4, .kernel = 3, .pad = 1, .bias = true)
CONV(conv_stride, BL_SHAPE4(2, 18, 7, 8), .out_channels = 3, .kernel = 3, .pad = 1, .stride = 2)
CONV(conv_1x1_stride, BL_SHAPE4(2, 4, 6, 6), .out_channels = 3, .kernel = 1, .stride = 2)
CONV(conv_dilation, BL_SHAPE4(1, 2, 7, 7), .out_channels = 3, .kernel = 3, .pad = 2, .dilation = 2)
CONV(conv_groups, BL_SHAPE4(2, 4, 5, 5), .out_channels = 6, .kernel = 3, .pad = 1, .groups = 2)
CONV(conv_pixel, BL_SHAPE4(3, 20, 1, 1), .out_channels = 7, .kernel = 1, .bias = true)
CONV(depthwise_3, BL_SHAPE4(2, 5, 6, 7), .out_channels = 5, .kernel = 3, .pad = 1, .groups = 5)
CONV(depthwise_3_stride, BL_SHAPE4(2, 18, 7, 6), .out_channels = 18, .kernel = 3, .pad = 1, .stride = 2, .groups = 18)
CONV(depthwise_5_bias, BL_SHAPE4(2, 3, 8, 6), .out_channels = 3, .kernel = 5, .pad = 2, .groups = 3, .bias = true)
CONV(depthwise_5_stride, BL_SHAPE4(1, 3, 9, 8), .out_channels = 3, .kernel = 5, .pad = 2, .stride = 2, .groups = 3)
CONV(depthwise_7, BL_SHAPE4(1, 2, 8, 8), .out_channels = 2, .kernel = 7, .pad = 3, .groups = 2)
CONV(depthwise_2_unpadded, BL_SHAPE4(1, 3, 5, 5), .out_channels = 3, .kernel = 2, .stride = 3, .groups = 3)
CONV(depthwise_dilated, BL_SHAPE4(1, 3, 7, 7), .out_channels = 3, .kernel = 3, .pad = 2, .dilation = 2, .groups = 3)

static bl_value norm_image(bl_graph *g)
{
    return bl_build_batch_norm(g, "norm", case_param(g, "x", BL_SHAPE4(3, 5, 3, 4)), 0, 0);
}

static bl_value norm_matrix(bl_graph *g)
{
    return bl_build_batch_norm(g, "norm", case_param(g, "x", BL_SHAPE2(7, 5)), 1e-3f, 0.2f);
}

static bl_value norm_act(bl_graph *g, bl_act act)
{
    bl_value y = bl_build_batch_norm(g, "norm", case_param(g, "x", BL_SHAPE4(3, 5, 3, 4)), 0, 0);
    return bl_build_activation(g, y, act);
}

static bl_value activation(bl_graph *g, bl_act act)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 5, 3, 4));
    return bl_build_add(g, bl_build_activation(g, x, act),
                        bl_build_activation(g, case_param(g, "z", BL_SHAPE4(2, 5, 3, 4)), act));
}

#define ACT(lower, ACT_NAME)                                                                                           \
    static bl_value norm_##lower(bl_graph *g)                                                                          \
    {                                                                                                                  \
        return norm_act(g, ACT_NAME);                                                                                  \
    }                                                                                                                  \
    static bl_value act_##lower(bl_graph *g)                                                                           \
    {                                                                                                                  \
        return activation(g, ACT_NAME);                                                                                \
    }
ACT(relu, BL_ACT_RELU)
ACT(relu6, BL_ACT_RELU6)
ACT(hardswish, BL_ACT_HARDSWISH)
ACT(hardsigmoid, BL_ACT_HARDSIGMOID)
ACT(sigmoid, BL_ACT_SIGMOID)
ACT(silu, BL_ACT_SILU)
ACT(gelu, BL_ACT_GELU)
ACT(leaky, BL_ACT_LEAKY)

static bl_value residual(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 6, 4, 4));
    bl_value y = bl_build_conv2d(g, "conv", x, (bl_conv2d_args){.out_channels = 6, .kernel = 1});
    return bl_build_add(g, x, bl_build_batch_norm(g, "norm", y, 0, 0));
}

/* One value read three times: its gradients are summed. */
static bl_value shared(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE2(3, 4));
    bl_value s = bl_build_activation(g, x, BL_ACT_SIGMOID);
    return bl_build_add(g, bl_build_add(g, s, x), bl_build_add(g, s, s));
}

static bl_value pool(bl_graph *g)
{
    return bl_build_global_avg_pool(g, case_param(g, "x", BL_SHAPE4(2, 19, 3, 5)));
}

static bl_value gate(bl_graph *g)
{
    return bl_build_gate(g, case_param(g, "x", BL_SHAPE4(2, 19, 3, 2)), case_param(g, "s", BL_SHAPE4(2, 19, 1, 1)));
}

static bl_value linear(bl_graph *g)
{
    return bl_build_linear(g, "linear", case_param(g, "x", BL_SHAPE2(4, 9)), (bl_linear_args){.outputs = 6});
}

static bl_value max_pool(bl_graph *g)
{
    return bl_build_max_pool(g, case_param(g, "x", BL_SHAPE4(2, 5, 7, 6)), 3, 2, 1);
}

static bl_value max_pool_unpadded(bl_graph *g)
{
    return bl_build_max_pool(g, case_param(g, "x", BL_SHAPE4(2, 18, 5, 7)), 2, 2, 0);
}

static bl_value max_pool_dense(bl_graph *g)
{
    return bl_build_max_pool(g, case_param(g, "x", BL_SHAPE4(1, 3, 6, 6)), 5, 1, 2);
}

/* As ResNet begins. */
static bl_value norm_max_pool(bl_graph *g)
{
    return bl_build_max_pool(g, norm_act(g, BL_ACT_SILU), 3, 2, 1);
}

/* Parts that are whole blocks, parts that are not, and one that comes twice. */
static bl_value concat_whole(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 16, 3, 2)), z = case_param(g, "z", BL_SHAPE4(2, 32, 3, 2));
    return bl_build_concat(g, (bl_value[]){x, z}, 2);
}

static bl_value concat_odd(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 5, 3, 2)), z = case_param(g, "z", BL_SHAPE4(2, 18, 3, 2));
    bl_value w = case_param(g, "w", BL_SHAPE4(2, 1, 3, 2));
    return bl_build_concat(g, (bl_value[]){x, z, x, w}, 4);
}

/* An aggregation as YOLOv7's: its parts are read by one another and by the concatenation, twice. */
static bl_value aggregation(bl_graph *g)
{
    bl_value part[4], x = case_param(g, "x", BL_SHAPE4(2, 6, 5, 4));
    for (int i = 0; i < 4; i++) {
        char name[16];
        bl_value from = i < 2 ? x : part[i - 1];
        snprintf(name, sizeof name, "conv%d", i);
        bl_value y = bl_build_conv2d(g, name, from, (bl_conv2d_args){.out_channels = 8, .kernel = 3, .pad = 1});
        snprintf(name, sizeof name, "norm%d", i);
        part[i] =
            bl_build_activation(g, bl_build_batch_norm(g, name, y, 1e-3f, 0.03f), i % 2 ? BL_ACT_LEAKY : BL_ACT_SILU);
    }
    bl_value y = bl_build_concat(g, (bl_value[]){part[3], part[2], bl_build_max_pool(g, part[1], 5, 1, 2), part[0]}, 4);
    y = bl_build_conv2d(g, "end", y, (bl_conv2d_args){.out_channels = 5, .kernel = 1});
    y = bl_build_concat(g, (bl_value[]){y, part[3], part[0]}, 3);
    return bl_build_conv2d(g, "head", bl_build_upsample(g, y),
                           (bl_conv2d_args){.out_channels = 3, .kernel = 1, .bias = true});
}

/* The sum of two normalised branches, activated: YOLOv7's RepConv. */
static bl_value branches(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 6, 5, 4));
    bl_value a = bl_build_conv2d(g, "a", x, (bl_conv2d_args){.out_channels = 9, .kernel = 3, .pad = 1});
    bl_value b = bl_build_conv2d(g, "b", x, (bl_conv2d_args){.out_channels = 9, .kernel = 1});
    a = bl_build_batch_norm(g, "a_norm", a, 1e-3f, 0.03f);
    return bl_build_activation(g, bl_build_add(g, a, bl_build_batch_norm(g, "b_norm", b, 1e-3f, 0.03f)), BL_ACT_SILU);
}

static bl_value upsample(bl_graph *g)
{
    return bl_build_upsample(g, case_param(g, "x", BL_SHAPE4(2, 19, 3, 5)));
}

static bl_value space_to_depth(bl_graph *g)
{
    return bl_build_space_to_depth(g, case_param(g, "x", BL_SHAPE4(2, 3, 4, 6)));
}

static bl_value channel_shift(bl_graph *g)
{
    return bl_build_channel_shift(g, case_param(g, "x", BL_SHAPE4(2, 19, 3, 4)), case_param(g, "s", BL_SHAPE1(19)));
}

static bl_value layer_norm_image(bl_graph *g)
{
    return bl_build_layer_norm(g, "norm", case_param(g, "x", BL_SHAPE4(2, 19, 5, 4)), 1e-6f);
}

static bl_value layer_norm_matrix(bl_graph *g)
{
    return bl_build_layer_norm(g, "norm", case_param(g, "x", BL_SHAPE2(5, 9)), 1e-5f);
}

static bl_value pointwise(bl_graph *g)
{
    bl_value x = bl_build_activation(g, case_param(g, "x", BL_SHAPE4(2, 6, 3, 4)), BL_ACT_GELU);
    return bl_build_pointwise(g, "linear", x, (bl_linear_args){.outputs = 18, .bias = true});
}

static bl_value drop_path(bl_graph *g)
{
    return bl_build_drop_path(g, case_param(g, "x", BL_SHAPE4(6, 5, 2, 3)), 0.4f);
}

static bl_value relu_sum(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 9, 3, 3)), z = case_param(g, "z", BL_SHAPE4(2, 9, 3, 3));
    return bl_build_activation(g, bl_build_add(g, bl_build_activation(g, x, BL_ACT_LEAKY), z), BL_ACT_RELU);
}

static bl_value layer_norm_tokens(bl_graph *g)
{
    return bl_build_layer_norm(g, "norm", case_param(g, "x", BL_SHAPE3(2, 7, 32)), 1e-6f);
}

static bl_value layer_norm_odd_tokens(bl_graph *g)
{
    return bl_build_layer_norm(g, "norm", case_param(g, "x", BL_SHAPE3(2, 3, 9)), 1e-6f);
}

static bl_value linear_tokens(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE3(2, 5, 7));
    return bl_build_linear(g, "linear", x, (bl_linear_args){.outputs = 6, .bias = true});
}

static bl_value linear_residual(bl_graph *g)
{
    bl_value x = bl_build_activation(g, case_param(g, "x", BL_SHAPE3(2, 5, 6)), BL_ACT_GELU);
    bl_value y = bl_build_add(g, bl_build_linear(g, "a", x, (bl_linear_args){.outputs = 6, .bias = true}), x);
    return bl_build_add(g, y, bl_build_linear(g, "b", y, (bl_linear_args){.outputs = 6}));
}

static bl_value tokens(bl_graph *g)
{
    return bl_build_tokens(g, case_param(g, "x", BL_SHAPE3(3, 6, 19)), case_param(g, "class", BL_SHAPE1(19)),
                           case_param(g, "position", BL_SHAPE2(7, 19)));
}

static bl_value patches(bl_graph *g)
{
    return bl_build_patches(g, case_param(g, "x", BL_SHAPE4(2, 3, 4, 6)), 2);
}

static bl_value first_token(bl_graph *g)
{
    return bl_build_first_token(g, case_param(g, "x", BL_SHAPE3(3, 4, 5)));
}

static bl_value attention(bl_graph *g)
{
    return bl_build_attention(g, case_param(g, "x", BL_SHAPE3(2, 9, 30)), 2);
}

/* More tokens than one piece of queries has. */
static bl_value attention_long(bl_graph *g)
{
    return bl_build_attention(g, case_param(g, "x", BL_SHAPE3(1, 300, 6)), 1);
}

static bl_value drop_path_tokens(bl_graph *g)
{
    return bl_build_drop_path(g, case_param(g, "x", BL_SHAPE3(6, 5, 3)), 0.4f);
}

/* A block of a vision transformer, and its end. */
static bl_value transformer_block(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE3(3, 5, 16));
    bl_value y = bl_build_layer_norm(g, "norm1", x, 1e-6f);
    y = bl_build_linear(g, "qkv", y, (bl_linear_args){.outputs = 48, .bias = true});
    y = bl_build_attention(g, y, 4);
    x = bl_build_add(g, bl_build_linear(g, "proj", y, (bl_linear_args){.outputs = 16, .bias = true}), x);
    y = bl_build_layer_norm(g, "norm2", x, 1e-6f);
    y = bl_build_activation(g, bl_build_linear(g, "fc1", y, (bl_linear_args){.outputs = 24, .bias = true}),
                            BL_ACT_GELU);
    y = bl_build_linear(g, "fc2", y, (bl_linear_args){.outputs = 16, .bias = true});
    x = bl_build_add(g, bl_build_drop_path(g, y, 0.3f), x);
    return bl_build_layer_norm(g, "norm", bl_build_first_token(g, x), 1e-6f);
}

/* A block of ConvNeXt. */
static bl_value convnext_block(bl_graph *g)
{
    bl_value in = case_param(g, "x", BL_SHAPE4(3, 6, 7, 7));
    bl_value scale = bl_build_parameter(g, "block", "layer_scale", BL_SHAPE3(6, 1, 1), BL_SHAPE1(6),
                                        (bl_init){.kind = BL_INIT_CONSTANT, .a = 0.5});
    bl_value x = bl_build_conv2d(g, "block.0", in,
                                 (bl_conv2d_args){.out_channels = 6, .kernel = 7, .pad = 3, .groups = 6, .bias = true});
    x = bl_build_layer_norm(g, "block.2", x, 1e-6f);
    x = bl_build_pointwise(g, "block.3", x, (bl_linear_args){.outputs = 24, .bias = true});
    x = bl_build_activation(g, x, BL_ACT_GELU);
    x = bl_build_pointwise(g, "block.5", x, (bl_linear_args){.outputs = 6, .bias = true});
    return bl_build_add(g, bl_build_drop_path(g, bl_build_channel_scale(g, x, scale), 0.2f), in);
}

static bl_value linear_bias(bl_graph *g)
{
    bl_value x = bl_build_activation(g, case_param(g, "x", BL_SHAPE2(4, 9)), BL_ACT_SILU);
    return bl_build_linear(g, "linear", x, (bl_linear_args){.outputs = 6, .bias = true});
}

static bl_value dropout_image(bl_graph *g)
{
    return bl_build_dropout(g, case_param(g, "x", BL_SHAPE4(2, 19, 3, 4)), 0.3f);
}

static bl_value dropout_matrix(bl_graph *g)
{
    bl_value x = bl_build_dropout(g, case_param(g, "x", BL_SHAPE2(5, 33)), 0.5f);
    return bl_build_dropout(g, x, 0.1f);
}

static bl_value norm_pool(bl_graph *g)
{
    return bl_build_global_avg_pool(g, norm_act(g, BL_ACT_SILU));
}

static bl_value norm_gate(bl_graph *g)
{
    return bl_build_gate(g, norm_act(g, BL_ACT_SILU), case_param(g, "s", BL_SHAPE4(3, 5, 1, 1)));
}

static bl_value norm_pool_gate(bl_graph *g)
{
    bl_value y = norm_act(g, BL_ACT_SILU);
    return bl_build_gate(g, y, bl_build_activation(g, bl_build_global_avg_pool(g, y), BL_ACT_SIGMOID));
}

/* An inverted residual with squeeze and excitation: every normalisation that a reader can take over. */
static bl_value inverted_residual(bl_graph *g)
{
    bl_value x = case_param(g, "x", BL_SHAPE4(2, 6, 6, 5));
    bl_value y = bl_build_conv2d(g, "expand", x, (bl_conv2d_args){.out_channels = 18, .kernel = 1});
    y = bl_build_activation(g, bl_build_batch_norm(g, "expand_norm", y, 0, 0), BL_ACT_HARDSWISH);
    y = bl_build_conv2d(g, "depthwise", y, (bl_conv2d_args){.out_channels = 18, .kernel = 5, .pad = 2, .groups = 18});
    y = bl_build_activation(g, bl_build_batch_norm(g, "depthwise_norm", y, 0, 0), BL_ACT_HARDSWISH);
    bl_value s = bl_build_global_avg_pool(g, y);
    s = bl_build_conv2d(g, "fc1", s, (bl_conv2d_args){.out_channels = 8, .kernel = 1, .bias = true});
    s = bl_build_activation(g, s, BL_ACT_SILU);
    s = bl_build_conv2d(g, "fc2", s, (bl_conv2d_args){.out_channels = 18, .kernel = 1, .bias = true});
    y = bl_build_gate(g, y, bl_build_activation(g, s, BL_ACT_HARDSIGMOID));
    y = bl_build_conv2d(g, "project", y, (bl_conv2d_args){.out_channels = 6, .kernel = 1});
    return bl_build_add(g, x, bl_build_batch_norm(g, "project_norm", y, 0, 0));
}

const graph_case graph_cases[] = {
    {"conv 1x1", conv_1x1, 0},
    {"conv 3x3 with bias", conv_3x3_bias, 0},
    {"conv 3x3, stride 2", conv_stride, 0},
    {"conv 1x1, stride 2", conv_1x1_stride, 0},
    {"conv 3x3, dilated", conv_dilation, 0},
    {"conv 3x3 in groups", conv_groups, 0},
    {"conv of one pixel", conv_pixel, 0},
    {"depthwise 3x3", depthwise_3, 0},
    {"depthwise 3x3, stride 2", depthwise_3_stride, 0},
    {"depthwise 5x5 with bias", depthwise_5_bias, 0},
    {"depthwise 5x5, stride 2", depthwise_5_stride, 0},
    {"depthwise 7x7", depthwise_7, 0},
    {"depthwise 2x2, stride 3", depthwise_2_unpadded, 0},
    {"depthwise 3x3, dilated", depthwise_dilated, 0},
    {"norm of images", norm_image, 0},
    {"norm of a matrix", norm_matrix, 0},
    {"norm, relu", norm_relu, 0},
    {"norm, relu6", norm_relu6, 0},
    {"norm, hardswish", norm_hardswish, 0},
    {"norm, hardsigmoid", norm_hardsigmoid, 0},
    {"norm, sigmoid", norm_sigmoid, 0},
    {"norm, silu", norm_silu, 0},
    {"norm, gelu", norm_gelu, 0},
    {"norm, leaky", norm_leaky, 0},
    {"relu", act_relu, 0},
    {"relu6", act_relu6, 0},
    {"hardswish", act_hardswish, 0},
    {"hardsigmoid", act_hardsigmoid, 0},
    {"sigmoid", act_sigmoid, 0},
    {"silu", act_silu, 0},
    {"gelu", act_gelu, 0},
    {"leaky", act_leaky, 0},
    {"residual", residual, 0},
    {"shared value", shared, 0},
    {"global average pool", pool, 0},
    {"gate", gate, 0},
    {"max pool", max_pool, 0},
    {"max pool 2x2", max_pool_unpadded, 0},
    {"max pool 5x5, stride 1", max_pool_dense, 0},
    {"norm, max pool", norm_max_pool, 0},
    {"concatenation of whole blocks", concat_whole, 0},
    {"concatenation of odd parts", concat_odd, 0},
    {"aggregation", aggregation, 0},
    {"branches", branches, 0},
    {"upsampling", upsample, 0},
    {"space to depth", space_to_depth, 0},
    {"channel shift", channel_shift, 0},
    {"layer norm of images", layer_norm_image, 0},
    {"layer norm of a matrix", layer_norm_matrix, 0},
    {"pointwise", pointwise, 0},
    {"drop path", drop_path, 0},
    {"relu of a sum", relu_sum, 0},
    {"ConvNeXt block", convnext_block, 0},
    {"layer norm of tokens", layer_norm_tokens, 0},
    {"layer norm of odd tokens", layer_norm_odd_tokens, 0},
    {"linear of tokens", linear_tokens, 0},
    {"linear with residual", linear_residual, 0},
    {"patches", patches, 0},
    {"tokens", tokens, 0},
    {"first token", first_token, 0},
    {"attention", attention, 0},
    {"attention of many tokens", attention_long, 0},
    {"drop path of tokens", drop_path_tokens, 0},
    {"transformer block", transformer_block, 0},
    {"linear", linear, 0.1f},
    {"linear of mixed samples", linear, 0, .mixed = true},
    {"linear of mixed samples, smoothed", linear, 0.1f, .mixed = true},
    {"linear with bias", linear_bias, 0},
    {"dropout of images", dropout_image, 0},
    {"dropout of a matrix, twice", dropout_matrix, 0.2f},
    {"norm, pool", norm_pool, 0},
    {"norm, gate", norm_gate, 0},
    {"norm, pool and gate", norm_pool_gate, 0},
    {"detection", case_detection, 0, .held = true},
    {"inverted residual", inverted_residual, 0.1f},
};
const int n_graph_cases = (int)BL_ARRAY_LEN(graph_cases);
