/* When trainings reached a target, as a trial that runs tells it, or one that is stored. */
#ifndef BL_LAB_REACHING_H
#define BL_LAB_REACHING_H

#include "plan/target.h"
#include "store/experiment.h"
#include "trial/trial.h"

/* Borrowed from the trial. batch: of its case. */
bl_target_series bl_reaching_of_result(const bl_trial_result *result, double batch);
bl_target_series bl_reaching_of_record(const bl_trial_record *trial, double batch);

/* Steps of a stored trial to the target; NaN where it did not get there, or its outcome is not ok. */
double bl_reaching_steps(const bl_trial_record *trial, double batch, const bl_target *target);

#endif
