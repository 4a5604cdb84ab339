#include "lab/run_case.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "lab/hooks.h"
#include "lab/interrupt.h"
#include "lab/outdir.h"
#include "lab/reaching.h"
#include "plan/template.h"
#include "trial/settle.h"

/* What a case has while it runs. */
typedef struct surroundings {
    bl_str outdir;      /* empty where none is wanted */
    bl_factors factors; /* the spec's, borrowed, with {outdir} */
    bl_str outdir_env;
    char *env[2];
    int log_fd;
} surroundings;

static bool wants_outdir(const bl_sweep_spec *spec)
{
    bool wanted = spec->driving.prepare && bl_template_uses_outdir(spec->driving.prepare);
    wanted = wanted || (spec->driving.cleanup && bl_template_uses_outdir(spec->driving.cleanup));
    for (size_t i = 0; i < spec->command.len; i++)
        wanted = wanted || bl_template_uses_outdir(spec->command.items[i]);
    return wanted;
}

static int open_log(const bl_case_run *run, int *fd, bl_error *err)
{
    if (!run->keep_logs)
        return BL_OK;
    bl_str path;
    bl_str_init(&path);
    bl_str_printf(&path, "%s/%s.log", run->keep_logs, run->title);
    *fd = open(bl_str_text(&path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int code = *fd >= 0
                   ? BL_OK
                   : BL_FAIL(err, BL_ERR_IO, "the log '%s' cannot be written: %s", bl_str_text(&path), strerror(errno));
    bl_str_clear(&path);
    return code;
}

static int surround(const bl_case_run *run, surroundings *s, bl_error *err)
{
    *s = (surroundings){.factors = run->spec->factors, .log_fd = -1};
    bl_str_init(&s->outdir);
    bl_str_init(&s->outdir_env);
    int code = open_log(run, &s->log_fd, err);
    if (code != BL_OK || !(wants_outdir(run->spec) || run->keep_outdir))
        return code;
    code = bl_outdir_make(run->keep_outdir, run->title, &s->outdir, err);
    bl_str_printf(&s->outdir_env, "BATCHLAB_OUTDIR=%s", bl_str_text(&s->outdir));
    if (code == BL_OK && s->outdir_env.failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path");
    s->factors.outdir = bl_str_text(&s->outdir);
    s->env[0] = s->outdir_env.data;
    return code;
}

/* A folder that cannot be removed must not cost the trial; it is only said. */
static void leave(const bl_case_run *run, surroundings *s)
{
    bl_error err = {0};
    if (s->outdir.len > 0 && !run->keep_outdir && bl_fs_remove_tree(s->outdir.data, &err) != BL_OK)
        bl_log_warn("%s", err.message);
    if (s->log_fd >= 0)
        close(s->log_fd);
    bl_str_clear(&s->outdir);
    bl_str_clear(&s->outdir_env);
}

/* ---- to a target ---- */

typedef struct target_run {
    bl_target_watch watch;
    double batch, limit; /* steps after which it has lost */
    bool lost;
} target_run;

static bool enough(void *context, const bl_trial_result *result)
{
    target_run *t = context;
    bl_target_series series = bl_reaching_of_result(result, t->batch);
    bool reached = bl_target_watch_take(&t->watch, &series);
    t->lost = !reached && (double)result->steps_done > t->limit;
    return reached || t->lost;
}

/* A training that lost is no failure: its steps were measured well. */
static void note_target(const target_run *t, bl_losing *losing, bl_trial_result *result)
{
    if (result->decision.outcome != BL_OUTCOME_OK)
        return;
    if (t->watch.reached && losing)
        bl_losing_reached(losing, t->batch, t->watch.steps);
    if (t->lost && !t->watch.reached) {
        bl_str_reset(&result->decision.reason);
        bl_str_printf(&result->decision.reason, "stopped: losing: others show that %.0f steps are enough",
                      t->limit / losing->factor);
    }
}

static int run_trial(const bl_case_run *run, surroundings *s, bl_trial_result *result, bl_error *err)
{
    const bl_sweep_spec *spec = run->spec;
    bl_strv argv;
    int code = bl_sweep_spec_argv(spec, &s->factors, run->case_index, &argv, err);
    if (code != BL_OK)
        return code;
    if (run->on_command)
        run->on_command(run->context, &argv);
    int64_t batch = strtoll(bl_factors_value(&spec->factors, run->case_index, 0), NULL, 10);
    bool until = spec->driving.until.name[0] != '\0';
    target_run target = {.batch = (double)batch,
                         .limit = run->losing ? bl_losing_limit(run->losing, (double)batch) : INFINITY};
    bl_target_watch_init(&target.watch, &spec->driving.until);
    bl_trial_spec trial = {
        .argv = argv.items,
        .cwd = spec->cwd,
        .env = s->env,
        .batch = batch,
        .trial = run->trial,
        .max_steps = spec->steps,
        .time_s = spec->time_s,
        .setup_s = spec->setup_s,
        .silence_s = spec->driving.silence_s,
        .memory_limit_b = spec->driving.memory_limit_b,
        .enough = until ? enough : NULL,
        .enough_context = &target,
        .log_fd = s->log_fd,
        .rules = spec->driving.rules,
        .formats = spec->driving.formats,
        .metrics = spec->driving.metrics,
        .pty = spec->driving.pty,
        .telemetry = run->telemetry,
        .telemetry_hz = run->telemetry_hz,
        .interrupt = &bl_interrupt_count,
        .on_progress = run->on_progress,
        .context = run->context,
    };
    code = bl_trial_settle(run->launcher, &trial, result, err);
    if (code == BL_OK && until)
        note_target(&target, run->losing, result);
    bl_strv_clear(&argv);
    return code;
}

int bl_run_case(const bl_case_run *run, bl_trial_result *result, bool *ran, bl_error *err)
{
    *ran = false;
    bl_trial_result_init(result);
    surroundings s;
    int code = surround(run, &s, err);
    bl_hook hook = {.option = "--prepare",
                    .text = run->spec->driving.prepare,
                    .factors = &s.factors,
                    .case_index = run->case_index,
                    .trial = run->trial,
                    .log_fd = s.log_fd,
                    .env = s.env};
    if (code == BL_OK)
        code = bl_hook_run(run->launcher, run->spec, &hook, err);
    if (code == BL_OK) {
        code = run_trial(run, &s, result, err);
        *ran = code == BL_OK;
        /* Also after a trial that failed, was stopped, or could not be started: it cleans what --prepare did. */
        bl_error ignored = {0};
        hook.option = "--cleanup";
        hook.text = run->spec->driving.cleanup;
        int cleaned = bl_hook_run(run->launcher, run->spec, &hook, code == BL_OK ? err : &ignored);
        code = code == BL_OK ? cleaned : code;
    }
    leave(run, &s);
    return code;
}
