/* What two stored experiments say about the batch size of a whole training: what a step costs at each size, and how
 * many steps the target takes. */
#ifndef BL_LAB_TUNE_H
#define BL_LAB_TUNE_H

#include "lab/tune_options.h"
#include "plan/choice.h"
#include "plan/rates.h"
#include "report/analysis.h"
#include "report/noise_scales.h"
#include "report/report.h"

/* The pilots of one batch size. */
typedef struct bl_tune_pilot {
    double batch;
    double steps;     /* the fewest to the target over the other factors, the median of blocks; NaN: none reached it */
    const char *best; /* the label of the case that took them */
    double rate;      /* that case's factor `lr`; NaN where there is none */
    bool at_edge;     /* that rate is the smallest or the largest tried at this size */
    size_t n, n_reached; /* trials */
    size_t n_stopped;    /* of those that did not: as losing */
} bl_tune_pilot;

typedef struct bl_tune {
    const bl_tune_options *options;
    bl_size_cost *sizes; /* ascending */
    size_t n_sizes;
    double batch_max; /* below the smallest size that ran out of memory; INFINITY */
    bl_tune_pilot *pilots;
    size_t n_pilots;
    double *point_batch, *point_steps; /* a point for each size and block */
    size_t n_points;
    bl_steps_fit steps;
    bl_case_noise *noises;  /* --noise-only: all that were measured, */
    size_t n_noises, noise; /* and which of them serves */
    bl_choice_question question;
    bl_choice choice;
} bl_tune;

/* Figures of the experiment whose steps are timed, and of the one that trained to the target (they may be the same).
 * Arrays are the arena's, but for the noises; clear it in any case. */
int bl_tune_compute(const bl_tune_options *options, const bl_analysis *timed, const bl_analysis *pilots,
                    bl_arena *arena, bl_tune *out, bl_error *err);
void bl_tune_clear(bl_tune *tune);

/* One object (docs/COMMANDS.md); ends with a newline. What is not known is null, with a reason for energy. */
int bl_tune_json(const bl_tune *tune, bl_str *out, bl_error *err);
void bl_tune_print(const bl_tune *tune, const bl_report_style *style, bl_str *out);

#endif
