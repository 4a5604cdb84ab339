#include "report/noise_scales.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/format.h"

#define LEVEL 0.95
#define CELL  64

typedef struct measurement {
    size_t case_index;
    const bl_stored_noise *noise;
} measurement;

static int compare(const void *a, const void *b)
{
    const measurement *x = a, *y = b;
    if (x->case_index != y->case_index)
        return x->case_index < y->case_index ? -1 : 1;
    if (x->noise->after_steps != y->noise->after_steps)
        return x->noise->after_steps < y->noise->after_steps ? -1 : 1;
    return (int)x->noise->scaled - (int)y->noise->scaled;
}

static size_t gather(const bl_experiment *e, measurement *out)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        for (size_t k = 0; strcmp(t->outcome, "ok") == 0 && k < t->n_noise; k++) {
            if (out)
                out[n] = (measurement){t->case_index, &t->noise[k]};
            n++;
        }
    }
    return n;
}

int bl_case_noises(const bl_experiment *e, bl_case_noise **out, size_t *n, bl_error *err)
{
    size_t total = gather(e, NULL);
    *out = NULL;
    *n = 0;
    if (total == 0)
        return BL_OK;
    measurement *all = bl_calloc(total, sizeof *all);
    bl_gradient_norms *norms = bl_calloc(total, sizeof *norms);
    *out = bl_calloc(total, sizeof **out);
    int code = all && norms && *out ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu gradients' norms", total);
    if (code == BL_OK) {
        gather(e, all);
        qsort(all, total, sizeof *all, compare);
    }
    for (size_t i = 0, end; code == BL_OK && i < total; i = end) {
        const bl_stored_noise *first = all[i].noise;
        for (end = i; end < total && compare(&all[i], &all[end]) == 0; end++)
            norms[end - i] = all[end].noise->norms;
        bl_case_noise *noise = &(*out)[(*n)++];
        *noise = (bl_case_noise){.case_index = all[i].case_index,
                                 .after_steps = first->after_steps,
                                 .scaled = first->scaled,
                                 .small_n = first->norms.small_n,
                                 .big_n = first->norms.big_n};
        code = bl_noise_scale_of(norms, end - i, LEVEL, &noise->scale, err);
    }
    free(all);
    free(norms);
    if (code != BL_OK) {
        free(*out);
        *out = NULL;
        *n = 0;
    }
    return code;
}

/* Two digits: there are no more in it. */
static void append_scale(double value, bl_str *out)
{
    if (isnan(value))
        bl_str_append(out, "-");
    else if (isinf(value))
        bl_str_append(out, "no bound");
    else if (value >= 100)
        bl_str_printf(out, "%.0f", value);
    else
        bl_str_printf(out, "%.2g", value);
}

static void add_row(const bl_experiment *e, const bl_case_noise *noise, bl_grid *grid)
{
    char cell[CELL];
    bl_str text;
    bl_str_init(&text);
    for (size_t f = 0; f < e->n_factors; f++)
        bl_grid_add(grid, bl_experiment_value(e, noise->case_index, f));
    snprintf(cell, sizeof cell, "%lld", (long long)noise->after_steps);
    bl_grid_add(grid, cell);
    bl_grid_add(grid, noise->scaled ? "as the optimizer scales it" : "");
    append_scale(noise->scale.scale, &text);
    bl_grid_add(grid, bl_str_text(&text));
    bl_str_reset(&text);
    if (noise->scale.has_interval) {
        bl_str_append(&text, "[");
        append_scale(noise->scale.low, &text);
        bl_str_append(&text, ", ");
        append_scale(noise->scale.high, &text);
        bl_str_append(&text, "]");
    }
    bl_grid_add(grid, bl_str_text(&text));
    snprintf(cell, sizeof cell, "%zu of %.0f by %.0f", noise->scale.n, noise->big_n, noise->small_n);
    bl_grid_add(grid, cell);
    bl_str_clear(&text);
}

void bl_report_noise(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    static const char after_factors[] = "rlrll";
    const bl_experiment *e = a->experiment;
    bl_case_noise *noises;
    size_t n;
    char align[64];
    if (e->n_factors + sizeof after_factors > sizeof align || bl_case_noises(e, &noises, &n, NULL) != BL_OK || n == 0)
        return;
    memset(align, 'r', e->n_factors);
    memcpy(align + e->n_factors, after_factors, sizeof after_factors);
    bl_grid grid;
    bl_grid_init(&grid, e->n_factors + sizeof after_factors - 1, align);
    for (size_t f = 0; f < e->n_factors; f++)
        bl_grid_add(&grid, e->factors[f].name);
    static const char *const headings[] = {"after steps", "gradient", "noise scale", "95 % interval", "measured"};
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < n; i++)
        add_row(e, &noises[i], &grid);
    bl_str_append(out, "\nHow noisy the gradient is, in samples\n");
    bl_grid_print(&grid, style, 0, out);
    bl_format_paragraph(
        "An order of magnitude, no more, of the batch size from which on larger batches waste samples; and that "
        "only where the learning rate suited the batch size. \"No bound\": the gradient drowns in its noise, "
        "take more samples.",
        style, out);
    bl_grid_clear(&grid);
    free(noises);
}
