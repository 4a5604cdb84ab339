#include "lab/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "lab/hooks.h"
#include "lab/interrupt.h"
#include "lab/losing.h"
#include "lab/page_file.h"
#include "lab/record.h"
#include "lab/record_telemetry.h"
#include "lab/run_case.h"
#include "lab/telemetry_setup.h"
#include "plan/blocks.h"
#include "plan/eta.h"
#include "plan/template.h"
#include "report/analysis.h"
#include "stats/rng.h"
#include "trial/trial.h"
#include "trial/turns.h"

/* One sitting. */
typedef struct sitting {
    const bl_sweep *sweep;
    bl_plan plan, left; /* all of it, and what is still to run */
    bl_eta eta;
    size_t at;       /* entry of `left` that runs */
    size_t n_before; /* trials stored by earlier sittings */
    size_t first_block_ok, first_block_ran;
    bl_str label;
    int64_t page_ns; /* when the live page was last written; 0: not yet */
    bool page_failed;
    bl_sweep_outcome *outcome;
    bl_telemetry *telemetry; /* NULL: none */
    bl_gate gate;
    bl_launcher second; /* where cases train in turn */
    bl_losing losing;
} sitting;

/* ---- what is left ---- */

static int make_plan(sitting *s, bl_error *err)
{
    const bl_sweep_spec *spec = s->sweep->spec;
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment stored;
    size_t limit = s->sweep->block_limit, blocks = (size_t)spec->blocks;
    int code = bl_plan_make(bl_factors_n_cases(&spec->factors), limit > 0 && limit < blocks ? limit : blocks,
                            (uint64_t)spec->seed, &s->plan, err);
    if (code == BL_OK)
        code = bl_store_load(s->sweep->store, s->sweep->id, bl_losing_wanted(spec), &arena, &stored, err);
    if (code == BL_OK)
        code = bl_losing_init(spec, &stored, &s->losing, err);
    bl_plan_done *done = NULL;
    if (code == BL_OK) {
        done = bl_arena_alloc(&arena, stored.n_trials, sizeof *done);
        code = done ? bl_eta_init(&s->eta, s->plan.n_cases, err) : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the plan");
    }
    for (size_t i = 0; code == BL_OK && i < stored.n_trials; i++) {
        const bl_trial_record *t = &stored.trials[i];
        if (strcmp(t->outcome, bl_outcome_name(BL_OUTCOME_INTERRUPTED)) == 0)
            continue;
        done[s->n_before++] = (bl_plan_done){.block = t->block, .case_index = t->case_index};
        bl_eta_add(&s->eta, t->case_index, t->wall_s);
    }
    if (code == BL_OK)
        code = bl_plan_remaining(&s->plan, done, s->n_before, &s->left, err);
    if (code == BL_OK && s->sweep->left_out)
        bl_plan_leave_out(&s->left, s->sweep->left_out);
    bl_arena_clear(&arena);
    return code;
}

static void name_case(sitting *s)
{
    bl_str_reset(&s->label);
    bl_factors_label(&s->sweep->spec->factors, s->left.items[s->at].case_index, &s->label);
}

/* ---- what is shown ---- */

static void show_progress(void *context, const bl_trial_progress *progress)
{
    sitting *s = context;
    const bl_plan_entry *entry = &s->left.items[s->at];
    bl_live_state state = {
        .block = entry->block + 1,
        .n_blocks = s->plan.n_blocks,
        .trial = s->n_before + s->at + 1,
        .n_trials = s->n_before + s->left.len,
        .label = bl_str_text(&s->label),
        .phase = progress->phase,
        .step = progress->n_steps,
        .max_steps = s->sweep->spec->steps,
        .samples_per_s = progress->samples_per_s,
        .elapsed_s = progress->elapsed_s,
        .eta_s = bl_eta_remaining(&s->eta, s->left.items + s->at, s->left.len - s->at, progress->elapsed_s),
    };
    bl_live_draw(s->sweep->live, &state);
}

static void append_figure(const bl_trial_figure *figure, const bl_trial_record *t, bl_str *line)
{
    if (isfinite(figure->seconds) && figure->source == BL_FIGURE_RUN)
        bl_str_printf(line, "%.2f s", figure->seconds);
    else if (isfinite(figure->seconds))
        bl_str_printf(line, "%.*f samples/s", 1 / figure->seconds < 100 ? 2 : 1, 1 / figure->seconds);
    else if (figure->source == BL_FIGURE_STEPS || figure->source == BL_FIGURE_PROGRESS)
        bl_str_append(line, "unsteady");
    if (isfinite(figure->step_seconds))
        bl_str_printf(line, ", %.1f ms a step", 1000 * figure->step_seconds);
    if (isfinite(t->peak_memory_b))
        bl_str_printf(line, ", %.0f MiB", t->peak_memory_b / (1 << 20));
    bl_str_printf(line, ", %.1f s", t->wall_s);
}

static void say_result(sitting *s, const bl_trial_record *t)
{
    bl_trial_figure figure;
    const bl_sweep_spec *spec = s->sweep->spec;
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "[%zu/%zu] block %zu/%zu  %s  ", s->n_before + s->at + 1, s->n_before + s->left.len,
                  t->block + 1, s->plan.n_blocks, bl_str_text(&s->label));
    if (strcmp(t->outcome, "ok") != 0)
        bl_str_printf(&line, "%s: %s", t->outcome, t->reason ? t->reason : "");
    else if (bl_trial_figure_compute(t, spec->warmup, &figure, NULL) == BL_OK)
        append_figure(&figure, t, &line);
    if (strcmp(t->outcome, "ok") == 0 && t->reason)
        bl_str_printf(&line, ", %s", t->reason);
    bl_live_say(s->sweep->live, bl_str_text(&line));
    bl_str_clear(&line);
}

static void say_command(void *context, const bl_strv *argv)
{
    const sitting *s = context;
    if (!s->sweep->verbose)
        return;
    bl_str line;
    bl_str_init(&line);
    bl_str_append(&line, " ");
    for (size_t i = 0; i < argv->len; i++)
        bl_str_printf(&line, " %s", argv->items[i]);
    bl_live_say(s->sweep->live, bl_str_text(&line));
    bl_str_clear(&line);
}

/* ---- one trial ---- */

/* "3-block1-batch=8": a name for the trial's files. */
static void name_trial(const sitting *s, bl_str *title)
{
    bl_str_printf(title, "%lld-block%zu-", (long long)s->sweep->id, s->left.items[s->at].block + 1);
    for (const char *c = bl_str_text(&s->label); *c; c++)
        bl_str_append_c(title, *c == '/' || *c == ' ' ? '_' : *c);
}

/* Loads and judges the whole experiment, so no oftener than a reader's page asks for it. A page that cannot be written
 * ends no sweep: it is said once, and again at the end. */
static void renew_page(sitting *s)
{
    int64_t now_ns = bl_clock_ns();
    if (!s->sweep->page || s->page_failed || (s->page_ns > 0 && now_ns - s->page_ns < BL_PAGE_REFRESH_S * BL_NS_PER_S))
        return;
    bl_error err = {0};
    s->page_ns = now_ns;
    s->page_failed =
        bl_page_file_write(s->sweep->store, &s->sweep->id, 1, BL_PAGE_REFRESH_S, NULL, s->sweep->page, &err) != BL_OK;
    if (s->page_failed)
        bl_log_warn("no live page: %s", err.message);
}

static int store_result(sitting *s, const bl_trial_result *result, bl_error *err)
{
    const bl_sweep_spec *spec = s->sweep->spec;
    const bl_plan_entry *entry = &s->left.items[s->at];
    double run_samples = NAN;
    if (spec->samples && result->step_source == BL_STEPS_NONE)
        bl_template_number(spec->samples, &spec->factors, entry->case_index, &run_samples, NULL); /* checked before */
    bl_arena arena;
    bl_arena_init(&arena);
    bl_trial_record record;
    int code = bl_record_make(result, entry, run_samples, &arena, &record, err);
    if (code == BL_OK)
        code = bl_record_telemetry(&result->telemetry, &s->gate, &arena, &record, err);
    if (code == BL_OK)
        code = bl_store_add_trial(s->sweep->store, s->sweep->id, &record, NULL, err);
    if (code == BL_OK)
        say_result(s, &record);
    if (code == BL_OK)
        renew_page(s);
    bl_arena_clear(&arena);
    return code;
}

static void count_outcome(sitting *s, const bl_trial_result *result)
{
    const bl_plan_entry *entry = &s->left.items[s->at];
    if (result->decision.outcome == BL_OUTCOME_INTERRUPTED) {
        s->outcome->interrupted = true;
        return;
    }
    bool ok = result->decision.outcome == BL_OUTCOME_OK;
    s->outcome->n_ran++;
    s->outcome->n_failed += !ok;
    s->first_block_ran += entry->block == 0;
    s->first_block_ok += entry->block == 0 && ok;
    bl_eta_add(&s->eta, entry->case_index, result->wall_s);
}

static bl_case_run case_run(sitting *s, const char *title)
{
    const bl_plan_entry *entry = &s->left.items[s->at];
    return (bl_case_run){
        .launcher = s->sweep->launcher,
        .spec = s->sweep->spec,
        .case_index = entry->case_index,
        .trial = (int64_t)(entry->block * s->plan.n_cases + entry->position) + 1,
        .title = title,
        .keep_logs = s->sweep->keep_logs,
        .keep_outdir = s->sweep->keep_outdir,
        .on_command = say_command,
        .on_progress = show_progress,
        .context = s,
        .losing = &s->losing,
        .telemetry = s->telemetry,
        .telemetry_hz = s->sweep->telemetry_hz,
    };
}

static int take_result(sitting *s, bl_trial_result *result, bool ran, int code, bl_error *err)
{
    bl_error later = {0};
    if (ran) {
        int stored = store_result(s, result, code == BL_OK ? err : &later);
        code = code == BL_OK ? stored : code;
        if (stored == BL_OK)
            count_outcome(s, result);
    }
    bl_trial_result_clear(result);
    return code;
}

static int run_trial(sitting *s, bl_error *err)
{
    bl_str title;
    bl_str_init(&title);
    name_case(s);
    name_trial(s, &title);
    const bl_case_run run = case_run(s, bl_str_text(&title));
    bl_trial_result result;
    bool ran;
    int code = bl_run_case(&run, &result, &ran, err);
    bl_live_erase(s->sweep->live);
    code = take_result(s, &result, ran, code, err);
    bl_str_clear(&title);
    return code;
}

/* ---- two in turn ---- */

typedef struct member {
    sitting *s;
    size_t at;
} member;

static void turn_to(sitting *s, size_t at)
{
    s->at = at;
    name_case(s);
}

static void show_member(void *context, const bl_trial_progress *progress)
{
    const member *m = context;
    turn_to(m->s, m->at);
    show_progress(m->s, progress);
}

static void say_member_command(void *context, const bl_strv *argv)
{
    say_command(((const member *)context)->s, argv);
}

/* Each two rounds have both orders, the first of them by lot: a change of the machine's within a turn or from turn to
 * turn falls on both alike. Bit 0 is 0: the plan's order says who starts. */
static uint64_t order_of_turns(const sitting *s, size_t block)
{
    bl_rng rng;
    bl_rng_init(&rng, (uint64_t)s->sweep->spec->seed, block);
    uint64_t order = 0;
    for (int round = 0; round < 64; round += 2)
        order |= (round > 0 && bl_rng_below(&rng, 2) > 0 ? 1ULL : 2ULL) << round;
    return order;
}

static int run_pair(sitting *s, bl_error *err)
{
    member members[2];
    bl_case_run runs[2];
    bl_str titles[2];
    bl_trial_result results[2];
    bool ran[2];
    size_t first = s->at;
    for (size_t i = 0; i < 2; i++) {
        bl_str_init(&titles[i]);
        turn_to(s, first + i);
        name_trial(s, &titles[i]);
        members[i] = (member){.s = s, .at = first + i};
        runs[i] = case_run(s, bl_str_text(&titles[i]));
        runs[i].on_progress = show_member;
        runs[i].on_command = say_member_command;
        runs[i].context = &members[i];
    }
    runs[1].launcher = &s->second;
    int code = bl_run_pair(runs, order_of_turns(s, s->left.items[first].block), results, ran, err);
    bl_live_erase(s->sweep->live);
    for (size_t i = 0; i < 2; i++) {
        turn_to(s, first + i);
        code = take_result(s, &results[i], ran[i], code, err);
        bl_str_clear(&titles[i]);
    }
    return code;
}

static bool is_pair(const sitting *s)
{
    return s->sweep->spec->driving.turn_steps > 0 && s->at + 1 < s->left.len &&
           s->left.items[s->at].block == s->left.items[s->at + 1].block;
}

static int run_next(sitting *s, bl_error *err)
{
    bl_gate_wait(&s->gate, s->sweep->live);
    if (bl_interrupt_count > 0) /* while it waited: the trial has not begun */
        return BL_OK;
    return is_pair(s) ? run_pair(s, err) : run_trial(s, err);
}

/* Where not one case of the first block worked, the other blocks would only repeat it. */
static bool hopeless(const sitting *s)
{
    return s->n_before == 0 && s->first_block_ran == s->plan.n_cases && s->first_block_ok == 0 &&
           s->at + 1 < s->left.len;
}

static bool out_of_time(sitting *s)
{
    s->outcome->out_of_time = s->sweep->deadline_ns > 0 && bl_clock_ns() >= s->sweep->deadline_ns;
    return s->outcome->out_of_time;
}

static int run_all(sitting *s, bl_error *err)
{
    int code = BL_OK;
    for (s->at = 0; code == BL_OK && s->at < s->left.len && bl_interrupt_count == 0 && !out_of_time(s); s->at++) {
        code = run_next(s, err);
        if (code == BL_OK && hopeless(s)) {
            code = BL_FAIL(err, BL_ERR_FAILED, "no trial of the first block succeeded, so the others were not run");
            bl_error_remedy(err, "batchlab show %lld tells why; --keep-logs DIR keeps the output",
                            (long long)s->sweep->id);
        }
    }
    s->outcome->interrupted = s->outcome->interrupted || bl_interrupt_count > 0;
    return code;
}

int bl_sweep_run(const bl_sweep *sweep, bl_sweep_outcome *outcome, bl_error *err)
{
    *outcome = (bl_sweep_outcome){0};
    sitting s = {.sweep = sweep, .outcome = outcome, .second = {.socket = -1}};
    bl_str_init(&s.label);
    int code = sweep->keep_logs ? bl_fs_mkdirs(sweep->keep_logs, err) : BL_OK;
    if (code == BL_OK)
        code = make_plan(&s, err);
    if (code == BL_OK && !sweep->set_up && s.left.len > 0)
        code = bl_hook_run_setup(sweep->launcher, sweep->spec, err);
    if (code == BL_OK && sweep->spec->driving.turn_steps > 0 && s.left.len > 0)
        code = bl_launcher_start_beside(sweep->launcher, &s.second, err);
    if (code == BL_OK && sweep->telemetry_hz > 0) {
        bl_telemetry_spec spec = bl_telemetry_setup(NULL, sweep->launcher->pid);
        code = bl_telemetry_new(&spec, &s.telemetry, err);
    }
    bl_gate_init(&s.gate, s.telemetry, sweep->max_temperature);
    if (code == BL_OK)
        code = run_all(&s, err);
    bl_telemetry_free(s.telemetry);
    bl_launcher_stop(&s.second);
    bool finished = code == BL_OK && !outcome->interrupted;
    bl_error ignored = {0}; /* the first failure is the one to tell */
    int ended = finished && sweep->goes_on ? BL_OK
                                           : bl_store_end(sweep->store, sweep->id,
                                                          finished ? BL_EXPERIMENT_FINISHED : BL_EXPERIMENT_INTERRUPTED,
                                                          code == BL_OK ? err : &ignored);
    bl_plan_clear(&s.plan);
    bl_plan_clear(&s.left);
    bl_eta_clear(&s.eta);
    bl_losing_clear(&s.losing);
    bl_str_clear(&s.label);
    return code == BL_OK ? ended : code;
}
