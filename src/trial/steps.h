/* Which of a trial's sources tells its steps. Of use inside this room. */
#ifndef BL_TRIAL_STEPS_H
#define BL_TRIAL_STEPS_H

#include <stdint.h>

#include "trial/trial.h"

/* Fills step_source, steps, n_steps, samples, steps_done and phase from what has come so far. */
void bl_steps_choose(bl_trial_result *result);
/* When training began, on the monotonic clock: the time budget runs from there, not from the process's start. 0 where
 * that is not known yet. */
int64_t bl_steps_start_ns(const bl_trial_result *result);
/* Samples a second over the last steps; NaN before the second. */
double bl_steps_recent_rate(const bl_trial_result *result);
/* The time of these steps is not known: [from, to), as far as there are such. */
void bl_steps_forget_times(bl_trial_result *result, size_t from, size_t to);

/* The newest step's loss, where it has none of its own. */
void bl_steps_set_loss(bl_trial_result *result, double loss);

#endif
