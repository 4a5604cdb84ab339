/* Experiments made up for the tests of this room: every figure known beforehand. */
#ifndef BL_TESTS_REPORT_SAMPLE_H
#define BL_TESTS_REPORT_SAMPLE_H

#include "testing.h"

#include "report/report.h"

enum { SAMPLE_TRIALS_MAX = 64, SAMPLE_STEPS = 10 };

typedef struct sample {
    bl_experiment experiment;
    bl_trial_record trials[SAMPLE_TRIALS_MAX];
    bl_stored_step steps[SAMPLE_TRIALS_MAX][SAMPLE_STEPS];
    bl_arena arena;
    bl_analysis analysis;
} sample;

/* Batches 127, 128, 129 in `blocks` blocks; no trials yet. */
void sample_init(sample *s, int64_t blocks);
/* A trial whose warm steps take step_s seconds each, its first one ten times that. */
bl_trial_record *sample_add(sample *s, size_t block, size_t case_index, double step_s);
/* `blocks` blocks of trials: 128 takes 0.128 s a step, 127 and 129 take 1.6 % and 5 % more, and each trial up to 2 %
 * more or 1 % less of its own. */
void sample_fill(sample *s, int64_t blocks);
/* A trial of a program that marks nothing. */
bl_trial_record *sample_add_silent(sample *s, size_t block, size_t case_index, double wall_s, double run_samples);
void sample_analyse(sample *s);
void sample_clear(sample *s);

/* What was made, against tests/golden/report/NAME; BATCHLAB_UPDATE_GOLDEN writes that anew. */
void sample_expect_golden(const char *name, const bl_str *made);

#endif
