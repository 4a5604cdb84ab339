/* Trading time for memory: activations that the backward pass wants are computed again instead of kept. The results are
 * the same to the bit, since every op is deterministic and random ones draw from (seed, step, stream). */
#ifndef BL_GRAPH_RECOMPUTE_H
#define BL_GRAPH_RECOMPUTE_H

#include "graph/graph.h"

typedef enum bl_recompute {
    BL_RECOMPUTE_NONE,
    /* Results of normalisations and activations whose inputs the backward pass keeps anyway: a pass over memory each.
     */
    BL_RECOMPUTE_CHEAP,
    /* Whole stretches of the graph between few kept values, convolutions included (Chen et al., "Training deep nets
     * with sublinear memory cost", 2016): about one more forward pass. */
    BL_RECOMPUTE_ALL
} bl_recompute;

bool bl_recompute_from_name(const char *name, bl_recompute *out); /* "none", "cheap", "all" */

/* For a differentiated graph, before layouts are assigned. */
int bl_graph_recompute(bl_graph *graph, bl_recompute level, bl_error *err);

#endif
