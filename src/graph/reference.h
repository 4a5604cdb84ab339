/* Runs a graph in doubles with plain layouts by the ops' own references: slow, simple, the yardstick of the tests. */
#ifndef BL_GRAPH_REFERENCE_H
#define BL_GRAPH_REFERENCE_H

#include "graph/graph.h"

typedef struct bl_reference bl_reference;

/* The graph is borrowed. Values start as zeros, parameters as the table holds them. */
int bl_reference_new(const bl_graph *graph, bl_reference **out, bl_error *err);
void bl_reference_free(bl_reference *reference);
/* The value's elements, to be read and written. */
double *bl_reference_data(bl_reference *reference, bl_value value);
int bl_reference_run(bl_reference *reference, uint64_t seed, uint64_t step, bl_error *err);

#endif
