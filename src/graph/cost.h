/* What a graph computes, counted. */
#ifndef BL_GRAPH_COST_H
#define BL_GRAPH_COST_H

#include <stdint.h>

#include "graph/graph.h"

/* Multiply-adds of the convolutions and linear layers among the forward nodes, for one sample (the first dimension of
 * the graph's images divided out): the "FLOPs" of most papers; twice as many where a multiply-add counts as two. */
int64_t bl_graph_multiply_adds(const bl_graph *graph);

#endif
