#include "plan/size_model.h"

#include <math.h>

int bl_size_model_make(const double *batch, const double *value, size_t n, bl_size_model *out, bl_error *err)
{
    out->n = 0;
    out->table = false;
    if (n > BL_SIZES_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu batch sizes are more than %d", n, BL_SIZES_MAX);
    for (size_t i = 0; i < n; i++) {
        if (isnan(value[i]))
            continue;
        out->batch[out->n] = batch[i];
        out->value[out->n++] = value[i];
    }
    if (out->n < 2) {
        out->n = 0;
        return BL_OK;
    }
    int code = bl_fit_step_time(out->batch, out->value, out->n, &out->line, err);
    if (code == BL_OK)
        code = bl_pchip_slopes(out->batch, out->value, out->n, out->slopes, err);
    out->table = code == BL_OK && !(out->line.worst_relative <= BL_SIZE_MODEL_TRUST);
    return code;
}

double bl_size_model_at(const bl_size_model *m, double batch)
{
    if (m->n == 0)
        return NAN;
    return m->table ? bl_pchip_value(m->batch, m->value, m->slopes, m->n, batch)
                    : m->line.fixed_s + m->line.per_sample_s * batch;
}
