#include "lab/begin.h"

#include <string.h>

#include "base/log.h"
#include "lab/interrupt.h"
#include "store/environment.h"

void bl_begin_log(const bl_sweep_options *o)
{
    bl_log_init("batchlab", o->debug     ? BL_LOG_DEBUG
                            : o->verbose ? BL_LOG_VERBOSE
                            : o->quiet   ? BL_LOG_QUIET
                                         : BL_LOG_NORMAL);
}

/* A comparison stops by its own rule and a sweep by its blocks: neither goes on as the other. */
static int check_kind(const bl_experiment *e, const char *command, bl_error *err)
{
    const char *kind = e->comparison.n_pairs > 0 ? "compare" : bl_driving_is_search(e->driving) ? "max" : "sweep";
    if (strcmp(kind, command) == 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "experiment %lld was begun by batchlab %s", (long long)e->id, kind);
    bl_error_remedy(err, "batchlab %s --resume %lld", kind, (long long)e->id);
    return BL_ERR_USAGE;
}

static int resume(const bl_sweep_options *o, const char *command, bl_store *store, bl_sweep_spec *spec, int64_t *id,
                  bl_arena *arena, bl_error *err)
{
    bl_experiment experiment;
    *id = o->resume_id;
    int code = *id > 0 ? BL_OK : bl_store_latest(store, true, id, err);
    if (code == BL_OK)
        code = bl_store_load(store, *id, false, arena, &experiment, err);
    if (code == BL_OK)
        code = check_kind(&experiment, command, err);
    if (code == BL_OK)
        code = bl_store_claim(store, *id, o->blocks == BL_SWEEP_NOT_GIVEN ? 0 : o->blocks, err);
    if (code == BL_OK)
        code = bl_store_load(store, *id, false, arena, &experiment, err);
    return code == BL_OK ? bl_sweep_spec_from_experiment(&experiment, spec, err) : code;
}

static int begin_fresh(bl_store *store, const bl_sweep_spec *spec, const bl_comparison *comparison, int64_t *id,
                       bl_arena *arena, bl_error *err)
{
    bl_experiment experiment;
    int code = bl_sweep_spec_to_experiment(spec, arena, &experiment, err);
    if (code != BL_OK)
        return code;
    experiment.git_revision = bl_environment_git_revision(spec->cwd, arena);
    if (comparison)
        experiment.comparison = *comparison;
    return bl_store_begin(store, &experiment, id, err);
}

int bl_begin(const bl_sweep_options *o, const char *command, bl_store *store, bl_sweep_spec *spec,
             const bl_comparison *comparison, int64_t *id, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_environment environment;
    int code = o->resume ? resume(o, command, store, spec, id, &arena, err)
                         : begin_fresh(store, spec, comparison, id, &arena, err);
    if (code == BL_OK)
        code = bl_environment_capture("", &arena, &environment, err);
    if (code == BL_OK)
        code = bl_store_add_environment(store, *id, &environment, err);
    bl_arena_clear(&arena);
    return code;
}

bl_sweep bl_begin_sweep(const bl_sweep_options *o, const bl_sweep_spec *spec, bl_store *store, int64_t id,
                        bl_launcher *launcher, bl_live *live)
{
    return (bl_sweep){.spec = spec,
                      .store = store,
                      .id = id,
                      .launcher = launcher,
                      .live = live,
                      .keep_logs = o->keep_logs,
                      .keep_outdir = o->keep_outdir,
                      .page = o->live,
                      .verbose = o->verbose,
                      .telemetry_hz = o->telemetry_hz,
                      .max_temperature = o->max_temperature};
}

int bl_begin_run_and_print(const bl_sweep *sweep, bl_begin_print print, void *context, bl_error *err)
{
    bl_sweep_outcome outcome;
    bl_interrupt_install();
    int code = bl_sweep_run(sweep, &outcome, err);
    bl_live_erase(sweep->live);
    if (outcome.n_ran == 0 && code != BL_OK) {
        bl_store_delete(sweep->store, sweep->id, NULL); /* not one trial: it would only be in the way */
        return code;
    }
    bl_error report_error = {0};
    int printed = print(context, sweep, &outcome, code == BL_OK ? err : &report_error);
    code = code == BL_OK ? printed : code;
    if (code == BL_OK && outcome.interrupted)
        return BL_ERR_INTERRUPTED;
    return code == BL_OK && outcome.n_failed > 0 ? BL_ERR_FAILED : code;
}
