#include "optim/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "optim/update.h"
#include "tensor/layout.h"

/* Added to the norm before dividing by it, as torch.nn.utils.clip_grad_norm_ does. */
#define CLIP_EPS 1e-6

struct bl_optim {
    bl_params *params;
    bl_optim_options options;
    float *first, *second; /* momentum or first moment; second moment */
    float *sum;            /* of gradients, weighted; NULL unless options.accumulate */
    double weight;         /* in the sum; 0: nothing was added since the last step */
    double *partial;       /* for the norm */
    double norm;
    bl_span *spans;
    uint8_t *groups; /* of the spans */
    int n_spans;
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

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

bl_optim_group bl_optim_group_of(const bl_param *param)
{
    if (ends_with(param->name, "bias"))
        return BL_OPTIM_BIASES;
    return ends_with(param->name, "weight") && param->shape.n_dims >= 2 ? BL_OPTIM_WEIGHTS : BL_OPTIM_SCALES;
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

/* Neighbours of one group together; the padding behind a parameter, all zeros, goes with it. */
static bool make_spans(bl_optim *optim)
{
    int n = bl_params_count(optim->params);
    optim->spans = bl_calloc((size_t)n, sizeof *optim->spans);
    optim->groups = bl_calloc((size_t)n, sizeof *optim->groups);
    if (!optim->spans || !optim->groups)
        return false;
    for (int i = 0; i < n; i++) {
        const bl_param *p = bl_params_at(optim->params, i);
        if (p->buffer)
            continue;
        uint8_t group = (uint8_t)bl_optim_group_of(p);
        int last = optim->n_spans - 1;
        if (last >= 0)
            optim->spans[last].end = (size_t)p->offset;
        if (last >= 0 && optim->groups[last] == group)
            continue;
        bool decays = group == BL_OPTIM_WEIGHTS || optim->options.decay_all;
        optim->spans[++last] =
            (bl_span){.begin = (size_t)p->offset, .weight_decay = decays ? (float)optim->options.weight_decay : 0};
        optim->groups[last] = group;
        optim->n_spans++;
    }
    if (optim->n_spans > 0)
        optim->spans[optim->n_spans - 1].end = (size_t)bl_params_slab_count(optim->params);
    return true;
}

static bool allocate(bl_optim *optim)
{
    const bl_optim_options *o = &optim->options;
    int64_t count = bl_params_slab_count(optim->params);
    bool ok = make_spans(optim);
    if (ok && (o->kind != BL_OPTIM_SGD || o->momentum != 0))
        ok = (optim->first = zeroed(count)) != NULL;
    if (ok && o->kind != BL_OPTIM_SGD)
        ok = (optim->second = zeroed(count)) != NULL;
    if (ok && o->accumulate)
        ok = (optim->sum = zeroed(count)) != NULL;
    if (ok && o->clip_norm > 0)
        ok = (optim->partial = bl_calloc(bl_update_partials((size_t)count), sizeof *optim->partial)) != NULL;
    return ok;
}

int bl_optim_new(bl_params *params, const bl_optim_options *options, bl_optim **out, bl_error *err)
{
    if (!bl_params_grad_slab(params))
        return BL_FAIL(err, BL_ERR_INTERNAL, "an optimizer wants a table with gradients");
    bl_optim *optim = bl_calloc(1, sizeof *optim);
    if (optim) {
        optim->params = params;
        optim->options = *options;
        optim->options.beta1 = or_default(options->beta1, 0.9);
        optim->options.beta2 = or_default(options->beta2, 0.999);
        optim->options.eps = or_default(options->eps, 1e-8);
        optim->norm = NAN;
    }
    if (!optim || !allocate(optim)) {
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
    free(optim->sum);
    free(optim->partial);
    free(optim->spans);
    free(optim->groups);
    free(optim);
}

size_t bl_optim_bytes(const bl_optim *optim)
{
    size_t one = (size_t)bl_params_slab_count(optim->params) * sizeof(float);
    return (optim->first ? one : 0) + (optim->second ? one : 0) + (optim->sum ? one : 0);
}

bool bl_optim_state(bl_optim *optim, int i, const char **name, float **data, int64_t *count)
{
    bool sgd = optim->options.kind == BL_OPTIM_SGD;
    *data = i == 0 ? optim->first : i == 1 ? optim->second : NULL;
    *name = i == 1 ? "exp_avg_sq" : sgd ? "momentum_buffer" : "exp_avg";
    *count = bl_params_slab_count(optim->params);
    return *data != NULL;
}

int64_t bl_optim_steps(const bl_optim *optim)
{
    return optim->step;
}

void bl_optim_set_steps(bl_optim *optim, int64_t steps)
{
    optim->step = steps;
}

double bl_optim_grad_norm(const bl_optim *optim)
{
    return optim->norm;
}

bool bl_optim_scaling(const bl_optim *optim, float *out)
{
    if (!optim->second || optim->step == 0)
        return false;
    double unbias = 1 / (1 - pow(optim->options.beta2, (double)optim->step));
    int64_t count = bl_params_slab_count(optim->params);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)(1 / (sqrt((double)optim->second[i] * unbias) + optim->options.eps));
    return true;
}

bl_optim_rates bl_optim_rates_of(double learning_rate)
{
    bl_optim_rates rates = {.momentum = NAN};
    for (int k = 0; k < BL_OPTIM_GROUPS; k++)
        rates.lr[k] = learning_rate;
    return rates;
}

void bl_optim_accumulate(bl_optim *optim, double weight)
{
    bl_update_sum((size_t)bl_params_slab_count(optim->params), optim->weight == 0, (float)weight,
                  bl_params_grad_slab(optim->params), optim->sum);
    optim->weight += weight;
}

/* What each gradient is multiplied by: to the mean, to the caller's scale, to the norm allowed. */
static double scale_of_step(bl_optim *optim, const float *g, double grad_scale)
{
    double scale = or_default(grad_scale, 1) / or_default(optim->weight, 1);
    if (optim->options.clip_norm > 0) {
        size_t count = (size_t)bl_params_slab_count(optim->params);
        optim->norm = scale * sqrt(bl_update_squares(count, g, optim->partial));
        double shorter = optim->options.clip_norm / (optim->norm + CLIP_EPS);
        scale *= shorter < 1 ? shorter : 1;
    }
    return scale;
}

void bl_optim_step(bl_optim *optim, const bl_optim_rates *rates)
{
    const bl_optim_options *o = &optim->options;
    float *w = bl_params_value_slab(optim->params);
    const float *g = optim->weight != 0 ? optim->sum : bl_params_grad_slab(optim->params);
    float scale = (float)scale_of_step(optim, g, rates->grad_scale);
    optim->step++;
    for (int k = 0; k < optim->n_spans; k++)
        optim->spans[k].lr = (float)rates->lr[optim->groups[k]];
    if (o->kind == BL_OPTIM_SGD) {
        bl_sgd sgd = {.momentum = (float)(isnan(rates->momentum) ? o->momentum : rates->momentum),
                      .grad_scale = scale,
                      .nesterov = o->nesterov};
        bl_update_sgd(optim->spans, optim->n_spans, &sgd, w, g, optim->first);
    } else {
        bl_adam adam = {.beta1 = (float)o->beta1,
                        .beta2 = (float)o->beta2,
                        .eps = (float)o->eps,
                        .grad_scale = scale,
                        .decoupled = o->kind == BL_OPTIM_ADAMW,
                        .step = optim->step};
        bl_update_adam(optim->spans, optim->n_spans, &adam, w, g, optim->first, optim->second);
    }
    optim->weight = 0;
    bl_params_touch(optim->params);
}
