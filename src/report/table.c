#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/format.h"

#define CELL 96

/* Where nobody said how many samples a run trains, only the time of a run is known. */
static const char *rate_heading(const bl_analysis *a)
{
    return a->per_run ? "s a run" : "samples/s";
}

static void rate_cells(const bl_analysis *a, const bl_case_figure *c, char *rate, char *interval)
{
    bl_interval shown = a->per_run ? c->seconds : bl_interval_reciprocal(&c->seconds);
    bl_format_number(shown.estimate, rate, CELL);
    interval[0] = '\0';
    if (!shown.has_interval)
        return;
    char low[32], high[32];
    bl_format_number(shown.low, low, sizeof low);
    bl_format_number(shown.high, high, sizeof high);
    snprintf(interval, CELL, "[%s, %s]", low, high);
}

/* The difference in throughput, inside blocks: -3 % = 3 % fewer samples a second than the best. */
static void best_cells(const bl_analysis *a, size_t c, char *difference, char *interval)
{
    const bl_interval *ratio = &a->cases[c].against_best.ratio;
    difference[0] = interval[0] = '\0';
    if (a->best == a->n_cases || ratio->n == 0)
        return;
    if (c == a->best) {
        snprintf(difference, CELL, "best");
        return;
    }
    bl_interval shown = a->per_run ? *ratio : bl_interval_reciprocal(ratio);
    bl_format_percent(shown.estimate, difference, CELL);
    if (!shown.has_interval)
        return;
    char low[32], high[32];
    bl_format_percent(shown.low, low, sizeof low);
    bl_format_percent(shown.high, high, sizeof high);
    low[strlen(low) - 2] = '\0'; /* one percent sign is enough */
    snprintf(interval, CELL, "[%s, %s]", low, high);
}

static void outcome_cell(const bl_case_figure *c, char *out)
{
    if (c->n_trials > 0 && c->n_ok < c->n_trials)
        snprintf(out, CELL, "%s (%zu)", c->outcome, c->n_outcome);
    else if (c->n_unsteady > 0)
        snprintf(out, CELL, "ok, %zu unsteady", c->n_unsteady);
    else
        snprintf(out, CELL, "%s", c->outcome);
}

static void add_row(const bl_analysis *a, size_t c, bl_grid *grid)
{
    const bl_experiment *e = a->experiment;
    const bl_case_figure *figure = &a->cases[c];
    char cell[CELL], second[CELL];
    for (size_t f = 0; f < e->n_factors; f++)
        bl_grid_add(grid, bl_experiment_value(e, c, f));
    rate_cells(a, figure, cell, second);
    bl_grid_add(grid, cell);
    bl_grid_add(grid, second);
    bl_format_number(1000 * figure->step_seconds, cell, sizeof cell);
    bl_grid_add(grid, isnan(figure->step_seconds) ? "" : cell);
    best_cells(a, c, cell, second);
    bl_grid_add(grid, cell);
    bl_grid_add(grid, second);
    snprintf(cell, sizeof cell, "%.0f %%", 100 * figure->wait_share);
    bl_grid_add(grid, figure->wait_share >= 0.005 ? cell : "");
    snprintf(cell, sizeof cell, "%.1f s", figure->load_seconds);
    bl_grid_add(grid, figure->load_seconds >= 0.05 ? cell : "");
    bl_format_bytes(figure->peak_memory_b, cell, sizeof cell);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, "%zu/%zu", figure->n_ok, figure->n_trials);
    bl_grid_add(grid, cell);
    outcome_cell(figure, cell);
    bl_grid_add(grid, cell);
}

/* False where the factors are too many for a table. */
static bool fill_grid(const bl_analysis *a, char *align, size_t size, bl_grid *grid, size_t *best_row)
{
    static const char after_factors[] = "rlrrlrrrrl";
    const bl_experiment *e = a->experiment;
    if (e->n_factors + sizeof after_factors > size)
        return false;
    memset(align, 'r', e->n_factors);
    memcpy(align + e->n_factors, after_factors, sizeof after_factors);
    bl_grid_init(grid, e->n_factors + sizeof after_factors - 1, align);
    for (size_t f = 0; f < e->n_factors; f++)
        bl_grid_add(grid, e->factors[f].name);
    const char *const names[] = {rate_heading(a), "interval", "ms a step",   "vs best", "interval",
                                 "data wait",     "load",     "peak memory", "trials",  "outcome"};
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        bl_grid_add(grid, names[i]);
    size_t n_rows = 0;
    *best_row = 0;
    for (size_t c = 0; c < a->n_cases; c++) {
        if (a->n_pairs > 0 && a->cases[c].n_trials == 0)
            continue; /* a comparison may have cases that it does not run */
        add_row(a, c, grid);
        n_rows++;
        *best_row = c == a->best ? n_rows : *best_row;
    }
    return true;
}

void bl_report_table(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    char align[64];
    bl_grid grid;
    size_t best_row;
    if (!fill_grid(a, align, sizeof align, &grid, &best_row))
        return;
    bl_grid_print(&grid, style, best_row, out);
    bl_grid_clear(&grid);
}

void bl_report_markdown_table(const bl_analysis *a, bl_str *out)
{
    char align[64];
    bl_grid grid;
    size_t best_row;
    if (!fill_grid(a, align, sizeof align, &grid, &best_row))
        return;
    bl_grid_print_markdown(&grid, out);
    bl_grid_clear(&grid);
}
