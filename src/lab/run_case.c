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
#include "trial/turns.h"

/* What a program finds cold when it goes on is to be a small part of its turn. */
#define TURN_S     0.1
#define MIN_ROUNDS 4

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

/* What the trial is, once its command is known; all is borrowed. */
static bl_trial_spec make_trial(const bl_case_run *run, const surroundings *s, const bl_strv *argv)
{
    const bl_sweep_spec *spec = run->spec;
    return (bl_trial_spec){
        .argv = argv->items,
        .cwd = spec->cwd,
        .env = s->env,
        .batch = strtoll(bl_factors_value(&spec->factors, run->case_index, 0), NULL, 10),
        .trial = run->trial,
        .max_steps = spec->steps,
        .time_s = spec->time_s,
        .setup_s = spec->setup_s,
        .silence_s = spec->driving.silence_s,
        .memory_limit_b = spec->driving.memory_limit_b,
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
}

static int make_argv(const bl_case_run *run, const surroundings *s, bl_strv *argv, bl_error *err)
{
    int code = bl_sweep_spec_argv(run->spec, &s->factors, run->case_index, argv, err);
    if (code == BL_OK && run->on_command)
        run->on_command(run->context, argv);
    return code;
}

static int run_trial(const bl_case_run *run, surroundings *s, bl_trial_result *result, bl_error *err)
{
    bl_strv argv;
    int code = make_argv(run, s, &argv, err);
    if (code != BL_OK)
        return code;
    bl_trial_spec trial = make_trial(run, s, &argv);
    const bl_target *until = &run->spec->driving.until;
    target_run target = {.batch = (double)trial.batch,
                         .limit = run->losing ? bl_losing_limit(run->losing, (double)trial.batch) : INFINITY};
    bl_target_watch_init(&target.watch, until);
    trial.enough = until->name[0] != '\0' ? enough : NULL;
    trial.enough_context = &target;
    code = bl_trial_settle(run->launcher, &trial, result, err);
    if (code == BL_OK && trial.enough)
        note_target(&target, run->losing, result);
    bl_strv_clear(&argv);
    return code;
}

static int run_hook(const bl_case_run *run, const surroundings *s, bool cleanup, bl_error *err)
{
    const bl_driving *driving = &run->spec->driving;
    bl_hook hook = {.option = cleanup ? "--cleanup" : "--prepare",
                    .text = cleanup ? driving->cleanup : driving->prepare,
                    .factors = &s->factors,
                    .case_index = run->case_index,
                    .trial = run->trial,
                    .log_fd = s->log_fd,
                    .env = s->env};
    return bl_hook_run(run->launcher, run->spec, &hook, err);
}

/* Also after a trial that failed, was stopped, or could not be started: it cleans what --prepare did. */
static int clean_up(const bl_case_run *run, const surroundings *s, int code, bl_error *err)
{
    bl_error ignored = {0}; /* the first failure is the one to tell */
    int cleaned = run_hook(run, s, true, code == BL_OK ? err : &ignored);
    return code == BL_OK ? cleaned : code;
}

int bl_run_case(const bl_case_run *run, bl_trial_result *result, bool *ran, bl_error *err)
{
    *ran = false;
    bl_trial_result_init(result);
    surroundings s;
    int code = surround(run, &s, err);
    if (code == BL_OK)
        code = run_hook(run, &s, false, err);
    if (code == BL_OK) {
        code = run_trial(run, &s, result, err);
        *ran = code == BL_OK;
        code = clean_up(run, &s, code, err);
    }
    leave(run, &s);
    return code;
}

/* ---- two in turn ---- */

static int run_in_turn(const bl_case_run *runs, surroundings *s, bl_turns *turns, bl_trial_result *results, bool *ran,
                       bl_error *err)
{
    bl_strv argv[2];
    bl_trial_spec trials[2];
    bl_launcher *const launchers[] = {runs[0].launcher, runs[1].launcher};
    bl_strv_init(&argv[0]);
    bl_strv_init(&argv[1]);
    int code = BL_OK;
    for (int i = 0; i < 2 && code == BL_OK; i++) {
        code = make_argv(&runs[i], &s[i], &argv[i], err);
        trials[i] = make_trial(&runs[i], &s[i], &argv[i]);
        trials[i].max_steps = 0;
        trials[i].time_s = 0;
        trials[i].telemetry = NULL; /* the machine's figures would be of both */
    }
    if (code == BL_OK)
        code = bl_turns_run(launchers, trials, turns, results, ran, err);
    bl_strv_clear(&argv[0]);
    bl_strv_clear(&argv[1]);
    return code;
}

int bl_run_pair(const bl_case_run *runs, uint64_t order, bl_trial_result *results, bool *ran, bl_error *err)
{
    surroundings s[2];
    const bl_sweep_spec *spec = runs[0].spec;
    bl_turns turns = {.steps = spec->driving.turn_steps,
                      .turn_s = TURN_S,
                      .max_steps = spec->steps,
                      .time_s = spec->time_s,
                      .min_rounds = MIN_ROUNDS,
                      .order = order};
    int n_surrounded = 0, n_prepared = 0, code = BL_OK;
    for (int i = 0; i < 2; i++) {
        ran[i] = false;
        bl_trial_result_init(&results[i]);
    }
    for (; n_surrounded < 2 && code == BL_OK; n_surrounded++)
        code = surround(&runs[n_surrounded], &s[n_surrounded], err);
    for (; n_prepared < 2 && code == BL_OK; n_prepared++)
        code = run_hook(&runs[n_prepared], &s[n_prepared], false, err);
    bool prepared = code == BL_OK;
    if (prepared)
        code = run_in_turn(runs, s, &turns, results, ran, err);
    for (int i = 0; i < (prepared ? 2 : n_prepared - 1); i++)
        code = clean_up(&runs[i], &s[i], code, err);
    for (int i = 0; i < n_surrounded; i++)
        leave(&runs[i], &s[i]);
    return code;
}
