#include "lab/max.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "lab/hooks.h"
#include "lab/interrupt.h"
#include "lab/record.h"
#include "lab/run_case.h"
#include "report/format.h"
#include "trial/outcome.h"

/* ---- what is stored ---- */

static bl_size_verdict verdict_of(const char *outcome)
{
    static const struct {
        bl_outcome outcome;
        bl_size_verdict verdict;
    } table[] = {{BL_OUTCOME_OK, BL_SIZE_FITS},
                 {BL_OUTCOME_OUT_OF_MEMORY, BL_SIZE_MEMORY},
                 {BL_OUTCOME_LIMIT, BL_SIZE_LIMIT},
                 {BL_OUTCOME_INVALID, BL_SIZE_LIMIT}}; /* no full batch in its data, or another size than asked for */
    for (size_t i = 0; i < BL_ARRAY_LEN(table); i++)
        if (strcmp(outcome, bl_outcome_name(table[i].outcome)) == 0)
            return table[i].verdict;
    return BL_SIZE_FAILED;
}

/* The least over its steps: what holds one up now and then is not what is looked for, which slows all of them. */
static double least_sample_s(const bl_trial_record *t)
{
    double least = NAN;
    for (size_t i = 0; i < t->n_steps; i++) {
        double s = (double)t->steps[i].time_ns / 1e9 / (double)t->steps[i].samples;
        if (t->steps[i].time_ns > 0 && !(s >= least))
            least = s;
    }
    return least;
}

int bl_max_probes(const bl_experiment *e, bl_arena *arena, bl_largest_limits *limits, bl_probe **out, size_t *n,
                  bl_error *err)
{
    bl_driving driving;
    int code = bl_driving_from_json(e->driving, &driving, err);
    *limits = driving.search;
    bl_driving_clear(&driving);
    if (code != BL_OK)
        return code;
    *n = 0;
    *out = bl_arena_alloc(arena, e->n_trials, sizeof **out);
    bool *silent = bl_arena_alloc(arena, e->n_trials, sizeof *silent), stepped = false;
    if (!*out || !silent)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the probes");
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (strcmp(t->outcome, bl_outcome_name(BL_OUTCOME_INTERRUPTED)) == 0)
            continue;
        bl_probe *p = &(*out)[(*n)++];
        *p = (bl_probe){.batch = strtoll(bl_experiment_value(e, t->case_index, 0), NULL, 10),
                        .verdict = verdict_of(t->outcome),
                        .memory_b = t->peak_memory_b,
                        .sample_s = NAN,
                        .longer = t->position > 0};
        if (t->memory_kind && strcmp(t->memory_kind, "device") == 0)
            limits->budget_b = NAN;
        p->sample_s = least_sample_s(t);
        stepped = stepped || t->n_steps > 0;
        silent[*n - 1] = t->n_steps == 0;
    }
    /* Ended well, and trained nothing: its data do not fill one batch. */
    for (size_t i = 0; i < *n && stepped; i++)
        if ((*out)[i].verdict == BL_SIZE_FITS && silent[i])
            (*out)[i].verdict = BL_SIZE_LIMIT;
    if (isnan(limits->budget_b))
        limits->headroom = 0;
    return BL_OK;
}

/* ---- one probe ---- */

typedef struct probe_run {
    const bl_max *max;
    size_t number; /* from 1 */
    char label[64];
    int64_t steps;
} probe_run;

static void show_progress(void *context, const bl_trial_progress *progress)
{
    const probe_run *p = context;
    char heading[96];
    snprintf(heading, sizeof heading, "probe %zu", p->number);
    bl_live_state state = {.heading = heading,
                           .label = p->label,
                           .phase = progress->phase,
                           .step = progress->n_steps,
                           .max_steps = p->steps,
                           .samples_per_s = progress->samples_per_s,
                           .elapsed_s = progress->elapsed_s,
                           .eta_s = NAN};
    bl_live_draw(p->max->live, &state);
}

static void say_command(void *context, const bl_strv *argv)
{
    const probe_run *p = context;
    bl_str line;
    bl_str_init(&line);
    for (size_t i = 0; i < argv->len; i++)
        bl_str_printf(&line, "%s%s", i ? " " : "  ", argv->items[i]);
    if (p->max->verbose)
        bl_live_say(p->max->live, bl_str_text(&line));
    bl_str_clear(&line);
}

static void say_result(const probe_run *p, const bl_trial_record *t, double predicted_b)
{
    char memory[32], predicted[32];
    bl_str line;
    bl_str_init(&line);
    bl_format_bytes(t->peak_memory_b, memory, sizeof memory);
    bl_format_bytes(predicted_b, predicted, sizeof predicted);
    bl_str_printf(&line, "[%zu] %s  ", p->number, p->label);
    if (strcmp(t->outcome, "ok") != 0)
        bl_str_printf(&line, "%s: %s", t->outcome, t->reason ? t->reason : "");
    else
        bl_str_printf(&line, "runs, %s%s%s, %.1f s", memory, isfinite(predicted_b) ? ", predicted " : "",
                      isfinite(predicted_b) ? predicted : "", t->wall_s);
    bl_live_say(p->max->live, bl_str_text(&line));
    bl_str_clear(&line);
}

/* The case of this size, made where it is not there yet. */
static int find_case(const bl_max *max, int64_t batch, size_t *c, bl_error *err)
{
    bl_strv *values = &max->spec->factors.items[0].values;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)batch);
    for (*c = 0; *c < values->len; ++*c)
        if (strcmp(values->items[*c], text) == 0)
            return BL_OK;
    if (bl_strv_push(values, text) != BL_OK)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a case");
    return bl_store_add_case(max->store, max->id, text, err);
}

static int run_probe(const bl_max *max, const bl_largest_step *step, const bl_probe *before, size_t n,
                     bool *interrupted, size_t *n_ran, bl_error *err)
{
    size_t c = 0, block = 0;
    int code = find_case(max, step->batch, &c, err);
    if (code != BL_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        block += before[i].batch == step->batch;
    int64_t steps = max->spec->steps;
    probe_run p = {.max = max, .number = n + 1, .steps = step->longer ? 2 * steps : steps};
    snprintf(p.label, sizeof p.label, "batch=%lld%s", (long long)step->batch,
             step->kind == BL_LARGEST_CONFIRM ? " again" : "");
    char title[96];
    snprintf(title, sizeof title, "%lld-probe%zu-batch=%lld", (long long)max->id, n + 1, (long long)step->batch);
    bl_sweep_spec spec = *max->spec; /* borrowed */
    spec.steps = p.steps;
    const bl_case_run run = {.launcher = max->launcher,
                             .spec = &spec,
                             .case_index = c,
                             .trial = (int64_t)n + 1,
                             .title = title,
                             .keep_logs = max->keep_logs,
                             .keep_outdir = max->keep_outdir,
                             .on_command = say_command,
                             .on_progress = show_progress,
                             .context = &p};
    bl_trial_result result;
    bool ran;
    code = bl_run_case(&run, &result, &ran, err);
    bl_live_erase(max->live);
    if (ran) {
        bl_arena arena;
        bl_arena_init(&arena);
        bl_trial_record record;
        bl_error later = {0};
        /* The position in the block says whether it ran longer. */
        const bl_plan_entry entry = {
            .block = block, .position = step->longer, .case_index = c, .predecessor = BL_PLAN_NO_CASE};
        bl_error *e = code == BL_OK ? err : &later;
        int stored = bl_record_make(&result, &entry, NAN, &arena, &record, e);
        if (stored == BL_OK)
            stored = bl_store_add_trial(max->store, max->id, &record, NULL, e);
        if (stored == BL_OK)
            say_result(&p, &record, step->predicted_b);
        code = code == BL_OK ? stored : code;
        *interrupted = *interrupted || result.decision.outcome == BL_OUTCOME_INTERRUPTED;
        ++*n_ran;
        bl_arena_clear(&arena);
    }
    bl_trial_result_clear(&result);
    return code;
}

/* ---- all of them ---- */

static int run_next(const bl_max *max, bool *interrupted, bool *answered, size_t *n_ran, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    bl_largest_limits limits;
    bl_largest_step step;
    bl_probe *probes = NULL;
    size_t n = 0;
    int code = bl_store_load(max->store, max->id, true, &arena, &e, err);
    if (code == BL_OK)
        code = bl_max_probes(&e, &arena, &limits, &probes, &n, err);
    if (code == BL_OK)
        code = bl_largest_next(&limits, probes, n, &step, err);
    if (code == BL_OK) {
        *answered = step.kind != BL_LARGEST_PROBE && step.kind != BL_LARGEST_CONFIRM;
        if (!*answered)
            code = run_probe(max, &step, probes, n, interrupted, n_ran, err);
    }
    bl_arena_clear(&arena);
    return code;
}

int bl_max_run(const bl_max *max, bool *interrupted, size_t *n_ran, bl_error *err)
{
    bool answered = false;
    *interrupted = false;
    *n_ran = 0;
    int code = max->keep_logs ? bl_fs_mkdirs(max->keep_logs, err) : BL_OK;
    if (code == BL_OK)
        code = bl_hook_run_setup(max->launcher, max->spec, err);
    while (code == BL_OK && !answered && !*interrupted) {
        *interrupted = bl_interrupt_count > 0;
        if (!*interrupted)
            code = run_next(max, interrupted, &answered, n_ran, err);
    }
    bl_error ignored = {0};
    int ended = bl_store_end(max->store, max->id,
                             code == BL_OK && answered ? BL_EXPERIMENT_FINISHED : BL_EXPERIMENT_INTERRUPTED,
                             code == BL_OK ? err : &ignored);
    return code == BL_OK ? ended : code;
}
