/* Runs a comparison from look to look until its rule has decided. */
#ifndef BL_LAB_COMPARE_H
#define BL_LAB_COMPARE_H

#include "base/error.h"
#include "lab/sweep.h"

/* sweep: spec, store, id, launcher, live, logs; what only comparisons set in it is set here. budget_s: of measuring,
 * over all sittings; below 0 for none. outcome: summed over the stretches between looks. The experiment is ended:
 * finished where all is decided, the last look taken, or the budget spent. BL_ERR_FAILED where a case of an open pair
 * never works. */
int bl_compare_run(bl_sweep *sweep, double budget_s, bl_sweep_outcome *outcome, bl_error *err);

#endif
