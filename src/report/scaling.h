/* How the speed grows with the number of ranks, where an experiment has a factor "ranks" and its program marks steps,
 * whose samples are those of all ranks. Strong scaling: the same whole batch on more ranks; weak scaling: the same
 * batch on each of more ranks. */
#ifndef BL_REPORT_SCALING_H
#define BL_REPORT_SCALING_H

#include "report/analysis.h"

typedef enum bl_scaling_kind { BL_SCALING_STRONG, BL_SCALING_WEAK, BL_SCALING_KINDS } bl_scaling_kind;

typedef struct bl_scaling_row {
    bl_scaling_kind kind;
    size_t case_index, reference; /* the case with the fewest ranks among those it is compared with */
    bool first;                   /* of those: it is its own reference */
    double ranks, batch;          /* of all ranks: samples a step */
    bl_contrast speed_up;         /* .ratio: its samples a second against the reference's, block by block */
    double share;                 /* of the reference's ranks in its own: efficiency = speed-up x share */
    /* Medians over the trials of what the program said; NaN where it did not. */
    double sums_share;     /* of the time of batches: sums over ranks that computing did not hide */
    double slowest_share;  /* the longest computing time of a rank against the mean of all */
    double largest_rank_b; /* memory of the rank that had most: the most over the trials */
} bl_scaling_row;

/* By kind, then the other factors and the batch in the order of the cases, then ranks. *out is NULL where there are
 * none, else to be freed. */
int bl_scaling_rows(const bl_analysis *analysis, bl_scaling_row **out, size_t *n, bl_error *err);
/* Trials of a program that said another number of ranks than asked for. */
size_t bl_scaling_n_liars(const bl_analysis *analysis);

#endif
