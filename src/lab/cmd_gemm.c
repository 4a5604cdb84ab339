#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/gemm_options.h"
#include "lab/model_layers.h"
#include "lab/show.h"
#include "report/format.h"
#include "shapes/layer.h"

/* The best of a few products of 2048 x 2048 x 2048, in GFLOP/s; NaN where it cannot be had. */
static double measure_peak(const bl_gemm_options *o)
{
    char time[] = "time", size[] = "2048x2048x2048", steps_option[] = "--steps", steps[] = "10",
         threads_option[] = "--threads";
    char threads[32];
    bl_str out;
    bl_str_init(&out);
    snprintf(threads, sizeof threads, "%lld", (long long)o->threads);
    char *argv[] = {
        o->command.items[0], time, size, steps_option, steps, o->threads > 0 ? threads_option : NULL, threads, NULL};
    double gflops = NAN;
    bl_error err = {0};
    if (bl_trainer_ask(argv, &out, &err) == BL_OK) {
        static const char before[] = "best step ";
        char *at = out.len > 0 ? strstr(out.data, before) : NULL;
        if (at) {
            at += sizeof before - 1;
            at[strcspn(at, ";")] = '\0';
            if (bl_parse_f64(at, "peak", &gflops, NULL) != BL_OK)
                gflops = NAN;
        }
    }
    bl_str_clear(&out);
    return gflops;
}

/* ---- the result ---- */

/* A case's product, from the options and its batch size. */
static bl_product product_of(const bl_gemm_options *o, int64_t batch)
{
    double size[3];
    for (int i = 0; i < 3; i++) {
        int64_t value = batch;
        if (i != o->batch_at && bl_parse_i64(o->size[i], "size", 1, INT64_MAX, &value, NULL) != BL_OK)
            value = 0; /* was checked when the options were read */
        size[i] = (double)value;
    }
    return bl_product_make(size[0], size[1], size[2]);
}

/* From seconds a sample to GFLOP/s. */
static bl_interval gflops_of(const bl_gemm_options *o, const bl_case_figure *c)
{
    bl_product p = product_of(o, c->batch);
    bl_interval rate = bl_interval_reciprocal(&c->seconds);
    double factor = p.flop / (double)c->batch * 1e-9;
    rate.estimate *= factor;
    rate.low *= factor;
    rate.high *= factor;
    return rate;
}

static void print_table(const bl_gemm_options *o, const bl_analysis *a, double peak, const bl_report_style *style,
                        bl_str *out)
{
    static const char *const headings[] = {"case",        "GFLOP/s", "interval", "of peak",
                                           "flop a byte", "vs best", "interval", "outcome"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "lrlrrrll");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < a->n_cases; i++) {
        const bl_case_figure *c = &a->cases[i];
        bl_interval rate = gflops_of(o, c);
        bl_product p = product_of(o, c->batch);
        char cell[96], low[32], high[32];
        bl_grid_add(&grid, c->label);
        bl_format_number(rate.estimate, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_format_number(rate.low, low, sizeof low);
        bl_format_number(rate.high, high, sizeof high);
        snprintf(cell, sizeof cell, "[%s, %s]", low, high);
        bl_grid_add(&grid, rate.has_interval ? cell : "");
        snprintf(cell, sizeof cell, "%.0f %%", 100 * rate.estimate / peak);
        bl_grid_add(&grid, isnan(peak) || isnan(rate.estimate) ? "" : cell);
        bl_format_number(p.flop / (4 * p.elements), cell, sizeof cell);
        bl_grid_add(&grid, cell);
        /* Ratios of seconds; people read rates. */
        bl_interval against = bl_interval_reciprocal(&c->against_best.ratio);
        bl_format_percent(against.estimate, cell, sizeof cell);
        bl_grid_add(&grid, i == a->best ? "best" : isnan(against.estimate) ? "" : cell);
        bl_format_percent(against.low, low, sizeof low);
        bl_format_percent(against.high, high, sizeof high);
        snprintf(cell, sizeof cell, "[%s, %s]", low, high);
        bl_grid_add(&grid, i == a->best || !against.has_interval ? "" : cell);
        bl_grid_add(&grid, c->outcome);
    }
    bl_grid_print(&grid, style, a->best < a->n_cases ? a->best + 1 : 0, out);
    bl_grid_clear(&grid);
}

static int print_json(const bl_gemm_options *o, const bl_analysis *a, double peak, bl_str *out, bl_error *err)
{
    json_t *cases = json_array();
    for (size_t i = 0; i < a->n_cases; i++) {
        const bl_case_figure *c = &a->cases[i];
        bl_interval rate = gflops_of(o, c);
        bl_product p = product_of(o, c->batch);
        bool known = isfinite(rate.estimate), interval = known && rate.has_interval;
        json_array_append_new(cases, json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:s}", "label", c->label,
                                               "batch", (json_int_t)c->batch, "m", p.m, "n", p.n, "k", p.k,
                                               "flop_per_byte", p.flop / (4 * p.elements), "gflops",
                                               known ? json_real(rate.estimate) : json_null(), "gflops_low",
                                               interval ? json_real(rate.low) : json_null(), "gflops_high",
                                               interval ? json_real(rate.high) : json_null(), "outcome", c->outcome));
    }
    json_t *root = json_pack("{s:I, s:o, s:o}", "experiment", (json_int_t)a->experiment->id, "peak_gflops",
                             isfinite(peak) ? json_real(peak) : json_null(), "cases", cases);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for JSON");
    bl_str_append(out, text);
    bl_str_append(out, "\n");
    free(text);
    return BL_OK;
}

/* What the result is made from. */
typedef struct job {
    const bl_gemm_options *options;
    double peak; /* GFLOP/s before the trials, or as given; NaN */
} job;

static int print_result(void *context, const bl_sweep *sweep, const bl_sweep_outcome *outcome, bl_error *err)
{
    const job *j = context;
    const bl_gemm_options *o = j->options;
    double peak = j->peak;
    if (!(o->peak_gflops > 0) && !outcome->interrupted)
        peak = fmax(peak, measure_peak(o));
    bl_arena arena;
    bl_experiment experiment;
    bl_analysis analysis = {0};
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_str text;
    bl_arena_init(&arena);
    bl_str_init(&text);
    int code = bl_store_load(sweep->store, sweep->id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK && o->sweep.json) {
        code = print_json(o, &analysis, peak, &text, err);
    } else if (code == BL_OK) {
        print_table(o, &analysis, peak, &style, &text);
        if (!isnan(peak))
            bl_str_printf(&text, "\nShares are of %.1f GFLOP/s%s.\n", peak,
                          o->peak_gflops > 0 ? ", as given"
                                             : ": 2048 x 2048 x 2048 by oneDNN, the better step of before and after");
        bl_str_append(&text, "\n");
        bl_report_notes(&analysis, &style, &text);
        bl_report_warnings(&analysis, &style, &text);
    }
    if (code == BL_OK && text.failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the result");
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    return code;
}

/* ---- running ---- */

static int run(const bl_gemm_options *o, const bl_lab *lab, bl_sweep_spec *spec, bl_store *store, bl_error *err)
{
    bl_live live;
    int64_t id = 0;
    bl_live_init(&live, o->sweep.quiet);
    job j = {.options = o, .peak = o->peak_gflops > 0 ? o->peak_gflops : measure_peak(o)};
    int code = bl_begin(&o->sweep, "sweep", store, spec, NULL, &id, err);
    if (code != BL_OK)
        return code;
    const bl_sweep sweep = {.spec = spec, .store = store, .id = id, .launcher = lab->launcher, .live = &live};
    return bl_begin_run_and_print(&sweep, print_result, &j, err);
}

int bl_cmd_gemm(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_gemm_options o;
    bl_sweep_spec spec = {0};
    bl_store *store = NULL;
    int code = bl_gemm_options_parse(argc, argv, lab->program, &o, &err);
    if (code == BL_OK && o.help) {
        bl_gemm_options_print_help(stdout);
    } else if (code == BL_OK) {
        bl_begin_log(&o.sweep);
        code = bl_sweep_spec_from_options(&o.sweep, lab->program, &spec, &err);
        if (code == BL_OK)
            code = bl_store_open(o.sweep.db, BL_STORE_CREATE, &store, &err);
        if (code == BL_OK)
            code = run(&o, lab, &spec, store, &err);
    }
    bl_store_close(store);
    bl_sweep_spec_clear(&spec);
    bl_gemm_options_clear(&o);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
