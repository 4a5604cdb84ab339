#include "optim/ema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "optim/update.h"
#include "tensor/layout.h"

struct bl_ema {
    bl_params *params;
    bl_ema_options options;
    float *mean; /* laid out as the table's values */
    size_t count;
    int64_t updates;
};

int bl_ema_new(bl_params *params, const bl_ema_options *options, bl_ema **out, bl_error *err)
{
    if (!bl_params_value_slab(params))
        return BL_FAIL(err, BL_ERR_INTERNAL, "an average wants a table with values");
    bl_ema *ema = bl_calloc(1, sizeof *ema);
    size_t count = (size_t)bl_params_whole_count(params), bytes;
    if (ema && bl_size_mul(count, sizeof(float), &bytes))
        ema->mean = bl_aligned_alloc(BL_ALIGN_B, bytes > 0 ? bytes : 1);
    if (!ema || !ema->mean) {
        bl_ema_free(ema);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the average of the weights");
    }
    ema->params = params;
    ema->options = *options;
    ema->count = count;
    bl_ema_restart(ema);
    *out = ema;
    return BL_OK;
}

void bl_ema_free(bl_ema *ema)
{
    if (!ema)
        return;
    free(ema->mean);
    free(ema);
}

void bl_ema_restart(bl_ema *ema)
{
    memcpy(ema->mean, bl_params_value_slab(ema->params), ema->count * sizeof(float));
    ema->updates = 0;
}

void bl_ema_update(bl_ema *ema)
{
    const bl_ema_options *o = &ema->options;
    ema->updates++;
    double decay = o->ramp > 0 ? o->decay * (1 - exp(-(double)ema->updates / (double)o->ramp)) : o->decay;
    bl_update_mean(ema->count, (float)(1 - decay), bl_params_value_slab(ema->params), ema->mean);
    for (int i = 0; i < bl_params_count(ema->params); i++) {
        const bl_param *p = bl_params_at(ema->params, i);
        if (p->integer)
            memcpy(ema->mean + p->offset, bl_params_value(ema->params, i), (size_t)p->count * sizeof(float));
    }
}

void bl_ema_swap(bl_ema *ema)
{
    bl_update_swap(ema->count, ema->mean, bl_params_value_slab(ema->params));
    bl_params_touch(ema->params);
}

size_t bl_ema_bytes(const bl_ema *ema)
{
    return ema->count * sizeof(float);
}

float *bl_ema_value(bl_ema *ema, int index)
{
    return ema->mean + bl_params_at(ema->params, index)->offset;
}

float *bl_ema_slab(bl_ema *ema)
{
    return ema->mean;
}

int64_t bl_ema_updates(const bl_ema *ema)
{
    return ema->updates;
}

void bl_ema_set_updates(bl_ema *ema, int64_t updates)
{
    ema->updates = updates;
}
