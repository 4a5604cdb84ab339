/* How far the training of a trial that runs has got on its way to a target. */
#ifndef BL_LAB_REACHING_H
#define BL_LAB_REACHING_H

#include "plan/target.h"
#include "trial/trial.h"

/* Borrowed from the trial. batch: of its case. */
bl_target_series bl_reaching_of_result(const bl_trial_result *result, double batch);

#endif
