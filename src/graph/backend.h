/* What a backend gives to the executor: backend/cpu/cpu.h has the CPU's. The yardstick of the tests is no backend, but
 * graph/reference.h. */
#ifndef BL_GRAPH_BACKEND_H
#define BL_GRAPH_BACKEND_H

#include "graph/graph.h"
#include "graph/precision.h"

/* A node made ready to run. Embedded as the first member of the backend's own struct. */
typedef struct bl_kernel {
    /* in and out: one pointer a value of the node, NULL for absent ones; scratch: scratch_b bytes. */
    int (*run)(struct bl_kernel *kernel, void *const *in, void *const *out, void *scratch, bl_error *err);
    void (*free)(struct bl_kernel *kernel); /* may be NULL: plain free() */
    size_t scratch_b;
    size_t kept_b;     /* what the kernel itself holds on to: reordered weights */
    const char *label; /* for profiles, static or owned by the kernel */
    /* Set by the executor before each run: */
    uint64_t seed, step;
    uint64_t first_sample; /* the place of the batch in a larger one */
} bl_kernel;

/* Several processes each compute a part of one batch, and batch normalisation takes the statistics of all of it. All
 * have the same graph but for the number of samples. */
typedef struct bl_joint {
    void *context;
    int (*sum)(void *context, double *data, int64_t n, bl_error *err); /* over the processes, in place */
    double parts; /* samples of the whole batch for each one of this part */
} bl_joint;

typedef struct bl_backend {
    const char *name;
    /* Called once an executor. joint: NULL, or lives as long. BL_ERR_USAGE where the machine lacks the precision. */
    int (*open)(int n_threads, bl_precision precision, const bl_joint *joint, void **state, bl_error *err);
    void (*close)(void *state);
    /* Sets the layouts of all values and inserts `copy` nodes where producer and consumer disagree. */
    int (*assign_layouts)(void *state, bl_graph *graph, bl_error *err);
    /* Makes a node's kernel. */
    int (*lower)(void *state, const bl_graph *graph, const bl_node *node, bl_kernel **out, bl_error *err);
} bl_backend;

#endif
