#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/compare_options.h"
#include "lab/compare_pairs.h"
#include "lab/interrupt.h"
#include "lab/show.h"
#include "lab/sweep.h"
#include "report/selftest.h"

static int print_result(const bl_compare_options *o, bl_store *store, int64_t id, bool *alarm, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    bl_analysis analysis = {0};
    bl_selftest selftest;
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_str text;
    bl_str_init(&text);
    int code = bl_store_load(store, id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK)
        code = bl_selftest_compute(&analysis, &selftest, err);
    if (code == BL_OK) {
        *alarm = selftest.alarm;
        code = o->sweep.json ? bl_selftest_json(&analysis, &selftest, &text, err) : BL_OK;
        if (!o->sweep.json)
            bl_selftest_text(&analysis, &selftest, &style, &text);
    }
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
    bl_interrupt_install();
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "experiment %lld in %s: the same case as A and as B, %lld blocks: %s", (long long)id,
                  o->sweep.db, (long long)spec->blocks, spec->workload);
    bl_live_say(&live, bl_str_text(&line));
    bl_str_clear(&line);
    bl_sweep sweep = {.spec = spec,
                      .store = store,
                      .id = id,
                      .launcher = lab->launcher,
                      .live = &live,
                      .keep_logs = o->sweep.keep_logs,
                      .keep_outdir = o->sweep.keep_outdir,
                      .verbose = o->sweep.verbose,
                      .telemetry_hz = o->sweep.telemetry_hz,
                      .max_temperature = o->sweep.max_temperature};
    bl_sweep_outcome outcome;
    code = bl_sweep_run(&sweep, &outcome, err);
    bl_live_erase(&live);
    if (outcome.n_ran == 0 && code != BL_OK) {
        bl_store_delete(store, id, NULL); /* not one trial: it would only be in the way */
        return code;
    }
    bl_live_say(&live, "");
    bl_error report_error = {0};
    int printed = print_result(o, store, id, alarm, code == BL_OK ? err : &report_error);
    code = code == BL_OK ? printed : code;
    if (code == BL_OK && outcome.interrupted)
        return BL_ERR_INTERRUPTED;
    return code == BL_OK && outcome.n_failed > 0 ? BL_ERR_FAILED : code;
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
        bl_log_init("batchlab", o.sweep.debug     ? BL_LOG_DEBUG
                                : o.sweep.verbose ? BL_LOG_VERBOSE
                                : o.sweep.quiet   ? BL_LOG_QUIET
                                                  : BL_LOG_NORMAL);
        code = prepare_and_run(&o, lab, &spec, &alarm, &err);
    }
    bl_sweep_spec_clear(&spec);
    bl_compare_options_clear(&o);
    if (err.code != BL_OK)
        return bl_log_error(&err);
    return bl_error_exit_status(code == BL_OK && alarm ? BL_ERR_FAILED : (bl_code)code);
}
