/* How fast blocks were as a whole, and the nodes of a cluster that they ran on. */
#ifndef BL_REPORT_LEVELS_H
#define BL_REPORT_LEVELS_H

#include "report/analysis.h"
#include "report/report.h"

typedef struct bl_levels {
    size_t n_blocks;  /* up to the last with a figure */
    size_t n_cases;   /* with a figure */
    double *residual; /* (case, block): ln of the figure less what case and block have in common; NaN */
    double *level;    /* (block): the blocks' own level; NaN where fewer than half of the cases have a figure */
} bl_levels;

/* Case means first, then block means of what is left: exact for complete blocks, close enough for others. */
int bl_levels_compute(const bl_analysis *analysis, bl_levels *out, bl_error *err);
void bl_levels_clear(bl_levels *levels);

typedef struct bl_node_figure {
    const char *name; /* borrowed from the experiment */
    size_t n_blocks;  /* in which it ran trials that count */
    size_t n_trials, n_ok;
    double level; /* mean of its blocks' levels; NaN where none has one */
} bl_node_figure;

typedef struct bl_nodes {
    bl_node_figure *items; /* in the order of their first trial */
    size_t n;
    size_t *of_block; /* (block): index of its node; n where it ran on the lab's own machine, or not at all */
} bl_nodes;

int bl_nodes_collect(const bl_analysis *analysis, const bl_levels *levels, bl_nodes *out, bl_error *err);
void bl_nodes_clear(bl_nodes *nodes);

/* A row a node; nothing where trials ran on the lab's own machine. */
void bl_report_nodes(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);

#endif
