#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/compare.h"
#include "lab/compare_options.h"
#include "lab/compare_pairs.h"
#include "lab/confirm.h"
#include "lab/interrupt.h"
#include "lab/page_file.h"
#include "lab/show.h"

/* ---- the result ---- */

static bool asks_to_fail(const bl_verdict *v, unsigned fail_if)
{
    if (v->kind == BL_VERDICT_INCONCLUSIVE)
        return fail_if & BL_FAIL_IF_INCONCLUSIVE;
    if (v->kind != BL_VERDICT_DIFFERENT)
        return false;
    return fail_if & (v->contrast.log_ratio.estimate > 0 ? BL_FAIL_IF_SLOWER : BL_FAIL_IF_FASTER);
}

/* Prints the verdicts; *failed where one of them is among those that --fail-if names. */
static int print_analysis(const bl_compare_options *o, const bl_analysis *a, bool *failed, bl_error *err)
{
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_str text;
    bl_str_init(&text);
    int code = bl_show_print(a, o->sweep.json ? BL_SHOW_JSON : BL_SHOW_TEXT, &style, &text, err);
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    for (size_t p = 0; p < a->n_pairs; p++)
        *failed = *failed || asks_to_fail(&a->pairs[p].verdict, o->fail_if);
    return code;
}

/* Pairs anew where the user names them, else those of the experiment where it is a comparison. */
static int judge_anew(const bl_compare_options *o, bl_analysis *a, bl_arena *arena, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    bl_comparison comparison = e->comparison;
    int code = BL_OK;
    if (comparison.n_pairs == 0 || o->sweep.batches || o->baseline) {
        bl_batch_list only = {0};
        code = o->sweep.batches ? bl_batch_list_parse(o->sweep.batches, &only, err) : BL_OK;
        if (code == BL_OK)
            code = bl_compare_pairs(e, o->sweep.batches ? &only : NULL, o->baseline, arena, &comparison, err);
        bl_batch_list_clear(&only);
    }
    double margin = o->sweep.margin_text ? o->sweep.margin : e->margin;
    bool own = o->confidence_given || !(e->comparison.n_pairs > 0);
    return code == BL_OK ? bl_analysis_judge(a, comparison.pairs, comparison.n_pairs, margin,
                                             own ? o->confidence : comparison.confidence, arena, err)
                         : code;
}

static int print_stored(const bl_compare_options *o, bl_store *store, int64_t id, bool anew, bool *failed,
                        bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    bl_analysis analysis = {0};
    int code = bl_store_load(store, id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK && anew)
        code = judge_anew(o, &analysis, &arena, err);
    if (code == BL_OK)
        code = print_analysis(o, &analysis, failed, err);
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    return code;
}

/* ---- the run ---- */

static int make_comparison(const bl_compare_options *o, const bl_sweep_spec *spec, bl_arena *arena, bl_comparison *out,
                           bl_error *err)
{
    bl_experiment experiment;
    *out = (bl_comparison){.confidence = o->confidence, .budget_s = o->budget_s > 0 ? o->budget_s : NAN};
    int code = bl_sweep_spec_to_experiment(spec, arena, &experiment, err);
    return code == BL_OK ? bl_compare_pairs(&experiment, NULL, o->baseline, arena, out, err) : code;
}

/* The budget of a resumed comparison is the stored one unless another is given. */
static int find_budget(const bl_compare_options *o, bl_store *store, int64_t id, double *budget_s, bl_error *err)
{
    *budget_s = o->budget_s;
    if (!o->sweep.resume || o->budget_s > 0)
        return BL_OK;
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    int code = bl_store_load(store, id, false, &arena, &experiment, err);
    if (code == BL_OK && experiment.comparison.budget_s > 0)
        *budget_s = experiment.comparison.budget_s;
    bl_arena_clear(&arena);
    return code;
}

static void say_start(const bl_compare_options *o, const bl_sweep_spec *spec, size_t n_pairs, int64_t id, bl_live *live)
{
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "experiment %lld in %s%s: %s", (long long)id, o->sweep.db, o->sweep.resume ? ", resumed" : "",
                  spec->workload);
    bl_live_say(live, bl_str_text(&line));
    bl_str_reset(&line);
    bl_str_printf(&line, "%zu cases", bl_factors_n_cases(&spec->factors));
    if (n_pairs > 0)
        bl_str_printf(&line, ", %zu pair%s", n_pairs, n_pairs == 1 ? "" : "s");
    bl_str_printf(&line, "; at most %lld blocks, shuffled with seed %lld", (long long)spec->blocks,
                  (long long)spec->seed);
    bl_live_say(live, bl_str_text(&line));
    bl_str_reset(&line);
    if (spec->driving.turn_steps > 0) {
        bl_str_printf(&line, "both at once, in turn: %lld steps each, the other one stopped",
                      (long long)spec->driving.turn_steps);
        bl_live_say(live, bl_str_text(&line));
    }
    bl_str_clear(&line);
}

static void say_end(const bl_compare_options *o, int64_t id, const bl_sweep_outcome *outcome, bl_live *live)
{
    bool named = strcmp(o->sweep.db, BL_SWEEP_DB) != 0;
    char line[512];
    if (outcome->interrupted)
        snprintf(line, sizeof line,
                 "interrupted; all that was measured is kept. Go on with: batchlab compare --resume %lld%s%s",
                 (long long)id, named ? " --db " : "", named ? o->sweep.db : "");
    else if (outcome->out_of_time)
        snprintf(line, sizeof line,
                 "the budget is spent. More of it: batchlab compare --resume %lld --budget DURATION%s%s", (long long)id,
                 named ? " --db " : "", named ? o->sweep.db : "");
    else
        snprintf(line, sizeof line, "see it again: batchlab compare %lld%s%s", (long long)id, named ? " --db " : "",
                 named ? o->sweep.db : "");
    bl_live_say(live, line);
}

static int run(const bl_compare_options *o, const bl_lab *lab, bl_sweep_spec *spec, const bl_comparison *comparison,
               bl_store *store, bool *failed, bl_error *err)
{
    bl_live live;
    bl_live_init(&live, o->sweep.quiet);
    int64_t id = 0;
    double budget_s = -1;
    int code = bl_begin(&o->sweep, "compare", store, spec, comparison, &id, err);
    if (code == BL_OK)
        code = find_budget(o, store, id, &budget_s, err);
    if (code != BL_OK)
        return code;
    bl_interrupt_install();
    say_start(o, spec, o->sweep.resume ? 0 : comparison->n_pairs, id, &live);
    bl_sweep sweep = bl_begin_sweep(&o->sweep, spec, store, id, lab->launcher, &live);
    bl_sweep_outcome outcome;
    code = bl_compare_run(&sweep, budget_s, &outcome, err);
    bl_live_erase(&live);
    if (outcome.n_ran == 0 && !o->sweep.resume && code != BL_OK) {
        bl_store_delete(store, id, NULL); /* not one trial: it would only be in the way */
        return code;
    }
    if (code == BL_OK && o->sweep.live)
        code = bl_page_file_write(store, &id, 1, 0, NULL, o->sweep.live, err);
    bl_live_say(&live, "");
    bl_error report_error = {0};
    int printed = print_stored(o, store, id, false, failed, code == BL_OK ? err : &report_error);
    code = code == BL_OK ? printed : code;
    if (code == BL_OK && !o->sweep.json)
        say_end(o, id, &outcome, &live);
    return code == BL_OK && outcome.interrupted ? BL_ERR_INTERRUPTED : code;
}

/* Everything that can be wrong with the words is found before a database is made. */
static int run_fresh(const bl_compare_options *o, const bl_lab *lab, bl_sweep_spec *spec, bool *failed, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_comparison comparison;
    bl_store *store = NULL;
    int code = bl_compare_spec(o, lab->program, false, spec, err);
    if (code == BL_OK)
        code = make_comparison(o, spec, &arena, &comparison, err);
    if (code == BL_OK)
        code = bl_store_open(o->sweep.db, BL_STORE_CREATE, &store, err);
    if (code == BL_OK)
        code = run(o, lab, spec, &comparison, store, failed, err);
    bl_store_close(store);
    bl_arena_clear(&arena);
    return code;
}

static int run_confirm(const bl_compare_options *o, const bl_lab *lab, bool *failed, bl_error *err)
{
    bl_live live;
    bl_live_init(&live, o->sweep.quiet);
    bl_store *store = NULL;
    int64_t id = 0;
    bl_sweep_outcome outcome = {0};
    int code = bl_store_open(o->sweep.db, BL_STORE_WRITE, &store, err);
    if (code == BL_OK) {
        bl_interrupt_install();
        bl_confirm request = {.options = &o->sweep,
                              .store = store,
                              .launcher = lab->launcher,
                              .live = &live,
                              .sweep_id = o->confirm,
                              .confidence = o->confidence,
                              .budget_s = o->budget_s};
        code = bl_confirm_run(&request, &id, &outcome, err);
    }
    if (id > 0) {
        bl_live_say(&live, "");
        bl_error report_error = {0};
        int printed = print_stored(o, store, id, false, failed, code == BL_OK ? err : &report_error);
        code = code == BL_OK ? printed : code;
        if (code == BL_OK && !o->sweep.json)
            say_end(o, id, &outcome, &live);
    }
    bl_store_close(store);
    return code == BL_OK && outcome.interrupted ? BL_ERR_INTERRUPTED : code;
}

static int run_stored(const bl_compare_options *o, const bl_lab *lab, bl_sweep_spec *spec, bool *failed, bl_error *err)
{
    bl_store *store = NULL;
    int64_t id = 0;
    int code = bl_store_open(o->sweep.db, o->sweep.resume ? BL_STORE_WRITE : BL_STORE_READ, &store, err);
    if (code == BL_OK && o->sweep.resume)
        code = run(o, lab, spec, NULL, store, failed, err);
    else if (code == BL_OK && (code = bl_show_parse_id(store, o->stored, &id, err)) == BL_OK)
        code = print_stored(o, store, id, true, failed, err);
    bl_store_close(store);
    return code;
}

int bl_cmd_compare(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_compare_options o;
    bl_sweep_spec spec = {0};
    bool failed = false;
    int code = bl_compare_options_parse(argc, argv, &o, &err);
    if (code == BL_OK && o.help) {
        bl_compare_options_print_help(stdout);
    } else if (code == BL_OK) {
        bl_begin_log(&o.sweep);
        code = o.confirm > 0                ? run_confirm(&o, lab, &failed, &err)
               : o.sweep.resume || o.stored ? run_stored(&o, lab, &spec, &failed, &err)
                                            : run_fresh(&o, lab, &spec, &failed, &err);
    }
    bl_sweep_spec_clear(&spec);
    bl_compare_options_clear(&o);
    if (err.code != BL_OK)
        return bl_log_error(&err);
    return bl_error_exit_status(code == BL_OK && failed ? BL_ERR_FAILED : (bl_code)code);
}
