/* How a sitting begins: a fresh experiment is stored, or a stored one taken over; and its plain course. */
#ifndef BL_LAB_BEGIN_H
#define BL_LAB_BEGIN_H

#include "base/error.h"
#include "lab/sweep.h"
#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"
#include "store/store.h"

/* The experiment's number into *id. Fresh: `spec` is what it is to do, `comparison` what it judges or NULL. Resumed
 * (options->resume): spec is filled here from the stored one, which must have been begun by the same kind of command
 * ("sweep", "compare" or "max"). The environment of this sitting is stored. */
int bl_begin(const bl_sweep_options *options, const char *command, bl_store *store, bl_sweep_spec *spec,
             const bl_comparison *comparison, int64_t *id, bl_error *err);

/* What --debug, --verbose and --quiet ask for. */
void bl_begin_log(const bl_sweep_options *options);
/* What is run of an experiment as the options say; everything is borrowed. */
bl_sweep bl_begin_sweep(const bl_sweep_options *options, const bl_sweep_spec *spec, bl_store *store, int64_t id,
                        bl_launcher *launcher, bl_live *live);

/* Says what came of the trials; called after an error too, where there are any. */
typedef int (*bl_begin_print)(void *context, const bl_sweep *sweep, const bl_sweep_outcome *outcome, bl_error *err);
/* Runs all trials of a fresh experiment, then prints. An experiment without one trial is removed upon an error.
 * BL_ERR_INTERRUPTED where it was; BL_ERR_FAILED where a trial failed. */
int bl_begin_run_and_print(const bl_sweep *sweep, bl_begin_print print, void *context, bl_error *err);

#endif
