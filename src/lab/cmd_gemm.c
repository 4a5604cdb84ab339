#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/gemm.h"
#include "lab/show.h"

/* What the result is made from. */
typedef struct job {
    const bl_gemm_options *options;
    bl_gemm_roofs roofs; /* before the trials, or as given */
} job;

static int print_figures(const job *j, const bl_analysis *analysis, const bl_gemm_roofs *roofs, bl_arena *arena,
                         bl_str *text, bl_error *err)
{
    const bl_gemm_options *o = j->options;
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_gemm_figures figures;
    int code = bl_gemm_figures_make(o, analysis, arena, &figures, err);
    if (code == BL_OK && o->sweep.json)
        code = bl_gemm_json(analysis, &figures, roofs, text, err);
    else if (code == BL_OK)
        bl_gemm_print(o, analysis, &figures, roofs, &style, text);
    if (code == BL_OK && (o->plot || o->picture))
        code = bl_gemm_draw(o, analysis, &figures, roofs, &style, arena, text, err);
    bl_gemm_figures_clear(&figures);
    return code == BL_OK && text->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the result") : code;
}

static int print_result(void *context, const bl_sweep *sweep, const bl_sweep_outcome *outcome, bl_error *err)
{
    const job *j = context;
    bl_gemm_roofs roofs = j->roofs;
    if (!outcome->interrupted)
        bl_gemm_measure_roofs(j->options, &roofs);
    bl_arena arena;
    bl_experiment experiment;
    bl_analysis analysis = {0};
    bl_str text;
    bl_arena_init(&arena);
    bl_str_init(&text);
    int code = bl_store_load(sweep->store, sweep->id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK)
        code = print_figures(j, &analysis, &roofs, &arena, &text, err);
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    return code;
}

static int run(const bl_gemm_options *o, const bl_lab *lab, bl_sweep_spec *spec, bl_store *store, bl_error *err)
{
    bl_live live;
    int64_t id = 0;
    bl_live_init(&live, o->sweep.quiet);
    job j = {.options = o, .roofs = {.peak_gflops = NAN, .bandwidth_gb_s = NAN}};
    bl_gemm_measure_roofs(o, &j.roofs);
    int code = bl_begin(&o->sweep, "sweep", store, spec, NULL, &id, err);
    if (code != BL_OK)
        return code;
    const bl_sweep sweep = {.spec = spec, .store = store, .id = id, .launcher = lab->launcher, .live = &live};
    return bl_begin_run_and_print(&sweep, print_result, &j, err);
}

static int print_plan(const bl_gemm_options *o, const bl_sweep_spec *spec, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    bl_gemm_print_plan(o, spec, &text);
    int code = text.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the plan") : BL_OK;
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    return code;
}

static int plan_and_run(const bl_gemm_options *o, const bl_lab *lab, bl_sweep_spec *spec, bl_error *err)
{
    bl_store *store = NULL;
    bl_begin_log(&o->sweep);
    int code = bl_sweep_spec_from_options(&o->sweep, lab->program, spec, err);
    if (code == BL_OK && o->dry_run)
        return print_plan(o, spec, err);
    if (code == BL_OK && o->picture)
        code = bl_fs_check_replace(o->picture, err); /* before the work, not after it */
    if (code == BL_OK)
        code = bl_store_open(o->sweep.db, BL_STORE_CREATE, &store, err);
    if (code == BL_OK)
        code = run(o, lab, spec, store, err);
    bl_store_close(store);
    return code;
}

int bl_cmd_gemm(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_gemm_options o;
    bl_sweep_spec spec = {0};
    int code = bl_gemm_options_parse(argc, argv, lab->program, &o, &err);
    if (code == BL_OK && o.help)
        bl_gemm_options_print_help(stdout);
    else if (code == BL_OK)
        code = plan_and_run(&o, lab, &spec, &err);
    bl_sweep_spec_clear(&spec);
    bl_gemm_options_clear(&o);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
