/* The numbers that tools/make_golden.py fills the network with, and the network filled with them. */
#ifndef BL_TESTS_MODEL_FORMULA_H
#define BL_TESTS_MODEL_FORMULA_H

#include "graph/exec.h"
#include "graph/params.h"

enum { FORMULA_BATCH = 8, FORMULA_CLASSES = 10 };

typedef struct formula_net {
    bl_params *params;
    bl_exec *exec;
    float *images;
    int32_t labels[FORMULA_BATCH];
} formula_net;

/* In [-1, 1): splitmix64 of (stream << 32) + index. */
double formula_uniform(uint64_t stream, uint64_t index);
typedef struct formula_setup {
    const char *model;
    int size;      /* of the images */
    double shift;  /* of the normalisations' biases: see tools/make_golden.py */
    int n_threads; /* 0: two */
} formula_setup;

/* The model of this name without dropout, output "logits"; a detector with a probe on its heads. Returns 0, or prints
 * the error. */
int formula_net_init(formula_net *net, const formula_setup *setup, bl_mode mode);
void formula_net_clear(formula_net *net);

#endif
