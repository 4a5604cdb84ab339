/* A timeline of a few steps, for people: what was computed when, and which sums over the ranks went on meanwhile. A
 * JSON file in the Trace Event Format, which Perfetto and chrome://tracing show. */
#ifndef BL_TRAIN_TRACE_H
#define BL_TRAIN_TRACE_H

#include <stdint.h>

#include "base/error.h"
#include "graph/graph.h"

typedef struct bl_trace bl_trace;

/* The graph is borrowed. Room for three batches, each of the graph's nodes and n_sums sums, is taken here; the first
 * batch is passed over, since much happens only then. */
int bl_trace_new(const bl_graph *graph, int n_sums, bl_trace **out, bl_error *err);
void bl_trace_free(bl_trace *trace);
void bl_trace_batch(bl_trace *trace); /* another one begins */
void bl_trace_node(bl_trace *trace, int node, int64_t start_ns, int64_t end_ns);
void bl_trace_sum(bl_trace *trace, int number, int64_t bytes, int64_t start_ns, int64_t end_ns);
/* The computation is thread 0 of process `rank`, sum k thread 1 + k. */
int bl_trace_write(const bl_trace *trace, const char *path, int rank, bl_error *err);

#endif
