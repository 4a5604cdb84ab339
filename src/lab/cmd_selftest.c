#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/compare_options.h"
#include "lab/compare_pairs.h"
#include "lab/show.h"
#include "report/selftest.h"

/* What is asked for, and what is found. */
typedef struct job {
    const bl_compare_options *options;
    bool *alarm;
} job;

static int print_result(void *context, const bl_sweep *sweep, const bl_sweep_outcome *outcome, bl_error *err)
{
    (void)outcome;
    const job *j = context;
    const bl_compare_options *o = j->options;
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    bl_analysis analysis = {0};
    bl_selftest selftest;
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_str text;
    bl_str_init(&text);
    int code = bl_store_load(sweep->store, sweep->id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK)
        code = bl_selftest_compute(&analysis, &selftest, err);
    if (code == BL_OK) {
        *j->alarm = selftest.alarm;
        code = o->sweep.json ? bl_selftest_json(&analysis, &selftest, &text, err) : BL_OK;
        if (!o->sweep.json)
            bl_selftest_text(&analysis, &selftest, &style, &text);
    }
    bl_live_say(sweep->live, "");
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    return code;
}

static int run(const bl_compare_options *o, const bl_lab *lab, const bl_sweep_spec *spec,
               const bl_comparison *comparison, bl_store *store, bool *alarm, bl_error *err)
{
    bl_live live;
    bl_live_init(&live, o->sweep.quiet);
    int64_t id = 0;
    int code = bl_begin(&o->sweep, "compare", store, (bl_sweep_spec *)spec, comparison, &id, err);
    if (code != BL_OK)
        return code;
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "experiment %lld in %s: the same case as A and as B, %lld blocks: %s", (long long)id,
                  o->sweep.db, (long long)spec->blocks, spec->workload);
    bl_live_say(&live, bl_str_text(&line));
    bl_str_clear(&line);
    const bl_sweep sweep = bl_begin_sweep(&o->sweep, spec, store, id, lab->launcher, &live);
    job j = {.options = o, .alarm = alarm};
    return bl_begin_run_and_print(&sweep, print_result, &j, err);
}

static int prepare_and_run(const bl_compare_options *o, const bl_lab *lab, bl_sweep_spec *spec, bool *alarm,
                           bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    bl_comparison comparison = {.confidence = o->confidence, .budget_s = NAN};
    bl_store *store = NULL;
    int code = bl_compare_spec(o, lab->program, true, spec, err);
    if (code == BL_OK)
        code = bl_sweep_spec_to_experiment(spec, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_compare_pairs(&experiment, NULL, NULL, &arena, &comparison, err);
    if (code == BL_OK)
        code = bl_store_open(o->sweep.db, BL_STORE_CREATE, &store, err);
    if (code == BL_OK)
        code = run(o, lab, spec, &comparison, store, alarm, err);
    bl_store_close(store);
    bl_arena_clear(&arena);
    return code;
}

int bl_cmd_selftest(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_compare_options o;
    bl_sweep_spec spec = {0};
    bool alarm = false;
    int code = bl_selftest_options_parse(argc, argv, &o, &err);
    if (code == BL_OK && o.help) {
        bl_selftest_options_print_help(stdout);
    } else if (code == BL_OK) {
        bl_begin_log(&o.sweep);
        code = prepare_and_run(&o, lab, &spec, &alarm, &err);
    }
    bl_sweep_spec_clear(&spec);
    bl_compare_options_clear(&o);
    if (err.code != BL_OK)
        return bl_log_error(&err);
    return bl_error_exit_status(code == BL_OK && alarm ? BL_ERR_FAILED : (bl_code)code);
}
