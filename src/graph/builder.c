#include "graph/builder.h"

#include <math.h>
#include <string.h>

#include "graph/op.h"

#define DEFAULT_EPS      1e-5f
#define DEFAULT_MOMENTUM 0.1f

static bool failed(const bl_graph *graph)
{
    return graph->error.code != BL_OK;
}

static const char *keep_name(bl_graph *graph, const char *name)
{
    char *copy = name ? bl_arena_strdup(&graph->arena, name) : NULL;
    if (name && !copy)
        BL_FAIL(&graph->error, BL_ERR_NOMEM, "no memory for the name '%s'", name);
    return copy;
}

bl_shape bl_build_shape(const bl_graph *graph, bl_value value)
{
    return value >= 0 && value < graph->n_values ? graph->values[value].shape : (bl_shape){0};
}

int bl_graph_finish(const bl_graph *graph, bl_error *err)
{
    if (!failed(graph))
        return BL_OK;
    if (err && err->code == BL_OK)
        *err = graph->error;
    return graph->error.code;
}

bl_value bl_build_input(bl_graph *graph, const char *name, bl_dtype dtype, bl_shape shape)
{
    if (failed(graph))
        return BL_NO_VALUE;
    bl_value v = bl_graph_add_value(graph, BL_VALUE_INPUT, dtype, &shape, &graph->error);
    if (v >= 0)
        graph->values[v].name = keep_name(graph, name);
    return v;
}

void bl_build_output(bl_graph *graph, const char *name, bl_value value)
{
    if (failed(graph) || value < 0)
        return;
    graph->values[value].is_output = true;
    graph->values[value].name = keep_name(graph, name);
}

/* The value that stands for a parameter, made at its first use. */
static bl_value param_value(bl_graph *graph, const char *module, const char *leaf, const bl_shape *shape, bl_init init,
                            bool buffer, bool integer)
{
    if (failed(graph))
        return BL_NO_VALUE;
    const char *name = bl_arena_printf(&graph->arena, "%s%s%s", module ? module : "", module ? "." : "", leaf);
    int index = -1;
    if (!name)
        BL_FAIL(&graph->error, BL_ERR_NOMEM, "no memory for the name of '%s'", leaf);
    else
        bl_params_declare(graph->params, name, shape, init, buffer, integer, &index, &graph->error);
    if (failed(graph))
        return BL_NO_VALUE;
    bl_value v = bl_graph_add_value(graph, BL_VALUE_PARAM, BL_F32, shape, &graph->error);
    if (v >= 0) {
        graph->values[v].param = index;
        graph->values[v].needs_grad = !buffer && graph->mode == BL_MODE_TRAIN;
    }
    return v;
}

static bl_value emit(bl_graph *graph, const bl_op *op, const bl_attrs *attrs, const bl_value *in, int n_in,
                     const char *name)
{
    bl_value out[BL_MAX_OUT];
    if (failed(graph) || bl_graph_emit(graph, op, attrs, in, n_in, keep_name(graph, name), out, &graph->error) != BL_OK)
        return BL_NO_VALUE;
    return out[0];
}

static int or_one(int value)
{
    return value == 0 ? 1 : value;
}

bl_value bl_build_conv2d(bl_graph *graph, const char *name, bl_value x, bl_conv2d_args args)
{
    bl_shape in = bl_build_shape(graph, x);
    int groups = or_one(args.groups), stride = or_one(args.stride), dilation = or_one(args.dilation);
    if (failed(graph))
        return BL_NO_VALUE;
    if (in.n_dims != 4 || in.dim[1] % groups != 0 || args.out_channels % groups != 0 || args.out_channels < 1) {
        BL_FAIL(&graph->error, BL_ERR_INTERNAL, "%s: %d channels in %d groups do not fit the input", name,
                args.out_channels, groups);
        return BL_NO_VALUE;
    }
    bl_shape w_shape = BL_SHAPE4(args.out_channels, in.dim[1] / groups, args.kernel, args.kernel);
    bl_init by_default = {.kind = BL_INIT_FAN_IN_UNIFORM};
    double fan_in = (double)(w_shape.dim[1] * w_shape.dim[2] * w_shape.dim[3]);
    bl_init bias_default = {.kind = BL_INIT_FAN_IN_UNIFORM, .a = fan_in};
    bl_value values[3] = {x, BL_NO_VALUE, BL_NO_VALUE};
    values[1] = param_value(graph, name, "weight", &w_shape, args.init_set ? args.init : by_default, false, false);
    if (args.bias)
        values[2] = param_value(graph, name, "bias", &BL_SHAPE1(args.out_channels),
                                args.init_set ? args.bias_init : bias_default, false, false);
    bl_attrs attrs = {.conv = {.kernel = {args.kernel, args.kernel},
                               .stride = {stride, stride},
                               .pad = {args.pad, args.pad},
                               .dilation = {dilation, dilation},
                               .groups = groups}};
    return emit(graph, &bl_op_conv2d, &attrs, values, args.bias ? 3 : 2, name);
}

bl_value bl_build_batch_norm(bl_graph *graph, const char *name, bl_value x, float eps, float momentum)
{
    bl_shape in = bl_build_shape(graph, x);
    if (failed(graph) || in.n_dims < 2) {
        BL_FAIL(&graph->error, BL_ERR_INTERNAL, "%s: batch normalisation wants channels", name);
        return BL_NO_VALUE;
    }
    bl_shape c = BL_SHAPE1(in.dim[1]), scalar = BL_SHAPE0();
    bl_init zeros = {.kind = BL_INIT_ZEROS}, ones = {.kind = BL_INIT_ONES};
    bl_value gamma = param_value(graph, name, "weight", &c, ones, false, false);
    bl_value beta = param_value(graph, name, "bias", &c, zeros, false, false);
    bl_value mean = param_value(graph, name, "running_mean", &c, zeros, true, false);
    bl_value var = param_value(graph, name, "running_var", &c, ones, true, false);
    bl_value tracked = param_value(graph, name, "num_batches_tracked", &scalar, zeros, true, true);
    bl_attrs attrs = {.norm = {.eps = eps == 0 ? DEFAULT_EPS : eps,
                               .momentum = momentum == 0 ? DEFAULT_MOMENTUM : momentum,
                               .act = BL_ACT_NONE}};
    if (graph->mode == BL_MODE_EVAL)
        return emit(graph, &bl_op_norm_act_apply, &attrs, (bl_value[]){x, gamma, beta, mean, var}, 5, name);
    bl_value out[BL_MAX_OUT];
    if (failed(graph) || bl_graph_emit(graph, &bl_op_norm_act, &attrs, (bl_value[]){x, gamma, beta}, 3,
                                       keep_name(graph, name), out, &graph->error) != BL_OK)
        return BL_NO_VALUE;
    emit(graph, &bl_op_norm_track, &attrs, (bl_value[]){mean, var, tracked, out[1], out[2], x}, 6, name);
    return failed(graph) ? BL_NO_VALUE : out[0];
}

bl_value bl_build_layer_norm(bl_graph *graph, const char *name, bl_value x, float eps)
{
    bl_shape in = bl_build_shape(graph, x), c = BL_SHAPE1(in.dim[in.n_dims == 3 ? 2 : 1]);
    bl_init zeros = {.kind = BL_INIT_ZEROS}, ones = {.kind = BL_INIT_ONES};
    bl_value gamma = param_value(graph, name, "weight", &c, ones, false, false);
    bl_value beta = param_value(graph, name, "bias", &c, zeros, false, false);
    bl_attrs attrs = {.norm = {.eps = eps}};
    return emit(graph, &bl_op_layer_norm, &attrs, (bl_value[]){x, gamma, beta}, 3, name);
}

bl_value bl_build_parameter(bl_graph *graph, const char *module, const char *leaf, bl_shape table_shape,
                            bl_shape graph_shape, bl_init init)
{
    bl_value v = param_value(graph, module, leaf, &table_shape, init, false, false);
    if (v >= 0 && bl_shape_count(&table_shape) != bl_shape_count(&graph_shape)) {
        BL_FAIL(&graph->error, BL_ERR_INTERNAL, "%s%s%s: its two shapes differ in size", module ? module : "",
                module ? "." : "", leaf);
        return BL_NO_VALUE;
    }
    if (v >= 0)
        graph->values[v].shape = graph_shape;
    return v;
}

void bl_build_buffer(bl_graph *graph, const char *module, const char *leaf, bl_shape shape, const float *numbers)
{
    param_value(graph, module, leaf, &shape, (bl_init){.kind = BL_INIT_NUMBERS, .numbers = numbers}, true, false);
}

bl_value bl_build_channel_scale(bl_graph *graph, bl_value x, bl_value scale)
{
    return emit(graph, &bl_op_channel_scale, NULL, (bl_value[]){x, scale}, 2, NULL);
}

bl_value bl_build_channel_shift(bl_graph *graph, bl_value x, bl_value shift)
{
    return emit(graph, &bl_op_channel_shift, NULL, (bl_value[]){x, shift}, 2, NULL);
}

bl_value bl_build_drop_path(bl_graph *graph, bl_value x, float p)
{
    if (failed(graph) || graph->mode == BL_MODE_EVAL || p == 0)
        return x;
    bl_attrs attrs = {.dropout = {.p = p, .stream = graph->n_dropouts++}};
    return emit(graph, &bl_op_drop_path, &attrs, &x, 1, NULL);
}

bl_value bl_build_activation(bl_graph *graph, bl_value x, bl_act act)
{
    bl_attrs attrs = {.act = act};
    return act == BL_ACT_NONE ? x : emit(graph, &bl_op_activation, &attrs, &x, 1, NULL);
}

bl_value bl_build_add(bl_graph *graph, bl_value a, bl_value b)
{
    return emit(graph, &bl_op_add, NULL, (bl_value[]){a, b}, 2, NULL);
}

bl_value bl_build_gate(bl_graph *graph, bl_value x, bl_value s)
{
    return emit(graph, &bl_op_gate, NULL, (bl_value[]){x, s}, 2, NULL);
}

bl_value bl_build_global_avg_pool(bl_graph *graph, bl_value x)
{
    return emit(graph, &bl_op_global_avg_pool, NULL, &x, 1, NULL);
}

bl_value bl_build_max_pool(bl_graph *graph, bl_value x, int kernel, int stride, int pad)
{
    bl_attrs attrs = {.conv = {.kernel = {kernel, kernel},
                               .stride = {stride, stride},
                               .pad = {pad, pad},
                               .dilation = {1, 1},
                               .groups = 1}};
    return emit(graph, &bl_op_max_pool, &attrs, &x, 1, NULL);
}

bl_value bl_build_concat(bl_graph *graph, const bl_value *parts, int n)
{
    return emit(graph, &bl_op_concat, NULL, parts, n, NULL);
}

bl_value bl_build_upsample(bl_graph *graph, bl_value x)
{
    return emit(graph, &bl_op_upsample, NULL, &x, 1, NULL);
}

bl_value bl_build_space_to_depth(bl_graph *graph, bl_value x)
{
    return emit(graph, &bl_op_space_to_depth, NULL, &x, 1, NULL);
}

bl_value bl_build_patches(bl_graph *graph, bl_value x, int k)
{
    bl_attrs attrs = {.conv = {.kernel = {k, k}, .stride = {k, k}, .dilation = {1, 1}, .groups = 1}};
    return emit(graph, &bl_op_patches, &attrs, &x, 1, NULL);
}

bl_value bl_build_tokens(bl_graph *graph, bl_value patches, bl_value class_token, bl_value position)
{
    return emit(graph, &bl_op_tokens, NULL, (bl_value[]){patches, class_token, position}, 3, NULL);
}

bl_value bl_build_first_token(bl_graph *graph, bl_value x)
{
    return emit(graph, &bl_op_first_token, NULL, &x, 1, NULL);
}

bl_value bl_build_attention(bl_graph *graph, bl_value qkv, int heads)
{
    bl_attrs attrs = {.attention = {.heads = heads}};
    return emit(graph, &bl_op_attention, &attrs, &qkv, 1, NULL);
}

bl_value bl_build_flatten(bl_graph *graph, bl_value x)
{
    bl_shape in = bl_build_shape(graph, x);
    if (failed(graph) || in.n_dims < 1)
        return BL_NO_VALUE;
    bl_attrs attrs = {.shape = BL_SHAPE2(in.dim[0], bl_shape_count(&in) / in.dim[0])};
    return emit(graph, &bl_op_reshape, &attrs, &x, 1, NULL);
}

bl_value bl_build_linear(bl_graph *graph, const char *name, bl_value x, bl_linear_args args)
{
    bl_shape in = bl_build_shape(graph, x);
    if (failed(graph))
        return BL_NO_VALUE;
    if (in.n_dims < 2 || in.n_dims > 3 || args.outputs < 1) {
        BL_FAIL(&graph->error, BL_ERR_INTERNAL, "%s: a linear layer wants rows", name);
        return BL_NO_VALUE;
    }
    int64_t inner = in.dim[in.n_dims - 1];
    bl_shape w_shape = BL_SHAPE2(args.outputs, inner);
    bl_init by_default = {.kind = BL_INIT_FAN_IN_UNIFORM};
    bl_init bias_default = {.kind = BL_INIT_FAN_IN_UNIFORM, .a = (double)inner};
    bl_value values[3] = {x, BL_NO_VALUE, BL_NO_VALUE};
    values[1] = param_value(graph, name, "weight", &w_shape, args.init_set ? args.init : by_default, false, false);
    if (args.bias)
        values[2] = param_value(graph, name, "bias", &BL_SHAPE1(args.outputs),
                                args.init_set ? args.bias_init : bias_default, false, false);
    return emit(graph, &bl_op_linear, NULL, values, args.bias ? 3 : 2, name);
}

bl_value bl_build_linear_with(bl_graph *graph, const char *name, bl_value x, bl_value w, bl_value bias)
{
    return emit(graph, &bl_op_linear, NULL, (bl_value[]){x, w, bias}, bias >= 0 ? 3 : 2, name);
}

bl_value bl_build_pointwise(bl_graph *graph, const char *name, bl_value x, bl_linear_args args)
{
    bl_shape in = bl_build_shape(graph, x);
    bl_init by_default = {.kind = BL_INIT_FAN_IN_UNIFORM};
    bl_init bias_default = {.kind = BL_INIT_FAN_IN_UNIFORM, .a = (double)in.dim[1]};
    bl_value values[3] = {x, BL_NO_VALUE, BL_NO_VALUE};
    values[1] = bl_build_parameter(graph, name, "weight", BL_SHAPE2(args.outputs, in.dim[1]),
                                   BL_SHAPE4(args.outputs, in.dim[1], 1, 1), args.init_set ? args.init : by_default);
    if (args.bias)
        values[2] = param_value(graph, name, "bias", &BL_SHAPE1(args.outputs),
                                args.init_set ? args.bias_init : bias_default, false, false);
    bl_attrs attrs = {.conv = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1}};
    return emit(graph, &bl_op_conv2d, &attrs, values, args.bias ? 3 : 2, name);
}

bl_value bl_build_dropout(bl_graph *graph, bl_value x, float p)
{
    if (graph->mode == BL_MODE_EVAL || p == 0)
        return x;
    bl_attrs attrs = {.dropout = {.p = p, .stream = graph->n_dropouts++}};
    return emit(graph, &bl_op_dropout, &attrs, &x, 1, NULL);
}

bl_value bl_build_softmax_cross_entropy(bl_graph *graph, bl_value logits, bl_value labels, float label_smoothing)
{
    bl_attrs attrs = {.loss = {.label_smoothing = label_smoothing}};
    bl_value loss = emit(graph, &bl_op_softmax_loss, &attrs, (bl_value[]){logits, labels}, 2, NULL);
    bl_build_output(graph, "loss", loss);
    return loss;
}

bl_value bl_build_detection_loss(bl_graph *graph, const bl_value *heads, int n_heads, bl_value targets,
                                 const bl_detect_loss_setup *setup)
{
    bl_value in[BL_DETECT_MAX_HEADS + 1], out[BL_MAX_OUT];
    if (failed(graph))
        return BL_NO_VALUE;
    bl_detect_loss_setup *kept = bl_arena_alloc(&graph->arena, 1, sizeof *kept);
    if (!kept || n_heads < 1 || n_heads > BL_DETECT_MAX_HEADS) {
        BL_FAIL(&graph->error, kept ? BL_ERR_INTERNAL : BL_ERR_NOMEM, "no detection loss of %d heads", n_heads);
        return BL_NO_VALUE;
    }
    *kept = *setup;
    memcpy(in, heads, (size_t)n_heads * sizeof *heads);
    in[n_heads] = targets;
    bl_attrs attrs = {.detection = {.setup = kept, .gradient = graph->mode == BL_MODE_TRAIN}};
    if (bl_graph_emit(graph, &bl_op_detection_loss, &attrs, in, n_heads + 1, NULL, out, &graph->error) != BL_OK)
        return BL_NO_VALUE;
    bl_build_output(graph, "loss", out[0]);
    bl_build_output(graph, "loss_parts", out[1]);
    return out[0];
}

bl_value bl_build_mixed_cross_entropy(bl_graph *graph, bl_value logits, bl_value labels, bl_value others,
                                      bl_value share, float label_smoothing)
{
    bl_attrs attrs = {.loss = {.label_smoothing = label_smoothing}};
    bl_value loss = emit(graph, &bl_op_softmax_loss, &attrs, (bl_value[]){logits, labels, others, share}, 4, NULL);
    bl_build_output(graph, "loss", loss);
    return loss;
}
