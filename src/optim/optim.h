/* Optimizers over a parameter table. */
#ifndef BL_OPTIM_OPTIM_H
#define BL_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/params.h"

typedef enum bl_optim_kind { BL_OPTIM_SGD, BL_OPTIM_ADAM, BL_OPTIM_ADAMW } bl_optim_kind;

/* Parameters that may have a rate of their own, and of which only the first group decays by default. Told apart by
 * names and shapes, as those are in public state dicts. */
typedef enum bl_optim_group {
    BL_OPTIM_WEIGHTS, /* of convolutions and linear layers: "...weight" with two dimensions or more */
    BL_OPTIM_SCALES,  /* of normalisations and layers, class tokens, positions: all others that are not biases */
    BL_OPTIM_BIASES,  /* "...bias", a normalisation's shift too */
    BL_OPTIM_GROUPS   /* how many there are */
} bl_optim_group;

bl_optim_group bl_optim_group_of(const bl_param *param);

typedef struct bl_optim_options {
    bl_optim_kind kind;
    double momentum; /* SGD; 0: there is no state */
    bool nesterov;
    double beta1, beta2, eps; /* Adam; 0 means 0.9, 0.999, 1e-8 */
    double weight_decay;
    bool decay_all;   /* the decay is for every learnt number, as in torch.optim; else for BL_OPTIM_WEIGHTS alone */
    double clip_norm; /* longer gradients are shortened to this norm, over all parameters; 0: never */
    bool accumulate;  /* bl_optim_accumulate will be called */
} bl_optim_options;

/* Of one step. */
typedef struct bl_optim_rates {
    double lr[BL_OPTIM_GROUPS];
    double momentum;   /* of SGD; NaN: the options' */
    double grad_scale; /* the gradient is taken times this, before it is clipped; 0 means 1 */
} bl_optim_rates;

/* One learning rate for all. */
bl_optim_rates bl_optim_rates_of(double learning_rate);

typedef struct bl_optim bl_optim;

/* "sgd", "adam", "adamw"; false for another name. */
bool bl_optim_kind_from_name(const char *name, bl_optim_kind *out);
/* The table must be allocated with gradients, and outlives the optimizer. */
int bl_optim_new(bl_params *params, const bl_optim_options *options, bl_optim **out, bl_error *err);
void bl_optim_free(bl_optim *optim);
/* Adds `weight` times the gradients that stand in the table to the next step's: these become the weighted mean of all
 * that was added since the last step. With the number of samples as weight, and losses that are means over samples,
 * that is the gradient of one batch of them all. Any number of calls; needs options.accumulate. */
void bl_optim_accumulate(bl_optim *optim, double weight);
/* One update, with what was accumulated, or else with the gradients that stand in the table. */
void bl_optim_step(bl_optim *optim, const bl_optim_rates *rates);
/* Of the last step's gradient before it was clipped; NaN before the first, and where options.clip_norm is 0. */
double bl_optim_grad_norm(const bl_optim *optim);
/* What Adam multiplies each number of its averaged gradient by, the rate left out: 1 / (sqrt(v / (1 - beta2^step)) +
 * eps), as bl_params_slab_count floats. False, and nothing written, for others and before the first step. */
bool bl_optim_scaling(const bl_optim *optim, float *out);
size_t bl_optim_bytes(const bl_optim *optim); /* of its state, and of what it accumulates in */

/* What a checkpoint holds, between two steps: the arrays i = 0, 1, ... and the number of steps done. Each array has
 * bl_params_slab_count floats at the table's offsets, and the name that torch.optim gives it: "momentum_buffer", or
 * "exp_avg" and "exp_avg_sq". False after the last. */
bool bl_optim_state(bl_optim *optim, int i, const char **name, float **data, int64_t *count);
int64_t bl_optim_steps(const bl_optim *optim);
void bl_optim_set_steps(bl_optim *optim, int64_t steps);

#endif
