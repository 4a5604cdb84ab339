/* The op table: everything the graph knows about an op stands in its family's file: name, shapes,
 * gradient, reference. A backend adds fast kernels; where it has none, the reference runs. */
#ifndef BL_GRAPH_OP_H
#define BL_GRAPH_OP_H

#include "graph/graph.h"

/* What a reference implementation gets: plain data, in doubles whatever the graph's type. */
typedef struct bl_ref_call {
    const bl_node *node;
    const bl_shape *in_shape[BL_MAX_IN]; /* NULL for an absent input */
    const bl_shape *out_shape[BL_MAX_OUT];
    const double *in[BL_MAX_IN];
    double *out[BL_MAX_OUT]; /* an in-place output (op->updates) holds the old value on entry */
    uint64_t seed;           /* of the run: dropout draws from (seed, step, stream, element) */
    uint64_t step;
    uint64_t first_sample; /* the place of the batch in a larger one */
} bl_ref_call;

typedef enum bl_op_layout {
    BL_OP_PLAIN, /* every tensor plain */
    BL_OP_IMAGE, /* tensors with four dims in the graph's image layout */
    BL_OP_COPY   /* either: the op that goes from one to the other */
} bl_op_layout;

typedef struct bl_op {
    const char *name;
    int min_in, max_in, n_out;
    bl_op_layout layout;
    uint16_t shape_only;              /* bit i: of input i only the shape matters, its data need not live any more */
    uint16_t weights_in, weights_out; /* bit i: input or output i has four dims, but is a filter and no image */
    int norm_at;                      /* where the inputs of an absorbed normalisation go (bl_node.norm_at); 0: never */
    int8_t updates[BL_MAX_OUT];       /* 1 + index of the input that output k overwrites (buffers); 0 = a new value */
    int8_t in_place[BL_MAX_OUT][2];   /* 1 + indices of inputs whose memory output k may take over; 0 = none */

    /* The outputs' shapes. The last ones may be BL_SHAPE_ABSENT: the node then has fewer outputs than n_out. */
    int (*infer)(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err);
    /* Emits the nodes that turn the outputs' gradients d_out (BL_NO_VALUE where none flows; for a loss without any
     * successor: where it is 1) into those of the inputs that need one, and stores these in d_in (preset to
     * BL_NO_VALUE). NULL: not differentiable. `node` is an index, since emitting moves the node array. */
    int (*gradient)(bl_graph *graph, int node, const bl_value *d_out, bl_value *d_in, bl_error *err);
    int (*reference)(const bl_ref_call *call, bl_error *err);
} bl_op;

#define BL_SHAPE_ABSENT ((bl_shape){.n_dims = -1})

/* For `infer`: one output, of the first input's shape. */
int bl_op_infer_first(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err);

/* All ops, in the order of the families' files; NULL ends the table. */
extern const bl_op *const bl_op_table[];
const bl_op *bl_op_find(const char *name);

/* convolution (op_conv.c)                      inputs -> outputs */
extern const bl_op bl_op_conv2d;              /* x, w [, bias] -> y */
extern const bl_op bl_op_conv2d_grad_data;    /* dy, w, x (shape only) -> dx */
extern const bl_op bl_op_conv2d_grad_weights; /* x, dy, w (shape only) [, bias (shape only)] -> dw, dbias */
/* batch normalisation (op_norm.c) */
extern const bl_op bl_op_norm_act; /* x, gamma, beta [, residual] -> y, mean, var: training, act after scale and shift,
                                      then + residual */
extern const bl_op bl_op_norm_act_apply; /* x, gamma, beta, mean, var [, residual] -> y: evaluation and recomputing */
extern const bl_op bl_op_norm_act_grad;  /* x, gamma, beta, mean, var, dy [, gate, dpooled] -> dx, dgamma, dbeta: with
                                            these two (n, c, 1, 1), dy * gate + dpooled / (h w) stands for dy; a pass
                                            puts them there, and then dy may be absent */
extern const bl_op
    bl_op_norm_track; /* running_mean, running_var, tracked, mean, var, x (shape only): updates the first three */
/* elementwise (op_elementwise.c) */
extern const bl_op bl_op_activation;      /* x -> y */
extern const bl_op bl_op_activation_grad; /* x (or y, where it shows the slope), dy -> dx */
extern const bl_op bl_op_add;             /* a, b -> a + b */
extern const bl_op bl_op_gate;            /* x (N,C,H,W), s (N,C,1,1) -> x * s */
extern const bl_op bl_op_gate_grad;       /* x, s, dy -> dx, ds */
extern const bl_op bl_op_dropout;         /* x -> y */
extern const bl_op bl_op_dropout_grad;    /* dy -> dx */
extern const bl_op bl_op_copy;            /* x -> x, also between layouts */
/* layer normalisation (op_layer_norm.c) */
extern const bl_op bl_op_layer_norm; /* x (N,C), (N,C,H,W) or (N,T,C), gamma, beta (C) -> y, mean, rstd (one number a
                                        row) */
extern const bl_op bl_op_layer_norm_grad; /* x, gamma, mean, rstd, dy -> dx, dgamma, dbeta */
/* ends of residual branches, and a number for each channel (op_branch.c) */
extern const bl_op bl_op_channel_scale;      /* x (N,C,H,W), gamma (C) -> x * gamma */
extern const bl_op bl_op_channel_scale_grad; /* x, gamma, dy -> dx, dgamma */
extern const bl_op bl_op_channel_shift;      /* x (N,C,H,W), s (C) -> x + s */
extern const bl_op bl_op_channel_sum;        /* dy (N,C,H,W) -> ds (C) */
extern const bl_op bl_op_drop_path;          /* x (N,...) -> x / (1 - p), or zeros, sample by sample */
extern const bl_op bl_op_drop_path_grad;     /* dy -> dx */
/* channels put together and taken apart (op_channels.c) */
extern const bl_op bl_op_concat; /* x0 (N,C0,H,W), x1 (N,C1,H,W), ... -> (N,C0+C1+...,H,W) */
extern const bl_op bl_op_slice;  /* x (N,C,H,W), y (shape only) -> y: its channels from attrs.slice.start on */
/* sides doubled and halved (op_resample.c) */
extern const bl_op bl_op_upsample;       /* x (N,C,H,W) -> (N,C,2H,2W): the nearest pixel */
extern const bl_op bl_op_upsample_grad;  /* dy -> dx */
extern const bl_op bl_op_space_to_depth; /* x (N,C,H,W) -> (N,4C,H/2,W/2) */
extern const bl_op bl_op_depth_to_space; /* and back */
/* tokens (op_tokens.c) and attention (op_attention.c) */
extern const bl_op bl_op_patches;          /* x (N,C,H,W), squares of k = attrs.conv.kernel -> (N,HW/kk,Ckk), plain */
extern const bl_op bl_op_patches_grad;     /* dy, x (shape only) -> dx */
extern const bl_op bl_op_tokens;           /* patches (N,T-1,C), class (C), position (T,C) -> (N,T,C) */
extern const bl_op bl_op_tokens_grad;      /* dy -> dpatches, dclass, dposition */
extern const bl_op bl_op_first_token;      /* x (N,T,C) -> (N,C) */
extern const bl_op bl_op_first_token_grad; /* dy, x (shape only) -> dx */
extern const bl_op bl_op_attention;        /* qkv (N,T,3C) -> (N,T,C) */
extern const bl_op bl_op_attention_grad;   /* qkv, dy -> dqkv */
/* pooling and shape (op_pool.c) */
extern const bl_op bl_op_global_avg_pool;      /* x (N,C,H,W) -> y (N,C,1,1) */
extern const bl_op bl_op_global_avg_pool_grad; /* dy, x (shape only) -> dx */
extern const bl_op bl_op_max_pool;             /* x -> y: the largest of each window */
extern const bl_op bl_op_max_pool_grad;        /* x, dy -> dx: to the first of the largest */
extern const bl_op bl_op_reshape;              /* x -> x in attrs.shape, plain */
/* linear and loss (op_linear.c, op_loss.c) */
extern const bl_op bl_op_linear;              /* x (...,I), w (O,I) [, bias] [, residual] -> y (...,O) */
extern const bl_op bl_op_linear_grad_data;    /* dy, w -> dx */
extern const bl_op bl_op_linear_grad_weights; /* x, dy [, bias (shape only)] -> dw, dbias */
extern const bl_op bl_op_softmax_loss;        /* logits (N,K), labels (N) int32 [, others (N) int32, share (1)] -> loss
                                                 (1), probabilities (N,K) */
extern const bl_op bl_op_softmax_loss_grad;   /* probabilities, labels [, dloss; 1 where absent [, others, share]] ->
                                                 dlogits */
/* detectors' loss (op_detection_loss.c) */
extern const bl_op bl_op_detection_loss;      /* heads (N, 3 (5 + K), H, W), ..., targets (M, 6) -> loss (1), parts (3),
                                                 and in training the gradient of each head */
extern const bl_op bl_op_detection_loss_grad; /* gradient, dloss (1) -> gradient * dloss */

/* What a detection_loss node computes on: sizes from its inputs' shapes, no data yet. */
struct bl_detect_batch;
int bl_detection_batch(const bl_node *node, const bl_shape *const *in, struct bl_detect_batch *out, bl_error *err);

#endif
