/* What model files call. Each function appends to the graph and returns the new value. After a failure the graph
 * keeps the first error, later calls return BL_NO_VALUE, and bl_graph_finish reports it: no checks in between.
 * `name` is the module's name in the public state dict ("features.0.0"): parameters become NAME.weight,
 * NAME.bias, NAME.running_mean, NAME.running_var, NAME.num_batches_tracked, in the order of the calls. */
#ifndef BL_GRAPH_BUILDER_H
#define BL_GRAPH_BUILDER_H

#include "detect/loss.h"
#include "graph/graph.h"

/* Filled by the caller before each run (bl_exec_bind). */
bl_value bl_build_input(bl_graph *graph, const char *name, bl_dtype dtype, bl_shape shape);
/* Makes a value readable after a run under `name`. */
void bl_build_output(bl_graph *graph, const char *name, bl_value value);

typedef struct bl_conv2d_args {
    int out_channels;
    int kernel;   /* square */
    int stride;   /* 0 means 1 */
    int pad;      /* on all four sides */
    int dilation; /* 0 means 1 */
    int groups;   /* 0 means 1; equal to the channels: depthwise */
    bool bias;
    bl_init init;      /* of the weights; {0} means BL_INIT_FAN_IN_UNIFORM */
    bool init_set;     /* true: `init` and `bias_init` are meant as given */
    bl_init bias_init; /* {0} is zeros */
} bl_conv2d_args;

/* x (N, C, H, W) -> (N, out_channels, H', W'), H' = (H + 2 pad - dilation (kernel - 1) - 1) / stride + 1. */
bl_value bl_build_conv2d(bl_graph *graph, const char *name, bl_value x, bl_conv2d_args args);
/* Training mode normalises with the batch's statistics and updates the running ones; evaluation uses these.
 * eps and momentum 0 mean PyTorch's 1e-5 and 0.1. */
bl_value bl_build_batch_norm(bl_graph *graph, const char *name, bl_value x, float eps, float momentum);
/* Over dimension 1, for each pixel or row; of tokens (N, T, C) over the last. NAME.weight, NAME.bias. */
bl_value bl_build_layer_norm(bl_graph *graph, const char *name, bl_value x, float eps);
/* A parameter of its own, declared here in the table's order: "features.1.0" and "layer_scale"; module may be NULL. Its
 * shape in the table
 * may differ from the one in the graph, with as many numbers. */
bl_value bl_build_parameter(bl_graph *graph, const char *module, const char *leaf, bl_shape table_shape,
                            bl_shape graph_shape, bl_init init);
/* What a state dict holds without the network's reading it: plain numbers, copied. */
void bl_build_buffer(bl_graph *graph, const char *module, const char *leaf, bl_shape shape, const float *numbers);
/* x (N, C, H, W) times scale (C). */
bl_value bl_build_channel_scale(bl_graph *graph, bl_value x, bl_value scale);
/* x (N, C, H, W) plus shift (C). */
bl_value bl_build_channel_shift(bl_graph *graph, bl_value x, bl_value shift);
/* Stochastic depth: each sample is left out with probability p; identity in evaluation mode. */
bl_value bl_build_drop_path(bl_graph *graph, bl_value x, float p);
bl_value bl_build_activation(bl_graph *graph, bl_value x, bl_act act);
bl_value bl_build_add(bl_graph *graph, bl_value a, bl_value b);
/* x (N, C, H, W) times s (N, C, 1, 1). */
bl_value bl_build_gate(bl_graph *graph, bl_value x, bl_value s);
bl_value bl_build_global_avg_pool(bl_graph *graph, bl_value x); /* -> (N, C, 1, 1) */
/* The largest of each window of kernel x kernel; pad is at most half of it. */
bl_value bl_build_max_pool(bl_graph *graph, bl_value x, int kernel, int stride, int pad);
/* x0 (N, C0, H, W), x1 (N, C1, H, W), ... -> (N, C0 + C1 + ..., H, W); at most BL_MAX_IN. */
bl_value bl_build_concat(bl_graph *graph, const bl_value *parts, int n);
bl_value bl_build_upsample(bl_graph *graph, bl_value x);       /* (N, C, H, W) -> (N, C, 2H, 2W): the nearest pixel */
bl_value bl_build_space_to_depth(bl_graph *graph, bl_value x); /* (N, C, H, W) -> (N, 4C, H/2, W/2): op_resample.c */
/* Squares of k x k pixels, row by row, each as a filter of a convolution lies: x (N, C, H, W) -> (N, H W / k^2, C k^2).
 * Sides that k does not divide are an error. */
bl_value bl_build_patches(bl_graph *graph, bl_value x, int k);
/* patches (N, T - 1, C), class_token (C), position (T, C) -> tokens (N, T, C): the class token, then the patches, each
 * with its position added. */
bl_value bl_build_tokens(bl_graph *graph, bl_value patches, bl_value class_token, bl_value position);
bl_value bl_build_first_token(bl_graph *graph, bl_value x); /* (N, T, C) -> (N, C) */
/* qkv (N, T, 3 C), each row its queries, keys and values, C each, head after head -> (N, T, C): softmax(q k^T / sqrt(C
 * / heads)) v for each head (Vaswani et al. 2017, eq. 1). */
bl_value bl_build_attention(bl_graph *graph, bl_value qkv, int heads);
bl_value bl_build_flatten(bl_graph *graph, bl_value x); /* (N, ...) -> (N, rest) */
/* x (N, I) or (N, T, I) -> (..., outputs). `init` of kind 0 with init_set false: PyTorch's default. */
typedef struct bl_linear_args {
    int outputs;
    bool bias;
    bl_init init;
    bool init_set;
    bl_init bias_init;
} bl_linear_args;
bl_value bl_build_linear(bl_graph *graph, const char *name, bl_value x, bl_linear_args args);
/* The same with parameters that were declared before: w (O, I), bias (O) or BL_NO_VALUE. */
bl_value bl_build_linear_with(bl_graph *graph, const char *name, bl_value x, bl_value w, bl_value bias);
/* The same layer for each pixel of x (N, I, H, W) -> (N, outputs, H, W); its weights are those of a linear layer, (O,
 * I). */
bl_value bl_build_pointwise(bl_graph *graph, const char *name, bl_value x, bl_linear_args args);
/* Identity in evaluation mode. */
bl_value bl_build_dropout(bl_graph *graph, bl_value x, float p);
/* logits (N, K), labels (N) int32 in [0, K); a negative label leaves its sample out (the last batch of an evaluation).
 * Gives the mean loss over the samples counted, shape (1), and makes it the graph's output "loss". */
bl_value bl_build_softmax_cross_entropy(bl_graph *graph, bl_value logits, bl_value labels, float label_smoothing);
/* The same for samples that were mixed of two: with weight share (1), in [0, 1], each is of its class in `labels`, and
 * otherwise of the one in others (N) int32. */
bl_value bl_build_mixed_cross_entropy(bl_graph *graph, bl_value logits, bl_value labels, bl_value others,
                                      bl_value share, float label_smoothing);

/* A detector's loss (detect/loss.h) on its raw maps: the lead heads, finest first, then the auxiliary ones where the
 * setup's specification has them and these are wanted. targets (M, 6) float: image, class, centre x, centre y, width,
 * height, the last four in fractions of the image; a row with a negative image is unused. Makes the outputs "loss" (1),
 * times the number of images as YOLOv7 has it, and "loss_parts" (3): box, objectness, classes. */
bl_value bl_build_detection_loss(bl_graph *graph, const bl_value *heads, int n_heads, bl_value targets,
                                 const bl_detect_loss_setup *setup);

/* 0, or the first error of the calls above. */
int bl_graph_finish(const bl_graph *graph, bl_error *err);
/* The shape of a value, e.g. for the channel count; all zero for BL_NO_VALUE. */
bl_shape bl_build_shape(const bl_graph *graph, bl_value value);

#endif
