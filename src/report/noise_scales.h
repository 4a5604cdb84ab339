/* Which noise scales an experiment's trials measured. */
#ifndef BL_REPORT_NOISE_SCALES_H
#define BL_REPORT_NOISE_SCALES_H

#include "report/analysis.h"
#include "stats/noise_scale.h"

/* One case after so many steps, in one form, over all its trials. */
typedef struct bl_case_noise {
    size_t case_index;
    int64_t after_steps;
    bool scaled;
    double small_n, big_n; /* of the first measurement */
    bl_noise_scale scale;
} bl_case_noise;

/* By case, steps and form, the plain one first; *out is NULL where there are none, else to be freed. */
int bl_case_noises(const bl_experiment *experiment, bl_case_noise **out, size_t *n, bl_error *err);

#endif
