/* What a sweep is to do, checked: factors, command, budgets. Made from the options, or from a stored experiment. */
#ifndef BL_LAB_SWEEP_SPEC_H
#define BL_LAB_SWEEP_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "lab/driving.h"
#include "lab/sweep_options.h"
#include "plan/factors.h"
#include "store/experiment.h"

typedef struct bl_sweep_spec {
    bl_factors factors;
    bl_strv command; /* the template */
    char *workload;  /* for people */
    char *name, *samples, *cwd;
    bool shell, batch_from_env;
    int64_t blocks, steps, warmup, seed;
    double time_s, setup_s, margin;
    bl_driving driving;
} bl_sweep_spec;

/* `program` is argv[0] of the lab: batchlab-train is looked for beside it. Everything that can be wrong with the
 * words is found here, before anything runs. `spec` is initialised, and to be cleared in any case. */
int bl_sweep_spec_from_options(const bl_sweep_options *options, const char *program, bl_sweep_spec *spec,
                               bl_error *err);
/* BL_ERR_FORMAT where the stored experiment makes no sense. */
int bl_sweep_spec_from_experiment(const bl_experiment *experiment, bl_sweep_spec *spec, bl_error *err);
void bl_sweep_spec_clear(bl_sweep_spec *spec);

/* Where batchlab-train is: beside this program, else its bare name, for PATH. */
void bl_sweep_find_trainer(const char *program, bl_str *out);

/* As it is stored; texts stay the spec's, arrays are the arena's. */
int bl_sweep_spec_to_experiment(const bl_sweep_spec *spec, bl_arena *arena, bl_experiment *out, bl_error *err);
/* The argv of one case; factors: the spec's, with the trial's {outdir}. */
int bl_sweep_spec_argv(const bl_sweep_spec *spec, const bl_factors *factors, size_t case_index, bl_strv *out,
                       bl_error *err);

#endif
