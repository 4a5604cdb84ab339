/* What a step costs at batch sizes that were not measured: from a line where the measurements lie on one, else from a
 * curve through them. */
#ifndef BL_PLAN_SIZE_MODEL_H
#define BL_PLAN_SIZE_MODEL_H

#include <stdbool.h>

#include "stats/fit.h"

#define BL_SIZES_MAX 256
/* Beyond this largest relative residual the line is not believed. */
#define BL_SIZE_MODEL_TRUST 0.1

typedef struct bl_size_model {
    size_t n; /* 0: nothing was measured */
    double batch[BL_SIZES_MAX], value[BL_SIZES_MAX], slopes[BL_SIZES_MAX];
    bl_step_time_fit line;
    bool table; /* the curve through the measurements serves, within them alone */
} bl_size_model;

/* Values at ascending batch sizes, one each; NaN: not measured, left out. A single value makes no model (n is 0).
 * Values positive, at most BL_SIZES_MAX. */
int bl_size_model_make(const double *batch, const double *value, size_t n, bl_size_model *out, bl_error *err);
/* NaN where there is no model, and outside the measurements where the curve serves. */
double bl_size_model_at(const bl_size_model *model, double batch);

#endif
