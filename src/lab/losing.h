/* Which trainings to a target have lost already: others of the experiment got there so much sooner that these cannot be
 * the best of their batch size.
 *
 * With good rates the steps to a target fall with the batch size, and the samples rise. So at size B no more are needed
 * than the fewest that any training took at B or a smaller size, nor more than S b / B, where one took S steps at a
 * larger size b. A training that has taken `factor` times the least of these bounds is stopped. */
#ifndef BL_LAB_LOSING_H
#define BL_LAB_LOSING_H

#include <stddef.h>

#include "base/error.h"
#include "lab/sweep_spec.h"
#include "store/experiment.h"

/* The factor where the user gave none. */
#define BL_LOSING_FACTOR 2.0

typedef struct bl_losing {
    double factor;          /* 0: nothing is stopped */
    double *batch, *fewest; /* the fewest steps of each size that reached the target */
    size_t n;
} bl_losing;

/* Whether trainings of this experiment are compared: it has a target, and its factor lr several values. */
bool bl_losing_wanted(const bl_sweep_spec *spec);
/* With what is stored already. `losing` is to be cleared in any case. */
int bl_losing_init(const bl_sweep_spec *spec, const bl_experiment *stored, bl_losing *losing, bl_error *err);
void bl_losing_clear(bl_losing *losing);

/* A training reached the target. */
void bl_losing_reached(bl_losing *losing, double batch, double steps);
/* Steps after which a training of that size has lost; INFINITY where nothing is known yet. */
double bl_losing_limit(const bl_losing *losing, double batch);

#endif
