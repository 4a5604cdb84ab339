#include <math.h>
#include <stdio.h>

#include "lab/gemm.h"
#include "report/format.h"

static void add_number(bl_grid *grid, double value)
{
    char cell[32];
    bl_format_number(value, cell, sizeof cell);
    bl_grid_add(grid, isnan(value) ? "" : cell);
}

static void add_interval(bl_grid *grid, const bl_interval *i, double factor)
{
    char low[32], high[32], cell[96];
    bl_format_number(i->low * factor, low, sizeof low);
    bl_format_number(i->high * factor, high, sizeof high);
    snprintf(cell, sizeof cell, "[%s, %s]", low, high);
    bl_grid_add(grid, i->has_interval ? cell : "");
}

static void add_share(bl_grid *grid, double share)
{
    char cell[32];
    snprintf(cell, sizeof cell, "%.0f %%", 100 * share);
    bl_grid_add(grid, isnan(share) ? "" : cell);
}

/* Ratios of seconds; people read rates. */
static void add_against(bl_grid *grid, const bl_contrast *contrast, bool is_best)
{
    bl_interval against = bl_interval_reciprocal(&contrast->ratio);
    char low[32], high[32], cell[96];
    bl_format_percent(against.estimate, cell, sizeof cell);
    bl_grid_add(grid, is_best ? "best" : isnan(against.estimate) || contrast->n_pairs == 0 ? "" : cell);
    bl_format_percent(against.low, low, sizeof low);
    bl_format_percent(against.high, high, sizeof high);
    snprintf(cell, sizeof cell, "[%s, %s]", low, high);
    bl_grid_add(grid, is_best || !against.has_interval ? "" : cell);
}

static void add_all(bl_grid *grid, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bl_grid_add(grid, texts[i]);
}

static void print_products(const bl_analysis *a, const bl_gemm_figures *f, double peak, const bl_report_style *style,
                           bl_str *out)
{
    static const char *const headings[] = {"case",        "GFLOP/s", "interval", "of peak",
                                           "flop a byte", "vs best", "interval", "outcome"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "lrlrrrll");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (size_t i = 0; i < a->n_cases; i++) {
        const bl_gemm_row *r = &f->rows[i];
        bl_grid_add(&grid, r->name);
        add_number(&grid, r->gflops.estimate);
        add_interval(&grid, &r->gflops, 1);
        add_share(&grid, r->gflops.estimate / peak);
        add_number(&grid, r->intensity);
        add_against(&grid, &a->cases[i].against_best, i == a->best);
        bl_grid_add(&grid, a->cases[i].outcome);
    }
    bl_grid_print(&grid, style, a->best < a->n_cases ? a->best + 1 : 0, out);
    bl_grid_clear(&grid);
}

/* Layer by layer, each at all its batch sizes. */
static void print_layers(const bl_gemm_options *o, const bl_analysis *a, const bl_gemm_figures *f, double peak,
                         const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"layer",    "times",   "batch",       "ms",     "GFLOP/s",
                                           "interval", "of peak", "flop a byte", "outcome"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "lrrrrlrrl");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (size_t layer = 0; layer < o->layers.len; layer++)
        for (size_t c = layer; c < a->n_cases; c += o->layers.len) {
            const bl_gemm_row *r = &f->rows[c];
            char count[32], batch[32];
            snprintf(count, sizeof count, "%d", r->layer->count);
            snprintf(batch, sizeof batch, "%lld", (long long)r->batch);
            bl_grid_add(&grid, c == layer ? r->name : "");
            bl_grid_add(&grid, c == layer ? count : "");
            bl_grid_add(&grid, batch);
            add_number(&grid, 1e3 * r->seconds.estimate);
            add_number(&grid, r->gflops.estimate);
            add_interval(&grid, &r->gflops, 1);
            add_share(&grid, r->gflops.estimate / peak);
            add_number(&grid, r->intensity);
            bl_grid_add(&grid, a->cases[c].outcome);
        }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
}

static void print_sums(const bl_gemm_options *o, const bl_gemm_figures *f, double peak, const bl_report_style *style,
                       bl_str *out)
{
    static const char *const headings[] = {"batch",   "ms a step", "interval", "forward", "input",   "weights",
                                           "GFLOP/s", "of peak",   "ms/batch", "vs best", "interval"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "rrlrrrrrrrl");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (size_t i = 0; i < f->n_sums; i++) {
        const bl_gemm_sum *s = &f->sums[i];
        char batch[32];
        snprintf(batch, sizeof batch, "%lld", (long long)s->batch);
        bl_grid_add(&grid, batch);
        add_number(&grid, 1e3 * s->seconds.estimate);
        add_interval(&grid, &s->seconds, 1e3);
        for (int role = 0; role < BL_N_ROLES; role++)
            add_number(&grid, 1e3 * s->by_role_s[role]);
        double gflops = s->flop / s->seconds.estimate * 1e-9;
        add_number(&grid, gflops);
        add_share(&grid, gflops / peak);
        add_number(&grid, 1e3 * s->seconds.estimate / (double)s->batch);
        add_against(&grid, &s->against_best, i == f->best);
    }
    bl_str_printf(out, "\nAll of %s, each as often as it occurs:\n", o->model ? o->model : "these layers");
    bl_grid_print(&grid, style, f->best < f->n_sums ? f->best + 1 : 0, out);
    bl_grid_clear(&grid);
    if (f->n_filled > 0)
        bl_str_printf(out, "%zu trial%s gave no figure; in the sums the layer's estimate stands in for %s.\n",
                      f->n_filled, f->n_filled > 1 ? "s" : "", f->n_filled > 1 ? "them" : "it");
    if (f->neighbours.claim != BL_CLAIM_NONE) {
        bl_str_append(out, "\n");
        bl_format_paragraph(f->neighbours.sentence, style, out);
    }
}

void bl_gemm_print(const bl_gemm_options *o, const bl_analysis *a, const bl_gemm_figures *f, const bl_gemm_roofs *roofs,
                   const bl_report_style *style, bl_str *out)
{
    double peak = roofs->peak_gflops;
    if (o->layers.len > 0) {
        print_layers(o, a, f, peak, style, out);
        print_sums(o, f, peak, style, out);
    } else {
        print_products(a, f, peak, style, out);
    }
    if (!isnan(peak))
        bl_str_printf(out, "\nShares are of %.1f GFLOP/s%s.\n", peak,
                      o->peak_gflops > 0 ? ", as given"
                                         : ": 2048 x 2048 x 2048 by oneDNN, the better step of before and after");
    if (o->layers.len > 0)
        bl_format_paragraph("Operations are those of the definition: kernels that do with fewer (Winograd) may exceed "
                            "the peak.",
                            style, out);
    bl_str_append(out, "\n");
    if (o->layers.len == 0)
        bl_report_notes(a, style, out);
    bl_report_warnings(a, style, out);
}

void bl_gemm_print_plan(const bl_gemm_options *o, const bl_sweep_spec *spec, bl_str *out)
{
    size_t n_cases = bl_factors_n_cases(&spec->factors);
    for (size_t i = 0; i < spec->command.len; i++)
        bl_str_printf(out, "%s%s", i > 0 ? " " : "", spec->command.items[i]);
    bl_str_append(out, "\n");
    for (size_t i = 0; i < o->layers.len; i++)
        bl_str_printf(out, "  %s, %d time%s\n", o->layers.items[i].text, o->layers.items[i].count,
                      o->layers.items[i].count > 1 ? "s" : "");
    bl_str_printf(out, "%zu case%s in %lld block%s: %zu trials of %lld steps, each 20 ms or one run at least\n",
                  n_cases, n_cases > 1 ? "s" : "", (long long)spec->blocks, spec->blocks > 1 ? "s" : "",
                  n_cases * (size_t)spec->blocks, (long long)spec->steps);
}
