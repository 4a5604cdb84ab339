/* One layer as the trainer computes it: a graph of it alone goes through the executor's passes, layouts and lowering,
 * and the nodes of one role are then run again and again. What lies around them (copies into the layout, a loss) is not
 * timed. Data are random. */
#ifndef BL_TIMING_LAYER_WORK_H
#define BL_TIMING_LAYER_WORK_H

#include "graph/exec.h"
#include "shapes/layer.h"

enum { BL_LAYER_WORK_NODES = 4 };

typedef struct bl_layer_work {
    bl_params *params;
    bl_exec *exec;
    float *input, *seed; /* of a first layer's images, and the gradient of the result; the latter always */
    int nodes[BL_LAYER_WORK_NODES];
    int n_nodes;
    const char *kernel; /* "jit:avx2", borrowed from the executor */
    double flop;        /* of one run, by the layer's products */
} bl_layer_work;

/* The layer has the role (bl_layer_role_parse). BL_ERR_USAGE for what the trainer has no kernels for. */
int bl_layer_work_make(const bl_layer *layer, bl_role role, int batch, int threads, bl_layer_work *out, bl_error *err);
int bl_layer_work_run(void *work, bl_error *err); /* once */
void bl_layer_work_clear(bl_layer_work *work);

#endif
