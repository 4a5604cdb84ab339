/* What batchlab gemm makes of its trials: figures of each case, sums over a model's layers, and the machine's roofs. */
#ifndef BL_LAB_GEMM_H
#define BL_LAB_GEMM_H

#include "lab/gemm_options.h"
#include "lab/sweep_spec.h"
#include "report/analysis.h"
#include "report/report.h"
#include "stats/neighbours.h"

/* What the machine can do; NaN: not known. */
typedef struct bl_gemm_roofs {
    double peak_gflops;    /* the best of some steps of 2048 x 2048 x 2048, or as given */
    double bandwidth_gb_s; /* the best of some steps of batchlab-train time stream, or as given */
} bl_gemm_roofs;

/* Measures what is wanted and was not given. Later calls keep the better of the two. */
void bl_gemm_measure_roofs(const bl_gemm_options *options, bl_gemm_roofs *roofs);

/* A case: one product, or one layer in one role, at one batch size. */
typedef struct bl_gemm_row {
    const char *name;           /* borrowed */
    const bl_gemm_layer *layer; /* NULL: a plain product */
    int64_t batch;
    bl_product product;     /* where plain */
    double flop, intensity; /* of one run; operations a byte, each element read or written once */
    bl_interval seconds;    /* of one run */
    bl_interval gflops;
} bl_gemm_row;

/* All layers of all roles at one batch size, each as often as it occurs. */
typedef struct bl_gemm_sum {
    int64_t batch;
    double flop;                  /* of a step */
    bl_interval seconds;          /* a step: Hodges-Lehmann over the blocks */
    double by_role_s[BL_N_ROLES]; /* its parts, likewise */
    bl_contrast against_best;     /* ratio of seconds a sample inside blocks */
} bl_gemm_sum;

typedef struct bl_gemm_figures {
    bl_gemm_row *rows; /* as the analysis' cases */
    bl_gemm_sum *sums; /* of layers alone, by batch size */
    size_t n_sums, best;
    size_t n_filled; /* trials without a figure, for which that of the other blocks stood in */
    bl_neighbours neighbours;
} bl_gemm_figures;

/* Arrays are the arena's; to be cleared in any case. */
int bl_gemm_figures_make(const bl_gemm_options *options, const bl_analysis *analysis, bl_arena *arena,
                         bl_gemm_figures *out, bl_error *err);
void bl_gemm_figures_clear(bl_gemm_figures *figures);

void bl_gemm_print(const bl_gemm_options *options, const bl_analysis *analysis, const bl_gemm_figures *figures,
                   const bl_gemm_roofs *roofs, const bl_report_style *style, bl_str *out);
int bl_gemm_json(const bl_analysis *analysis, const bl_gemm_figures *figures, const bl_gemm_roofs *roofs, bl_str *out,
                 bl_error *err);
/* A roofline: onto the end of `text` (--plot), into a file (--picture). */
int bl_gemm_draw(const bl_gemm_options *options, const bl_analysis *analysis, const bl_gemm_figures *figures,
                 const bl_gemm_roofs *roofs, const bl_report_style *style, bl_arena *arena, bl_str *text,
                 bl_error *err);
/* What would be run. */
void bl_gemm_print_plan(const bl_gemm_options *options, const bl_sweep_spec *spec, bl_str *out);

#endif
