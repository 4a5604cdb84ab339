/* From what a trial gave to what is stored of it. */
#ifndef BL_LAB_RECORD_H
#define BL_LAB_RECORD_H

#include "base/alloc.h"
#include "base/error.h"
#include "plan/blocks.h"
#include "store/experiment.h"
#include "trial/trial.h"

/* Texts stay the result's, arrays are the arena's. run_samples: NaN where not declared. */
int bl_record_make(const bl_trial_result *result, const bl_plan_entry *entry, double run_samples, bl_arena *arena,
                   bl_trial_record *out, bl_error *err);

#endif
