/* When a training reached its target. */
#ifndef BL_PLAN_TARGET_H
#define BL_PLAN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* "loss=0.25"; false for anything else. */
bool bl_target_parse(const char *text, double *loss);

/* The first step, from 1, at which the mean loss of the last tenth of the steps so far, and of 5 at least, is not above
 * `target`; 0 where there is none. The window grows with the steps, so that it delays trainings of few long steps and
 * of many short ones by the same share. Losses that are NaN are left out. */
size_t bl_steps_to_loss(const double *loss, size_t n, double target);

#endif
