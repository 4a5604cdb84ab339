/* Optimizers and learning-rate schedules over a parameter table. */
#ifndef BL_OPTIM_OPTIM_H
#define BL_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/params.h"

typedef enum bl_optim_kind { BL_OPTIM_SGD, BL_OPTIM_ADAM, BL_OPTIM_ADAMW } bl_optim_kind;

typedef struct bl_optim_options {
    bl_optim_kind kind;
    double momentum; /* SGD */
    bool nesterov;
    double beta1, beta2, eps; /* Adam; 0 means 0.9, 0.999, 1e-8 */
    double weight_decay;      /* on every learnt number, as torch.optim does by default */
} bl_optim_options;

typedef struct bl_optim bl_optim;

/* "sgd", "adam", "adamw"; false for another name. */
bool bl_optim_kind_from_name(const char *name, bl_optim_kind *out);
/* The table must be allocated with gradients, and outlives the optimizer. */
int bl_optim_new(bl_params *params, const bl_optim_options *options, bl_optim **out, bl_error *err);
void bl_optim_free(bl_optim *optim);
/* One update with the gradients that stand in the table. */
void bl_optim_step(bl_optim *optim, double learning_rate);
size_t bl_optim_bytes(const bl_optim *optim); /* of its state */

typedef enum bl_schedule_kind { BL_SCHEDULE_CONSTANT, BL_SCHEDULE_COSINE, BL_SCHEDULE_LINEAR } bl_schedule_kind;

typedef struct bl_schedule {
    bl_schedule_kind kind;
    double peak;
    int64_t warmup_steps; /* linearly up to the peak */
    int64_t total_steps;  /* cosine (Loshchilov and Hutter 2017, eq. 5) and linear reach 0 there */
} bl_schedule;

bool bl_schedule_kind_from_name(const char *name, bl_schedule_kind *out);
/* Of step 0, 1, ... */
double bl_schedule_rate(const bl_schedule *schedule, int64_t step);

#endif
