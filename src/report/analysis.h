/* From an experiment's raw trials to its figures, computed anew each time: nothing derived is ever stored. */
#ifndef BL_REPORT_ANALYSIS_H
#define BL_REPORT_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "plan/target.h"
#include "stats/contrast.h"
#include "stats/neighbours.h"
#include "stats/special.h"
#include "stats/verdict.h"
#include "store/experiment.h"

#define BL_REPORT_LEVEL 0.95

/* Where a case's figure comes from. */
typedef enum bl_figure_source {
    BL_FIGURE_NONE,
    BL_FIGURE_STEPS,    /* step markers, after the warm-up */
    BL_FIGURE_PROGRESS, /* progress lines, after the warm-up */
    BL_FIGURE_WALL,     /* the whole run's wall time, start-up included, over the samples the user declared */
    BL_FIGURE_RUN,      /* the whole run's wall time; samples are not known */
    BL_FIGURE_MIXED     /* some trials so, some so */
} bl_figure_source;

typedef struct bl_trial_figure {
    double seconds; /* per sample, or per run: see bl_analysis.per_run; NaN where the trial gives none */
    bl_figure_source source;
    double step_seconds; /* median of the steady steps; NaN without markers */
    double wait_share;   /* of the steady steps' time, waiting for data; NaN where not said */
    size_t warm_from;    /* the step, of all steps, from which on they count; the number of steps where none does */
    char note[160];      /* of the warm-up cut: "warm after 3 of 50 steps" */
} bl_trial_figure;

typedef struct bl_case_figure {
    int64_t batch;
    const char *label;          /* "batch=128 workers=2" */
    size_t n_trials;            /* that count: the interrupted ones do not */
    size_t n_ok, n_with_figure; /* of these */
    size_t n_unsteady;          /* ok, but their steps never became steady */
    const char *outcome;        /* the commonest one that is not ok; "ok" where all are; "-" where none ran */
    size_t n_outcome;           /* trials with it */
    const char *reason;         /* of the first trial with that outcome */
    bl_figure_source source;
    bl_interval seconds;      /* per sample (or run), Hodges-Lehmann over the blocks */
    double step_seconds;      /* median over the trials; NaN */
    double wait_share;        /* mean over the trials; NaN */
    double load_seconds;      /* loading data before the first step, no part of any step: median over the trials; NaN */
    double peak_memory_b;     /* the largest of the trials with outcome ok; NaN */
    bl_contrast against_best; /* ratio of seconds, this case over the best, inside blocks */
} bl_case_figure;

/* The smallest batch size whose seconds per sample lie within the margin of the best one's (knee.c). */
typedef struct bl_knee {
    bool known;      /* at least two sizes have seconds per sample */
    size_t best;     /* the case with the best throughput observed */
    size_t at;       /* the smallest within the margin, by the estimates */
    size_t low;      /* the smallest that is not shown to lie outside, by the interval of its ratio to the best */
    size_t high;     /* the smallest that is shown to lie within */
    bool has_limits; /* low and high are known: more than one block */
    double level;    /* of the intervals that these rest on; each size by its own */
} bl_knee;

/* The batch sizes of one combination of the other factors. */
typedef struct bl_batch_group {
    const char *label; /* "workers=2"; "" where batch is the only factor that varies */
    bl_neighbours neighbours;
    bl_special powers, eights;
    bl_knee knee;
} bl_batch_group;

typedef struct bl_judged_pair {
    bl_case_pair pair;
    const char *a, *b; /* what people call the cases: "128", or the whole label where several factors vary */
    bl_verdict verdict;
} bl_judged_pair;

typedef struct bl_analysis {
    const bl_experiment *experiment; /* borrowed */
    bool per_run;                    /* no trial gives seconds per sample: the unit is seconds a run */
    size_t n_cases, n_blocks;
    bl_trial_figure *trials; /* as experiment->trials */
    bl_case_figure *cases;
    double *seconds;      /* (case, block); NaN = none */
    size_t best;          /* the best observed case; n_cases where there is none */
    size_t n_blocks_done; /* blocks in which every case has run */
    bl_batch_group *groups;
    size_t n_groups;
    bl_verdict_rule rule;    /* of the verdicts */
    bl_judged_pair *pairs;   /* of a comparison */
    size_t n_pairs, n_open;  /* open: not decided */
    size_t n_blocks_judged;  /* complete blocks, as far as open pairs need them */
    const bl_target *target; /* asked for by the reader, borrowed; NULL: --until of the experiment, if any */
    const struct bl_analysis *confirmed_by; /* the comparison that confirms this sweep, borrowed; NULL */
} bl_analysis;

/* One trial's figure; warmup = the steps dropped at least. Needs its steps. */
int bl_trial_figure_compute(const bl_trial_record *trial, int64_t warmup, bl_trial_figure *out, bl_error *err);

/* The sentence on the group's knee; nothing where it is not known. */
void bl_knee_sentence(const bl_analysis *analysis, const bl_batch_group *group, bl_str *out);
/* Of `group`, whose cases lie n_others apart; y: their seconds, (size, block). */
int bl_knee_compute(const bl_analysis *analysis, size_t group, size_t n_others, const double *y, bl_arena *arena,
                    bl_knee *out, bl_error *err);

/* Needs the steps loaded. All memory but the neighbours' is the arena's; clear it in any case. */
int bl_analysis_compute(const bl_experiment *experiment, bl_arena *arena, bl_analysis *out, bl_error *err);
/* Judges these pairs: bl_analysis_compute does it for those of a comparison. Replays the looks over the blocks in which
 * the cases of all pairs then open have run. */
int bl_analysis_judge(bl_analysis *analysis, const bl_stored_pair *pairs, size_t n_pairs, double margin,
                      double confidence, bl_arena *arena, bl_error *err);
void bl_analysis_clear(bl_analysis *analysis);

const char *bl_figure_source_name(bl_figure_source source); /* "steps", "progress", "wall", "run", "mixed", "none" */

#endif
