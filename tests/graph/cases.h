/* Small graphs that together use every op, and what the gradient checks need around them. */
#ifndef BL_TESTS_GRAPH_CASES_H
#define BL_TESTS_GRAPH_CASES_H

#include "graph/builder.h"
#include "graph/reference.h"

typedef struct graph_case {
    const char *name;
    /* Builds from parameters alone (so that every tensor gets a gradient) and returns the result. */
    bl_value (*build)(bl_graph *graph);
    float label_smoothing;
    bool held;  /* its gradient holds something constant that moves with the parameters: no differences show it */
    bool mixed; /* samples of two classes: inputs "others" and "share" */
} graph_case;

extern const graph_case graph_cases[];
extern const int n_graph_cases;

/* A learnt parameter "x0", "x1", ... (standard normal) as a value. */
bl_value case_param(bl_graph *graph, const char *name, bl_shape shape);

/* The case's graph with flattened result "y", labels "labels" (one left out) and the loss. The table is made where
 * *params is NULL, then drawn and its buffers set to something odd. Fails the test on an error. */
bl_graph *case_graph(const graph_case *c, bl_mode mode, bl_params **params);
/* The labels of the case's rows, static storage. */
const int32_t *case_labels(const bl_graph *graph);
/* The other labels of mixed samples, and the share of the first ones. */
const int32_t *case_others(const bl_graph *graph);
extern const float case_share;

/* A detector's loss with auxiliary heads (case_detection.c). */
bl_value case_detection(bl_graph *graph);
/* The rows of the input "targets" of a detection case, which other cases do not have; static storage. */
const float *case_targets(const bl_graph *graph);

/* The reference's run of a graph: labels are set, seed and step 0. Fails the test on an error. */
bl_reference *case_reference(const bl_graph *graph);
double case_loss(const bl_graph *graph, bl_reference *reference);
/* The value that is the gradient of a parameter; BL_NO_VALUE where there is none. */
bl_value case_grad(const bl_graph *graph, int param);

/* ||a - b|| / ||b||, 0 where both are zero; *b alone zero gives 1. */
double relative_error(const double *a, const double *b, int64_t n);
/* The largest relative error over the parameters between the graph's gradients, by the reference in doubles, and
 * central differences of its loss at some elements of each. The graph is differentiated in here. */
double gradient_error(bl_graph *graph);

#endif
