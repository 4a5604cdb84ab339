/* How a sitting begins: a fresh experiment is stored, or a stored one taken over. */
#ifndef BL_LAB_BEGIN_H
#define BL_LAB_BEGIN_H

#include "base/error.h"
#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"
#include "store/store.h"

/* The experiment's number into *id. Fresh: `spec` is what it is to do, `comparison` what it judges or NULL. Resumed
 * (options->resume): spec is filled here from the stored one, which must have been begun by the same kind of command
 * ("sweep", "compare" or "max"). The environment of this sitting is stored. */
int bl_begin(const bl_sweep_options *options, const char *command, bl_store *store, bl_sweep_spec *spec,
             const bl_comparison *comparison, int64_t *id, bl_error *err);

#endif
