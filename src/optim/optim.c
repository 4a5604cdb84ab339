#include "optim/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "optim/update.h"
#include "tensor/layout.h"

struct bl_optim {
    bl_params *params;
    bl_optim_options options;
    float *first, *second; /* momentum or first moment; second moment */
    int64_t step;
};

bool bl_optim_kind_from_name(const char *name, bl_optim_kind *out)
{
    static const char *const names[] = {"sgd", "adam", "adamw"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (bl_optim_kind)i;
            return true;
        }
    return false;
}

static float *zeroed(int64_t count)
{
    size_t bytes;
    float *block = bl_size_mul((size_t)count, sizeof(float), &bytes) ? bl_aligned_alloc(BL_ALIGN_B, bytes) : NULL;
    if (block)
        memset(block, 0, bytes);
    return block;
}

static double or_default(double value, double otherwise)
{
    return value == 0 ? otherwise : value;
}

int bl_optim_new(bl_params *params, const bl_optim_options *options, bl_optim **out, bl_error *err)
{
    bl_optim *optim = bl_calloc(1, sizeof *optim);
    int64_t count = bl_params_slab_count(params);
    bool ok = optim != NULL;
    if (ok && !bl_params_grad_slab(params)) {
        free(optim);
        return BL_FAIL(err, BL_ERR_INTERNAL, "an optimizer wants a table with gradients");
    }
    if (ok) {
        optim->params = params;
        optim->options = *options;
        optim->options.beta1 = or_default(options->beta1, 0.9);
        optim->options.beta2 = or_default(options->beta2, 0.999);
        optim->options.eps = or_default(options->eps, 1e-8);
    }
    if (ok && (options->kind != BL_OPTIM_SGD || options->momentum != 0))
        ok = (optim->first = zeroed(count)) != NULL;
    if (ok && options->kind != BL_OPTIM_SGD)
        ok = (optim->second = zeroed(count)) != NULL;
    if (!ok) {
        bl_optim_free(optim);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the optimizer's state");
    }
    *out = optim;
    return BL_OK;
}

void bl_optim_free(bl_optim *optim)
{
    if (!optim)
        return;
    free(optim->first);
    free(optim->second);
    free(optim);
}

size_t bl_optim_bytes(const bl_optim *optim)
{
    size_t one = (size_t)bl_params_slab_count(optim->params) * sizeof(float);
    return (optim->first ? one : 0) + (optim->second ? one : 0);
}

void bl_optim_step(bl_optim *optim, double learning_rate)
{
    const bl_optim_options *o = &optim->options;
    size_t count = (size_t)bl_params_slab_count(optim->params);
    float *w = bl_params_value_slab(optim->params);
    const float *g = bl_params_grad_slab(optim->params);
    optim->step++;
    if (o->kind == BL_OPTIM_SGD) {
        bl_sgd sgd = {.lr = (float)learning_rate,
                      .momentum = (float)o->momentum,
                      .weight_decay = (float)o->weight_decay,
                      .nesterov = o->nesterov};
        bl_update_sgd(count, &sgd, w, g, optim->first);
    } else {
        bl_adam adam = {.lr = (float)learning_rate,
                        .beta1 = (float)o->beta1,
                        .beta2 = (float)o->beta2,
                        .eps = (float)o->eps,
                        .weight_decay = (float)o->weight_decay,
                        .decoupled = o->kind == BL_OPTIM_ADAMW,
                        .step = optim->step};
        bl_update_adam(count, &adam, w, g, optim->first, optim->second);
    }
    bl_params_touch(optim->params);
}

bool bl_schedule_kind_from_name(const char *name, bl_schedule_kind *out)
{
    static const char *const names[] = {"constant", "cosine", "linear"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (bl_schedule_kind)i;
            return true;
        }
    return false;
}

double bl_schedule_rate(const bl_schedule *s, int64_t step)
{
    if (step < s->warmup_steps)
        return s->peak * (double)(step + 1) / (double)s->warmup_steps;
    int64_t span = s->total_steps - s->warmup_steps;
    double done = span > 0 ? (double)(step - s->warmup_steps) / (double)span : 0;
    if (done > 1)
        done = 1;
    if (s->kind == BL_SCHEDULE_COSINE)
        return 0.5 * s->peak * (1 + cos(M_PI * done));
    return s->kind == BL_SCHEDULE_LINEAR ? s->peak * (1 - done) : s->peak;
}
