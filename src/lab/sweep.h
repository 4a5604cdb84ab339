/* Runs the trials of a sweep and stores each as it ends. */
#ifndef BL_LAB_SWEEP_H
#define BL_LAB_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lab/live.h"
#include "lab/sweep_spec.h"
#include "store/store.h"
#include "trial/launcher.h"

typedef struct bl_sweep {
    const bl_sweep_spec *spec;
    bl_store *store;
    int64_t id; /* of the experiment, begun or claimed */
    bl_launcher *launcher;
    bl_live *live;
    const char *keep_logs;   /* a folder, or NULL */
    const char *keep_outdir; /* likewise, for what trials leave in {outdir} */
    bool set_up;             /* --setup has run in this sitting */
    const char *page;        /* a web page written anew after each trial, or NULL */
    bool verbose;
    double telemetry_hz;    /* looks a second while trials run; 0: none */
    double max_temperature; /* no trial begins above it; NaN: go by the first one's */

    /* For comparisons, which go on from look to look. All zero: the whole experiment, to its end. */
    size_t block_limit;   /* only the blocks before this one; 0: all */
    const bool *left_out; /* for each case, whether it runs no more; may be NULL */
    int64_t deadline_ns;  /* monotonic: no trial begins after it; 0: none */
    bool goes_on;         /* the experiment stays open */
} bl_sweep;

typedef struct bl_sweep_outcome {
    size_t n_ran, n_failed; /* trials of this sitting; failed: any outcome but ok and interrupted */
    bool interrupted;
    bool out_of_time; /* the deadline came with trials left to run */
} bl_sweep_outcome;

/* Runs what the experiment's stored trials leave to do. An interrupt (lab/interrupt.h) ends it well, with the
 * experiment marked interrupted. After an error the experiment is marked interrupted too, where the store can. */
int bl_sweep_run(const bl_sweep *sweep, bl_sweep_outcome *outcome, bl_error *err);

#endif
