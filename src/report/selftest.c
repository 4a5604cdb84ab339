#include "report/selftest.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "report/format.h"

static bool excludes_zero(const bl_interval *i)
{
    return i->reaches_level && (i->low > 0 || i->high < 0);
}

/* Only stretches in which each block has both figures have the level that is spoken of. */
static int judge_stretches(const double *d, size_t n, bl_selftest *out, bl_error *err)
{
    int code = BL_OK;
    for (size_t from = 0; code == BL_OK && from + BL_SELFTEST_STRETCH <= n; from += BL_SELFTEST_STRETCH) {
        bl_contrast contrast;
        code = bl_contrast_from_logs(d + from, BL_SELFTEST_STRETCH, BL_REPORT_LEVEL, &contrast, err);
        if (code != BL_OK || contrast.n_missing > 0)
            continue;
        out->n_stretches++;
        out->n_stretch_alarms += excludes_zero(&contrast.log_ratio);
    }
    return code;
}

int bl_selftest_compute(const bl_analysis *a, bl_selftest *out, bl_error *err)
{
    *out = (bl_selftest){0};
    if (a->n_pairs != 1)
        return BL_FAIL(err, BL_ERR_USAGE, "a self-test has one pair of labels, not %zu", a->n_pairs);
    const bl_judged_pair *pair = &a->pairs[0];
    const double *first = a->seconds + pair->pair.a * a->n_blocks, *second = a->seconds + pair->pair.b * a->n_blocks;
    double *d = bl_calloc(a->n_blocks, sizeof *d);
    if (!d)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu blocks", a->n_blocks);
    for (size_t b = 0; b < a->n_blocks; b++)
        d[b] = log(second[b]) - log(first[b]);
    int code = bl_contrast_from_logs(d, a->n_blocks, BL_REPORT_LEVEL, &out->contrast, err);
    if (code == BL_OK)
        code = judge_stretches(d, a->n_blocks, out, err);
    if (code == BL_OK)
        code = bl_resolution_compute(d, a->n_blocks, &a->rule, BL_SELFTEST_POWER, 1, out->resolution, err);
    out->alarm = excludes_zero(&out->contrast.log_ratio) || pair->verdict.kind == BL_VERDICT_DIFFERENT;
    free(d);
    return code;
}

static void append_outcome(const bl_analysis *a, const bl_selftest *s, bl_str *text)
{
    const bl_interval *ratio = &s->contrast.ratio;
    char cell[32];
    if (!ratio->has_interval) {
        bl_str_append(text, "Too few blocks gave figures under both labels: nothing can be said.");
        return;
    }
    bl_format_percent(ratio->estimate, cell, sizeof cell);
    bl_str_printf(text, "B against A: %s time %s (", cell, a->per_run ? "a run" : "per sample");
    bl_format_percent(ratio->low, cell, sizeof cell);
    bl_str_printf(text, "interval %s to ", cell);
    bl_format_percent(ratio->high, cell, sizeof cell);
    bl_str_printf(text, "%s, level %.4g %%, %zu blocks). ", cell, 100 * ratio->level, ratio->n);
    if (!excludes_zero(&s->contrast.log_ratio)) {
        bl_str_append(text, "The interval holds 0, as it should.");
        return;
    }
    bl_str_append(text,
                  "FALSE ALARM: the interval excludes 0, though nothing differs. That befalls one self-test in twenty "
                  "by chance; if another run does the same, something else than chance is at work.");
}

static void append_counts(const bl_analysis *a, const bl_selftest *s, bl_str *text)
{
    const bl_verdict *v = &a->pairs[0].verdict;
    if (s->n_stretches > 0)
        bl_str_printf(text, "False alarms in stretches of %d blocks: %zu of %zu (one in twenty is to be expected). ",
                      BL_SELFTEST_STRETCH, s->n_stretch_alarms, s->n_stretches);
    if (v->kind == BL_VERDICT_INCONCLUSIVE)
        bl_str_printf(text, "batchlab compare would not have decided within %zu blocks.", v->blocks);
    else
        bl_str_printf(text, "batchlab compare would have said '%s' after %zu blocks.",
                      v->kind == BL_VERDICT_DIFFERENT ? "different" : "no practical difference", v->blocks);
}

static void print_resolution(const bl_analysis *a, const bl_selftest *s, const bl_report_style *style, bl_str *out)
{
    bl_grid grid;
    bl_grid_init(&grid, 3, "rrr");
    bl_grid_add(&grid, "blocks");
    bl_grid_add(&grid, "finds a difference of");
    bl_grid_add(&grid, "shows equality within");
    for (size_t k = 0; k < a->rule.n_looks; k++) {
        const bl_resolution *r = &s->resolution[k];
        char cell[64];
        if (isnan(r->difference))
            continue;
        snprintf(cell, sizeof cell, "%zu", r->blocks);
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%.2f %%", 100 * r->difference);
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%.2f %%", 100 * r->margin);
        bl_grid_add(&grid, cell);
    }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
}

void bl_selftest_text(const bl_analysis *a, const bl_selftest *s, const bl_report_style *style, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(out, "Self-test, experiment %lld: %s\n\n", (long long)a->experiment->id, a->experiment->workload);
    append_outcome(a, s, &text);
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_reset(&text);
    if (s->contrast.ratio.has_interval) {
        append_counts(a, s, &text);
        bl_format_paragraph(bl_str_text(&text), style, out);
        bl_str_append_c(out, '\n');
    }
    if (isfinite(s->resolution[a->rule.n_looks - 1].difference)) {
        print_resolution(a, s, style, out);
        bl_str_append_c(out, '\n');
        bl_str_reset(&text);
        bl_str_printf(
            &text,
            "What batchlab compare resolves with two cases and a chance of %g %%, if the blocks to come are like "
            "these.",
            100 * BL_SELFTEST_POWER);
        bl_format_paragraph(bl_str_text(&text), style, out);
    }
    bl_report_warnings(a, style, out);
    bl_str_clear(&text);
}

int bl_selftest_json(const bl_analysis *a, const bl_selftest *s, bl_str *out, bl_error *err)
{
    const bl_interval *ratio = &s->contrast.ratio;
    json_t *o = json_object(), *looks = json_array();
    json_object_set_new(o, "experiment", json_integer(a->experiment->id));
    json_object_set_new(o, "workload", json_string(a->experiment->workload) ?: json_null());
    json_object_set_new(o, "false_alarm", json_boolean(s->alarm));
    const struct {
        const char *name;
        double value;
    } values[] = {{"b_over_a", ratio->estimate},
                  {"low", ratio->has_interval ? ratio->low : NAN},
                  {"high", ratio->has_interval ? ratio->high : NAN},
                  {"level", ratio->has_interval ? ratio->level : NAN}};
    for (size_t i = 0; i < BL_ARRAY_LEN(values); i++)
        json_object_set_new(o, values[i].name, isfinite(values[i].value) ? json_real(values[i].value) : json_null());
    json_object_set_new(o, "blocks", json_integer((json_int_t)ratio->n));
    json_object_set_new(o, "stretches", json_integer((json_int_t)s->n_stretches));
    json_object_set_new(o, "stretch_alarms", json_integer((json_int_t)s->n_stretch_alarms));
    json_object_set_new(o, "verdict", json_string(bl_verdict_name(a->pairs[0].verdict.kind)));
    for (size_t k = 0; k < a->rule.n_looks; k++) {
        const bl_resolution *r = &s->resolution[k];
        json_t *look = json_object();
        json_object_set_new(look, "blocks", json_integer((json_int_t)r->blocks));
        json_object_set_new(look, "difference", isfinite(r->difference) ? json_real(r->difference) : json_null());
        json_object_set_new(look, "margin", isfinite(r->margin) ? json_real(r->margin) : json_null());
        json_array_append_new(looks, look);
    }
    json_object_set_new(o, "resolution", looks);
    char *dumped = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    if (!dumped)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON of a self-test");
    bl_str_append(out, dumped);
    bl_str_append_c(out, '\n');
    free(dumped);
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON") : BL_OK;
}
