/* Where a model's training step ought to take its time: each of its graph's distinct nodes, made by the same passes and
 * lowering as in training, is run alone, over and over, and counted as often as it occurs. The sum is what a step would
 * take if nodes did not disturb one another. */
#ifndef BL_TIMING_MODEL_TIME_H
#define BL_TIMING_MODEL_TIME_H

#include <signal.h>
#include <stdio.h>

#include "model/model.h"

typedef struct bl_model_time_options {
    const bl_model *model;
    int batch, image_size, classes; /* image_size and classes 0: the customary ones */
    int threads;
    bool cold;                         /* before each run the caches are filled with other data */
    const volatile sig_atomic_t *stop; /* ends it with BL_ERR_INTERRUPTED */
} bl_model_time_options;

/* One kind of node: an op by one kernel. */
typedef struct bl_model_time_row {
    const char *op; /* static */
    char kernel[48];
    bool product; /* a convolution, linear layer or attention, or a gradient of one */
    int nodes, distinct;
    double seconds; /* a step */
    double flop;    /* of products */
} bl_model_time_row;

typedef struct bl_model_time {
    bl_model_time_row *rows; /* the costliest first; the optimizer's is the row "sgd" */
    int n;
    double products_s, others_s, optimizer_s;
} bl_model_time;

/* BL_ERR_USAGE for detectors. `out` is to be cleared in any case. */
int bl_model_time_make(const bl_model_time_options *options, bl_model_time *out, bl_error *err);
void bl_model_time_print(const bl_model_time *time, FILE *out);
void bl_model_time_clear(bl_model_time *time);

#endif
