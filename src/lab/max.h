/* The search for the largest batch: runs what plan/largest.h asks for, and stores each probe. */
#ifndef BL_LAB_MAX_H
#define BL_LAB_MAX_H

#include "lab/live.h"
#include "lab/sweep_spec.h"
#include "plan/largest.h"
#include "store/store.h"
#include "trial/launcher.h"

typedef struct bl_max {
    bl_sweep_spec *spec; /* its sizes grow as they are tried */
    bl_store *store;
    int64_t id;
    bl_launcher *launcher;
    bl_live *live;
    const char *keep_logs, *keep_outdir;
    bool verbose;
} bl_max;

/* The probes of a stored search, into the arena, and its limits. Where an accelerator's memory was out, host memory
 * says nothing: the budget is then not known. */
int bl_max_probes(const bl_experiment *experiment, bl_arena *arena, bl_largest_limits *limits, bl_probe **out,
                  size_t *n, bl_error *err);

/* Goes on from what is stored until there is an answer, an error, or an interrupt (*interrupted). The experiment is
 * marked as ended. */
int bl_max_run(const bl_max *max, bool *interrupted, size_t *n_ran, bl_error *err);

#endif
