/* Memory planning: every temporary gets a place in one slab; those whose lives do not overlap may share it
 * (offline: all sizes and lifetimes are known; greedy by size, Pisarchyk & Lee, "Efficient memory management for deep
 * neural net inference", 2020, section 5.2). */
#ifndef BL_GRAPH_PLAN_H
#define BL_GRAPH_PLAN_H

#include "graph/graph.h"

typedef struct bl_plan_result {
    size_t *offset;         /* of each value in the slab; unused for values that are not temporaries */
    size_t *scratch_offset; /* of each node's scratch */
    size_t slab_b, lower_bound_b, naive_b;
    /* Live at the fullest node: results of forward nodes, of backward nodes, the node's scratch. */
    size_t forward_b, backward_b, scratch_b;
} bl_plan_result;

/* scratch_b: bytes that each node wants while it runs. reuse false: no two share memory. */
int bl_graph_plan(const bl_graph *graph, const size_t *scratch_b, bool reuse, bl_plan_result *out, bl_error *err);
void bl_plan_result_clear(bl_plan_result *plan);

#endif
