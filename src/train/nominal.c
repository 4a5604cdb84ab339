#include "train/nominal.h"

#include <math.h>

bl_nominal bl_nominal_make(int64_t samples, int64_t batch, int64_t warmup_steps, int64_t batches_per_epoch,
                           double momentum)
{
    int64_t customary = 3 * batches_per_epoch < 1000 ? 1000 : 3 * batches_per_epoch;
    return (bl_nominal){.ratio = (double)samples / (double)batch,
                        .warmup_steps = warmup_steps > 0 ? warmup_steps : customary,
                        .momentum = momentum};
}

static double batches_for(double ratio)
{
    return fmax(1, rint(ratio));
}

double bl_nominal_decay(const bl_nominal *n, double weight_decay)
{
    return weight_decay * batches_for(n->ratio) / n->ratio;
}

static double between(double from, double to, double share)
{
    return from + (to - from) * share;
}

bool bl_nominal_due(bl_nominal *n, int64_t step, bl_optim_rates *rates)
{
    double share = step < n->warmup_steps ? (double)step / (double)n->warmup_steps : 1;
    int64_t batches = (int64_t)batches_for(between(1, n->ratio, share));
    for (int g = 0; g < BL_OPTIM_GROUPS; g++)
        rates->lr[g] = between(g == BL_OPTIM_BIASES ? BL_NOMINAL_BIAS_RATE : 0, rates->lr[g], share);
    rates->momentum = between(BL_NOMINAL_MOMENTUM, n->momentum, share);
    n->held++;
    /* The optimizer holds the mean of what was added, and the loss is meant to be summed. */
    rates->grad_scale = (double)n->held;
    if (step % batches != 0)
        return false;
    n->held = 0;
    return true;
}
