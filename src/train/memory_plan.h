/* What a training takes in memory: planned, by kind, and as the kernel measured it. */
#ifndef BL_TRAIN_MEMORY_PLAN_H
#define BL_TRAIN_MEMORY_PLAN_H

#include <stdio.h>

#include "train/trainer.h"

typedef struct bl_memory_plan {
    size_t program_b; /* resident before anything below is filled: code, libraries, generated kernels; measured */
    size_t weights_b; /* values and buffers */
    size_t gradients_b, optimizer_b;
    size_t average_b; /* of the weights; 0 without --ema */
    size_t slab_b;    /* activations, their gradients, workspace and gaps */
    size_t batches_b;
    size_t total_b;
} bl_memory_plan;

/* For a trainer made ready; before_b: bl_memory_resident_b before that. */
void bl_memory_plan_make(const bl_trainer *trainer, size_t before_b, bl_memory_plan *out);
void bl_memory_plan_print(const bl_trainer *trainer, const bl_memory_plan *plan, FILE *out);
/* Resident now, and at most so far (VmRSS, VmHWM of proc(5)); 0 where the system does not say. */
size_t bl_memory_resident_b(void);
size_t bl_memory_peak_b(void);

#endif
