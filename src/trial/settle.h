/* A trial whose end tells nothing certain is run once more. */
#ifndef BL_TRIAL_SETTLE_H
#define BL_TRIAL_SETTLE_H

#include "trial/trial.h"

/* As bl_trial_run. Where the outcome is ambiguous, runs the same once more: then the second outcome stands, with the
 * first one's evidence kept beside it. Twice ambiguous stays ambiguous. */
int bl_trial_settle(bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result, bl_error *err);

#endif
