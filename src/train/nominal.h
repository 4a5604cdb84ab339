/* Training with a nominal batch, as YOLOv7's authors do (train.py of their code): gradients are added up until they are
 * of about so many samples, whatever the batch size, and so a rate suits all sizes. It grows to that during warm-up,
 * as rates and momentum do. */
#ifndef BL_TRAIN_NOMINAL_H
#define BL_TRAIN_NOMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "optim/optim.h"

#define BL_NOMINAL_BIAS_RATE 0.1 /* of biases at the first step; all others begin at 0 */
#define BL_NOMINAL_MOMENTUM  0.8 /* at the first step */

typedef struct bl_nominal {
    double ratio; /* nominal samples to those of a batch; 0: there is no nominal batch */
    int64_t warmup_steps;
    double momentum; /* after warm-up */
    int64_t held;    /* batches since the last update */
} bl_nominal;

/* warmup_steps 0: 3 epochs, but at least 1000 batches. */
bl_nominal bl_nominal_make(int64_t samples, int64_t batch, int64_t warmup_steps, int64_t batches_per_epoch,
                           double momentum);
/* The decay that the optimizer is to have: less where an update is of fewer samples. */
double bl_nominal_decay(const bl_nominal *nominal, double weight_decay);
/* Of batch number `step`, from 0 on: whether the weights are to be updated after it. `rates` come as the schedule has
 * them and become what the update is to be made with; gradients are to be summed up, each with weight 1. */
bool bl_nominal_due(bl_nominal *nominal, int64_t step, bl_optim_rates *rates);

#endif
