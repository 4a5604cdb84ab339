/* When trainings that are stored reached a target. */
#ifndef BL_REPORT_REACHING_H
#define BL_REPORT_REACHING_H

#include "plan/target.h"
#include "store/experiment.h"

/* Borrowed from the trial. batch: of its case. */
bl_target_series bl_reaching_of_record(const bl_trial_record *trial, double batch);
/* Steps of a trial to the target; NaN where it did not get there, or its outcome is not ok. */
double bl_reaching_steps(const bl_trial_record *trial, double batch, const bl_target *target);
/* The time of the first so many steps, of the last one by its share; NaN where one is not known, or there are fewer. */
double bl_reaching_seconds(const bl_trial_record *trial, double batch, double steps);

#endif
