/* The executor: takes a built graph, applies the passes (fusion, differentiation, layouts), plans
 * memory, and runs steps. The loss is the graph's output "loss"; a graph in training mode computes with each run the
 * gradient of every learnt parameter into the table's gradient slab (overwriting it): that of the loss, or where the
 * graph has an input "loss_gradient" (1), times this. */
#ifndef BL_GRAPH_EXEC_H
#define BL_GRAPH_EXEC_H

#include "graph/backend.h"
#include "graph/graph.h"
#include "graph/recompute.h"

typedef struct bl_exec bl_exec;

typedef struct bl_exec_options {
    int n_threads;           /* 0: all the process may use */
    bool no_fuse;            /* leave normalisation, activation and what reads them apart (for tests) */
    bl_precision precision;  /* of products */
    bl_recompute recompute;  /* what the backward pass computes again instead of keeping it */
    bool no_reuse;           /* give every temporary its own memory (for tests) */
    bool profile;            /* time every node */
    bool plan_only;          /* plan memory, allocate nothing; such an executor cannot run */
    uint64_t memory_limit_b; /* planned bytes beyond this are BL_ERR_NOMEM; 0: no limit */
    uint64_t seed;           /* of dropout */
    /* Where the batch is part of a larger one that several processes share: */
    int64_t first_sample;  /* its place there: dropout draws as for the whole */
    const bl_joint *joint; /* batch normalisation takes the whole's statistics; NULL: the part's. Outlives the executor
                            */
} bl_exec_options;

/* What is planned for this executor, in bytes. */
typedef struct bl_exec_memory {
    size_t slab_b;        /* activations, gradients of activations, scratch: the peak of what lives at once */
    size_t weights_b;     /* parameters kept in the backend's form */
    size_t params_b;      /* the table's slabs: values, gradients, buffers */
    size_t lower_bound_b; /* the most that is live at one node: no plan can be smaller than this */
    size_t naive_b;       /* the sum of all temporaries: what a plan without reuse would take */
    /* What is live at the fullest node, whose sum is lower_bound_b: */
    size_t activations_b; /* results of forward nodes */
    size_t gradients_b;   /* results of backward nodes */
    size_t workspace_b;   /* the node's scratch */
} bl_exec_memory;

typedef struct bl_exec_profile_row {
    const char *op;
    const char *name;   /* module, may be NULL */
    const char *kernel; /* which implementation runs: "jit:avx512_common", "reference" */
    bool backward;
    int64_t calls, total_ns;
} bl_exec_profile_row;

/* Takes the graph over, also on failure; it is freed with the executor. The parameter table stays the caller's. Without
 * plan_only the table is allocated (bl_params_alloc) with gradients as the mode demands. */
int bl_exec_new(const bl_backend *backend, bl_graph *graph, const bl_exec_options *options, bl_exec **out,
                bl_error *err);
void bl_exec_free(bl_exec *exec);

/* Gives an input's data: plain, borrowed until the next bind or the executor's end; 64-byte alignment is faster but
 * not required. BL_ERR_INTERNAL for an unknown name. */
int bl_exec_bind(bl_exec *exec, const char *name, const void *data, bl_error *err);
/* One run: forward, and backward in training mode. Bit-identical for the same inputs, seed, step and thread count. */
int bl_exec_run(bl_exec *exec, bl_error *err);
/* One node of the graph alone, by its index, on what the values hold from the last run: for timing. With
 * options.no_reuse nothing else has taken their memory since. */
int bl_exec_run_node(bl_exec *exec, int node, bl_error *err);
/* Copies an output (plain, floats) of the last run; n is its element count. */
int bl_exec_read(const bl_exec *exec, const char *name, float *out, int64_t n, bl_error *err);
/* Called after each node of a run, by its index in the graph; an error ends the run. */
typedef struct bl_exec_watch {
    void *context;
    int (*after)(void *context, int node, bl_error *err);
} bl_exec_watch;
void bl_exec_set_watch(bl_exec *exec, const bl_exec_watch *watch);
/* A value's data in its layout, for such a call: others may stand there before the node and after it. */
const void *bl_exec_data(const bl_exec *exec, bl_value value);
/* The step number that dropout draws from; counts up by itself after each run in training mode. */
void bl_exec_set_step(bl_exec *exec, uint64_t step);

const bl_exec_memory *bl_exec_memory_info(const bl_exec *exec);
/* Rows in execution order, borrowed until the next run; zero rows unless options.profile. */
int bl_exec_profile(const bl_exec *exec, const bl_exec_profile_row **out);
/* The transformed graph, for tests and dumps. */
const bl_graph *bl_exec_graph(const bl_exec *exec);

#endif
