#include "report/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/format.h"

static double log_figure(const bl_analysis *a, size_t c, size_t b)
{
    return log(a->seconds[c * a->n_blocks + b]);
}

static void take_case(const bl_analysis *a, size_t c, bl_levels *v)
{
    double sum = 0, n = 0;
    v->n_cases += a->cases[c].n_with_figure > 0;
    for (size_t b = 0; b < a->n_blocks; b++)
        if (!isnan(log_figure(a, c, b))) {
            sum += log_figure(a, c, b);
            n++;
            v->n_blocks = b + 1 > v->n_blocks ? b + 1 : v->n_blocks;
        }
    for (size_t b = 0; b < a->n_blocks; b++)
        v->residual[c * a->n_blocks + b] = log_figure(a, c, b) - sum / n;
}

static void take_block(const bl_analysis *a, size_t b, bl_levels *v)
{
    double sum = 0, n = 0;
    for (size_t c = 0; c < a->n_cases; c++)
        if (!isnan(v->residual[c * a->n_blocks + b])) {
            sum += v->residual[c * a->n_blocks + b];
            n++;
        }
    v->level[b] = 2 * n >= (double)v->n_cases && n > 0 ? sum / n : NAN;
    for (size_t c = 0; c < a->n_cases; c++)
        v->residual[c * a->n_blocks + b] -= sum / n;
}

int bl_levels_compute(const bl_analysis *a, bl_levels *out, bl_error *err)
{
    *out = (bl_levels){.residual = bl_calloc(a->n_cases * a->n_blocks + 1, sizeof *out->residual),
                       .level = bl_calloc(a->n_blocks + 1, sizeof *out->level)};
    if (!out->residual || !out->level)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the blocks' levels");
    for (size_t c = 0; c < a->n_cases; c++)
        take_case(a, c, out);
    for (size_t b = 0; b < a->n_blocks; b++)
        take_block(a, b, out);
    return BL_OK;
}

void bl_levels_clear(bl_levels *levels)
{
    free(levels->residual);
    free(levels->level);
    *levels = (bl_levels){0};
}

/* ---- nodes ---- */

static size_t find_node(bl_nodes *nodes, const char *name)
{
    size_t i = 0;
    while (i < nodes->n && strcmp(nodes->items[i].name, name) != 0)
        i++;
    if (i == nodes->n)
        nodes->items[nodes->n++] = (bl_node_figure){.name = name, .level = NAN};
    return i;
}

static void set_levels(const bl_analysis *a, const bl_levels *levels, bl_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++) {
        double sum = 0, n = 0;
        for (size_t b = 0; b < a->n_blocks; b++) {
            nodes->items[i].n_blocks += nodes->of_block[b] == i;
            if (nodes->of_block[b] == i && !isnan(levels->level[b])) {
                sum += levels->level[b];
                n++;
            }
        }
        nodes->items[i].level = n > 0 ? sum / n : NAN;
    }
}

int bl_nodes_collect(const bl_analysis *a, const bl_levels *levels, bl_nodes *out, bl_error *err)
{
    const bl_experiment *e = a->experiment;
    *out = (bl_nodes){.items = bl_calloc(e->n_trials + 1, sizeof *out->items),
                      .of_block = bl_calloc(a->n_blocks + 1, sizeof *out->of_block)};
    if (!out->items || !out->of_block)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the nodes");
    for (size_t b = 0; b < a->n_blocks; b++)
        out->of_block[b] = SIZE_MAX;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (!t->node || t->block >= a->n_blocks || strcmp(t->outcome, "interrupted") == 0)
            continue;
        size_t node = find_node(out, t->node);
        out->of_block[t->block] = node;
        out->items[node].n_trials++;
        out->items[node].n_ok += strcmp(t->outcome, "ok") == 0;
    }
    for (size_t b = 0; b < a->n_blocks; b++)
        out->of_block[b] = out->of_block[b] == SIZE_MAX ? out->n : out->of_block[b];
    set_levels(a, levels, out);
    return BL_OK;
}

void bl_nodes_clear(bl_nodes *nodes)
{
    free(nodes->items);
    free(nodes->of_block);
    *nodes = (bl_nodes){0};
}

/* ---- as a table ---- */

static void print_table(const bl_nodes *nodes, const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"node", "blocks", "trials", "ok", "time against all"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "lrrrr");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < nodes->n; i++) {
        const bl_node_figure *node = &nodes->items[i];
        const size_t counts[] = {node->n_blocks, node->n_trials, node->n_ok};
        char cell[64];
        bl_str name;
        bl_str_init(&name);
        bl_format_clean(node->name, 40, &name);
        bl_grid_add(&grid, bl_str_text(&name));
        bl_str_clear(&name);
        for (size_t k = 0; k < BL_ARRAY_LEN(counts); k++) {
            snprintf(cell, sizeof cell, "%zu", counts[k]);
            bl_grid_add(&grid, cell);
        }
        bl_format_percent(exp(node->level), cell, sizeof cell);
        bl_grid_add(&grid, isnan(node->level) ? "" : cell);
    }
    bl_str_append(out, "\nNodes\n");
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
}

void bl_report_nodes(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_levels levels;
    bl_nodes nodes = {0};
    if (bl_levels_compute(a, &levels, NULL) != BL_OK || bl_nodes_collect(a, &levels, &nodes, NULL) != BL_OK) {
        out->failed = true; /* memory is out */
    } else if (nodes.n > 0) {
        print_table(&nodes, style, out);
        bl_format_paragraph("Each block ran on one node: differences inside blocks hold whatever the nodes' own speed. "
                            "The cases' own intervals are as wide as the nodes differ.",
                            style, out);
    }
    bl_nodes_clear(&nodes);
    bl_levels_clear(&levels);
}
