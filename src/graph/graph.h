/* The graph: values (tensors) and nodes (ops applied to values) in execution order. Model files use
 * graph/builder.h; this header is for ops, passes and backends. */
#ifndef BL_GRAPH_GRAPH_H
#define BL_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/params.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

#define BL_MAX_IN  12
#define BL_MAX_OUT 12

typedef int bl_value; /* index of a value; BL_NO_VALUE where there is none */
#define BL_NO_VALUE (-1)

typedef enum bl_mode { BL_MODE_TRAIN, BL_MODE_EVAL } bl_mode;

typedef enum bl_value_kind {
    BL_VALUE_INPUT, /* filled by the caller before each run, plain layout */
    BL_VALUE_PARAM, /* entry of the parameter table (also buffers) */
    BL_VALUE_GRAD,  /* gradient slot of a parameter */
    BL_VALUE_TEMP   /* lives in the planned slab */
} bl_value_kind;

typedef struct bl_value_info {
    bl_value_kind kind;
    bl_dtype dtype;
    bl_shape shape;
    bl_layout layout; /* set by the layout pass; plain before */
    int param;        /* PARAM, GRAD: index in the table; else -1 */
    const char *name; /* inputs and outputs; NULL for most */
    bool needs_grad;  /* a learnt parameter lies behind it */
    bool is_output;   /* kept until the run's end and readable */
} bl_value_info;

typedef enum bl_act {
    BL_ACT_NONE,
    BL_ACT_RELU,
    BL_ACT_RELU6,
    BL_ACT_HARDSWISH,   /* x * relu6(x + 3) / 6 (Howard et al. 2019, eq. in 5.2) */
    BL_ACT_HARDSIGMOID, /* relu6(x + 3) / 6 */
    BL_ACT_SIGMOID,
    BL_ACT_SILU, /* x * sigmoid(x) */
    BL_ACT_GELU, /* x * Phi(x), the exact form with erf */
    BL_ACT_LEAKY /* x < 0 ? 0.1 x : x */
} bl_act;

typedef struct bl_conv_attrs {
    int kernel[2], stride[2], pad[2], dilation[2]; /* height, width; dilation 1 is dense */
    int groups;
} bl_conv_attrs;

typedef struct bl_norm_attrs {
    float eps, momentum; /* momentum as in PyTorch: running = (1 - m) * running + m * batch */
    bl_act act;          /* applied after scale and shift */
} bl_norm_attrs;

typedef struct bl_dropout_attrs {
    float p;         /* probability of a zero */
    uint32_t stream; /* tells the graph's dropouts apart */
} bl_dropout_attrs;

typedef struct bl_slice_attrs {
    int start; /* the first channel */
} bl_slice_attrs;
typedef struct bl_attention_attrs {
    int heads;
} bl_attention_attrs;

typedef struct bl_loss_attrs {
    float label_smoothing; /* in [0, 1) */
} bl_loss_attrs;

typedef struct bl_detection_attrs {
    const struct bl_detect_loss_setup *setup; /* detect/loss.h; lives as long as the graph */
    bool gradient;                            /* make the gradients of the heads too */
} bl_detection_attrs;

/* One member an op family; which one is meant follows from the op. */
typedef union bl_attrs {
    bl_conv_attrs conv;
    bl_norm_attrs norm;
    bl_act act;
    bl_dropout_attrs dropout;
    bl_slice_attrs slice;
    bl_attention_attrs attention;
    bl_loss_attrs loss;
    bl_detection_attrs detection;
    bl_shape shape;
} bl_attrs;

typedef struct bl_node {
    const struct bl_op *op;
    bl_attrs attrs;
    int n_in, n_out;
    bl_value in[BL_MAX_IN]; /* BL_NO_VALUE for an absent optional one */
    bl_value out[BL_MAX_OUT];
    const char *name; /* the module's name, for profiles and errors; may be NULL */
    bool backward;    /* emitted by differentiation */
    bool recomputed;  /* a forward node once more, in the backward pass */
    /* Where a pass let this node normalise its first input as it reads it, instead of reading a stored result:
     * in[norm_at .. norm_at + 3] are gamma, beta, mean and var. 0: it does not. */
    int norm_at;
    bl_norm_attrs norm;
} bl_node;

typedef struct bl_graph {
    bl_arena arena;    /* names */
    bl_params *params; /* borrowed */
    bl_mode mode;
    bl_value_info *values;
    int n_values, cap_values;
    bl_node *nodes; /* in execution order */
    int n_nodes, cap_nodes;
    uint32_t n_dropouts;
    bl_error error; /* the builder's first failure; later builder calls do nothing */
} bl_graph;

/* The table is borrowed and must outlive the graph. */
int bl_graph_new(bl_params *params, bl_mode mode, bl_graph **out, bl_error *err);
void bl_graph_free(bl_graph *graph);

/* Appends a value; BL_NO_VALUE (with *err set) when memory is out or the shape is not valid. */
bl_value bl_graph_add_value(bl_graph *graph, bl_value_kind kind, bl_dtype dtype, const bl_shape *shape, bl_error *err);
/* Appends a node: checks the number of inputs, infers the outputs' shapes and creates them. Outputs that the op
 * declares as updates of an input (in-place buffers) are that input. */
int bl_graph_emit(bl_graph *graph, const struct bl_op *op, const bl_attrs *attrs, const bl_value *in, int n_in,
                  const char *name, bl_value *out, bl_error *err);
bl_value bl_graph_find_value(const bl_graph *graph, const char *name);
/* One line a node, for debugging and tests; heap string, NULL when memory is out. */
char *bl_graph_dump(const bl_graph *graph);

#endif
