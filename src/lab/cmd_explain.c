#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/commands.h"
#include "lab/explain.h"
#include "lab/show.h"
#include "report/analysis.h"
#include "store/store.h"

/* Seconds a step of the stored experiment, for each batch size; NaN where it has none, or has two cases of it. */
static int load_measured(const bl_explain *e, double **out, bl_error *err)
{
    bl_store *store = NULL;
    bl_arena arena;
    bl_experiment experiment;
    bl_analysis analysis = {0};
    bl_arena_init(&arena);
    *out = bl_calloc(e->batches.len, sizeof **out);
    int code = *out ? bl_store_open(e->db, BL_STORE_READ, &store, err)
                    : BL_FAIL(err, BL_ERR_NOMEM, "no memory for measurements");
    if (code == BL_OK)
        code = bl_store_load(store, e->measured, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&experiment, &arena, &analysis, err);
    if (code == BL_OK && analysis.per_run)
        code = BL_FAIL(err, BL_ERR_USAGE, "experiment %lld has no times a sample", (long long)e->measured);
    size_t found = 0;
    for (size_t i = 0; code == BL_OK && i < e->batches.len; i++) {
        size_t matches = 0;
        (*out)[i] = NAN;
        for (size_t c = 0; c < analysis.n_cases; c++)
            if (analysis.cases[c].batch == e->batches.items[i] && matches++ == 0)
                (*out)[i] = analysis.cases[c].seconds.estimate * (double)e->batches.items[i];
        if (matches != 1)
            (*out)[i] = NAN;
        found += !isnan((*out)[i]);
    }
    if (code == BL_OK && found == 0) {
        code = BL_FAIL(err, BL_ERR_USAGE, "experiment %lld measured none of these batch sizes", (long long)e->measured);
        bl_error_remedy(err, "-b with the sizes that batchlab show %lld lists", (long long)e->measured);
    }
    bl_analysis_clear(&analysis);
    bl_arena_clear(&arena);
    bl_store_close(store);
    return code;
}

static int print(const bl_explain *e, bl_str *out, bl_error *err)
{
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    double *measured = NULL, scale = NAN;
    bl_explain_row *rows = NULL;
    int code = BL_OK;
    if (e->measured > 0)
        code = load_measured(e, &measured, err);
    if (code == BL_OK && e->n_layers > 0)
        code = bl_explain_rows(e, measured, &rows, &scale, err);
    if (code == BL_OK && e->json)
        code = bl_explain_json(e, rows, scale, out, err);
    else if (code == BL_OK && rows)
        bl_explain_print_layers(e, rows, scale, &style, out);
    else if (code == BL_OK)
        bl_explain_print_products(e, out);
    free(measured);
    free(rows);
    return code;
}

int bl_cmd_explain(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_explain e;
    bl_str text;
    bl_str_init(&text);
    int code = bl_explain_parse(argc, argv, lab->program, &e, &err);
    if (code == BL_OK && e.help) {
        bl_explain_print_help(stdout);
    } else if (code == BL_OK && e.devices) {
        bl_report_style style = bl_show_style(STDOUT_FILENO);
        bl_explain_print_devices(&style, &text);
    } else if (code == BL_OK) {
        code = print(&e, &text, &err);
    }
    if (code == BL_OK && text.failed)
        code = BL_FAIL(&err, BL_ERR_NOMEM, "no memory for the text");
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_explain_clear(&e);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
