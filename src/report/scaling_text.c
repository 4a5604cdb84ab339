/* The scaling's tables: for a terminal, which the page shows too, and for Markdown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/format.h"
#include "report/scaling.h"

#define CELL 96

static const char *const titles[] = {"Strong scaling: the same batch on more ranks",
                                     "Weak scaling: the same batch on each of more ranks"};

static void add_number(bl_grid *grid, double value)
{
    char cell[CELL];
    bl_format_number(value, cell, sizeof cell);
    bl_grid_add(grid, isnan(value) ? "" : cell);
}

/* A ratio with two digits behind the point, or a share in per cent. */
static void add_interval(bl_grid *grid, const bl_interval *shown, double factor, bool percent)
{
    char cell[CELL];
    double unit = percent ? 100 * factor : factor;
    snprintf(cell, sizeof cell, percent ? "%.1f %%" : "%.3f", unit * shown->estimate);
    bl_grid_add(grid, isnan(shown->estimate) ? "" : cell);
    snprintf(cell, sizeof cell, percent ? "[%.1f, %.1f]" : "[%.3f, %.3f]", unit * shown->low, unit * shown->high);
    bl_grid_add(grid, shown->has_interval ? cell : "");
}

static bool is_other(const bl_experiment *e, size_t f)
{
    return strcmp(e->factors[f].name, "ranks") != 0;
}

static void add_row(const bl_analysis *a, const bl_scaling_row *row, bl_grid *grid)
{
    const bl_experiment *e = a->experiment;
    char cell[CELL];
    double rate = 1 / a->cases[row->case_index].seconds.estimate;
    bl_interval one = {.estimate = isnan(rate) ? NAN : 1};
    const bl_interval *speed_up = row->first ? &one : &row->speed_up.ratio;
    for (size_t f = 1; f < e->n_factors; f++)
        if (is_other(e, f))
            bl_grid_add(grid, bl_experiment_value(e, row->case_index, f));
    snprintf(cell, sizeof cell, "%.0f", row->ranks);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, "%.6g", row->batch / row->ranks);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, "%.0f", row->batch);
    bl_grid_add(grid, cell);
    add_number(grid, rate);
    add_number(grid, rate / row->ranks);
    add_interval(grid, speed_up, 1, false);
    add_interval(grid, speed_up, row->share, true);
    snprintf(cell, sizeof cell, "%.1f %%", 100 * row->sums_share);
    bl_grid_add(grid, isnan(row->sums_share) ? "" : cell);
    snprintf(cell, sizeof cell, "%.3f", row->slowest_share);
    bl_grid_add(grid, isnan(row->slowest_share) ? "" : cell);
    bl_format_bytes(row->largest_rank_b, cell, sizeof cell);
    bl_grid_add(grid, isnan(row->largest_rank_b) ? "" : cell);
}

/* False where there is no row of this kind, or too many factors for a table. */
static bool fill_grid(const bl_analysis *a, const bl_scaling_row *rows, size_t n, bl_scaling_kind kind, char *align,
                      size_t size, bl_grid *grid)
{
    static const char after_factors[] = "rrrrrrlrlrrr";
    const char *const names[] = {"ranks",    "batch a rank", "batch",    "samples/s", "of a rank", "speed-up",
                                 "interval", "efficiency",   "interval", "sums",      "slowest",   "largest rank"};
    const bl_experiment *e = a->experiment;
    size_t n_others = 0;
    while (n > 0 && rows->kind != kind) {
        rows++;
        n--;
    }
    if (n == 0 || e->n_factors + sizeof after_factors > size)
        return false;
    for (size_t f = 1; f < e->n_factors; f++)
        n_others += is_other(e, f);
    memset(align, 'r', n_others);
    memcpy(align + n_others, after_factors, sizeof after_factors);
    bl_grid_init(grid, n_others + BL_ARRAY_LEN(names), align);
    for (size_t f = 1; f < e->n_factors; f++)
        if (is_other(e, f))
            bl_grid_add(grid, e->factors[f].name);
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        bl_grid_add(grid, names[i]);
    for (size_t i = 0; i < n && rows[i].kind == kind; i++)
        add_row(a, &rows[i], grid);
    return true;
}

/* What the columns are. */
static void explain(const bl_analysis *a, const bl_scaling_row *rows, size_t n, bl_str *out)
{
    double level = 0;
    size_t n_liars = bl_scaling_n_liars(a);
    bool sums = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].speed_up.ratio.has_interval && !rows[i].first && level <= 0)
            level = rows[i].speed_up.ratio.level;
        sums = sums || !isnan(rows[i].sums_share);
    }
    bl_str_append(out,
                  "Samples a second are of all ranks together. Speed-up is against the fewest ranks, block by block; "
                  "efficiency is that over how many times more ranks there are.");
    if (level > 0)
        bl_str_printf(out, " Each interval holds with %.1f %%, by itself.", 100 * level);
    if (sums)
        bl_str_append(out,
                      " Sums: the share of the time of batches that ranks wait for sums over all of them, or drive "
                      "these. Slowest: the longest computing time of a rank against the mean.");
    if (n_liars > 0)
        bl_str_printf(out,
                      " In %zu trial%s the program said another number of ranks than was asked for: do they reach it?",
                      n_liars, n_liars == 1 ? "" : "s");
}

static void print(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_scaling_row *rows;
    size_t n;
    char align[64];
    bl_str words;
    if (bl_scaling_rows(a, &rows, &n, NULL) != BL_OK || n == 0)
        return;
    for (int kind = 0; kind < BL_SCALING_KINDS; kind++) {
        bl_grid grid;
        if (!fill_grid(a, rows, n, (bl_scaling_kind)kind, align, sizeof align, &grid))
            continue;
        bl_str_printf(out, style ? "\n%s\n" : "\n%s\n\n", titles[kind]);
        if (style)
            bl_grid_print(&grid, style, 0, out);
        else
            bl_grid_print_markdown(&grid, out);
        bl_grid_clear(&grid);
    }
    bl_str_init(&words);
    explain(a, rows, n, &words);
    if (style)
        bl_format_paragraph(bl_str_text(&words), style, out);
    else
        bl_str_printf(out, "\n%s\n", bl_str_text(&words));
    bl_str_clear(&words);
    free(rows);
}

void bl_report_scaling(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    print(a, style, out);
}

void bl_report_markdown_scaling(const bl_analysis *a, bl_str *out)
{
    print(a, NULL, out);
}
