/* Runs one case as a trial, with what stands around it: a fresh folder for its output, --prepare, the trial, --cleanup.
 */
#ifndef BL_LAB_RUN_CASE_H
#define BL_LAB_RUN_CASE_H

#include <stdint.h>

#include "base/error.h"
#include "lab/losing.h"
#include "lab/sweep_spec.h"
#include "trial/trial.h"

typedef struct bl_case_run {
    bl_launcher *launcher;
    const bl_sweep_spec *spec;
    size_t case_index;
    int64_t trial;           /* BATCHLAB_TRIAL */
    const char *title;       /* names its files: "3-block1-batch=8" */
    const char *keep_logs;   /* a folder for its output, or NULL */
    const char *keep_outdir; /* a folder in which its {outdir} stays, or NULL: it is removed */
    /* Called with the command before it runs; may be NULL. */
    void (*on_command)(void *context, const bl_strv *argv);
    void (*on_progress)(void *context, const bl_trial_progress *progress);
    void *context;
    bl_losing *losing;       /* of trainings to a target; NULL: none is stopped */
    bl_telemetry *telemetry; /* NULL: none */
    double telemetry_hz;
} bl_case_run;

/* An outcome that ended ambiguously is run once more (trial/settle.h), in the same folder. `result` is filled where
 * *ran; it is initialised in any case, and to be cleared. A --cleanup that fails is an error with *ran set: what the
 * trial gave is still to be stored. Errors as of bl_trial_run and bl_hook_run. */
int bl_run_case(const bl_case_run *run, bl_trial_result *result, bool *ran, bl_error *err);

/* Two cases in turn (trial/turns.h), by the turns of their spec; runs: two, each with a launcher of its own, which
 * bl_launcher_start_beside made for the second. Nothing is run once more, and there is no telemetry, since the
 * machine's would be of both. `results` and `ran` as above, two each; --prepare of both stands before, --cleanup of
 * both behind. */
int bl_run_pair(const bl_case_run *runs, uint64_t order, bl_trial_result *results, bool *ran, bl_error *err);

#endif
