/* What the executor does to a built graph before it runs. Each pass keeps the graph's meaning. */
#ifndef BL_GRAPH_PASSES_H
#define BL_GRAPH_PASSES_H

#include "graph/graph.h"

/* Reverse-mode differentiation: appends the nodes that compute, for every learnt parameter behind them, the gradient
 * of sum_i <d_outs[i], outs[i]>; d_outs[i] BL_NO_VALUE means 1 (a loss). The gradients become values of kind GRAD. */
int bl_graph_differentiate(bl_graph *graph, const bl_value *outs, const bl_value *d_outs, int n, bl_error *err);
/* Before differentiation: an activation or a residual sum that alone follows a normalisation joins it; a residual sum
 * that alone follows a linear layer joins that. */
int bl_graph_fuse(bl_graph *graph, bl_error *err);
/* After differentiation: where all readers of a normalisation's result can normalise as they read, the result is not
 * made at all (depthwise convolutions, pools, gates and their gradients). */
int bl_graph_absorb(bl_graph *graph, bl_error *err);
/* Drops nodes that nothing wants. */
int bl_graph_sweep(bl_graph *graph, bl_error *err);

#endif
