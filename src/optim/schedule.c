#include "optim/schedule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static bool find_name(const char *const *names, int n, const char *name, int *out)
{
    for (*out = 0; *out < n; ++*out)
        if (strcmp(names[*out], name) == 0)
            return true;
    return false;
}

bool bl_schedule_kind_from_name(const char *name, bl_schedule_kind *out)
{
    static const char *const names[] = {"constant", "cosine", "linear", "step"};
    int i;
    if (!find_name(names, 4, name, &i))
        return false;
    *out = (bl_schedule_kind)i;
    return true;
}

static int64_t drops_until(const bl_schedule *s, int64_t step)
{
    int64_t epoch = s->steps_per_epoch > 0 ? step / s->steps_per_epoch : 0;
    int64_t drops = s->drop_every > 0 ? epoch / s->drop_every : 0;
    for (int i = 0; i < s->n_milestones; i++)
        drops += s->milestones[i] <= epoch;
    return drops;
}

double bl_schedule_rate(const bl_schedule *s, int64_t step)
{
    if (step < s->warmup_steps) {
        double done = (double)(step + 1) / (double)s->warmup_steps;
        return s->peak * (s->warmup_factor + (1 - s->warmup_factor) * done);
    }
    if (s->kind == BL_SCHEDULE_CONSTANT)
        return s->peak;
    if (s->kind == BL_SCHEDULE_STEP)
        return fmax(s->peak * pow(s->gamma, (double)drops_until(s, step)), s->floor);
    int64_t span = s->total_steps - s->warmup_steps;
    double done = span > 0 ? fmin((double)(step - s->warmup_steps) / (double)span, 1) : 0;
    double share = s->kind == BL_SCHEDULE_COSINE ? 0.5 * (1 + cos(M_PI * done)) : 1 - done;
    return s->floor + (s->peak - s->floor) * share;
}

bool bl_rate_scaling_from_name(const char *name, bl_rate_scaling *out)
{
    static const char *const names[] = {"linear", "sqrt"};
    int i;
    if (!find_name(names, 2, name, &i))
        return false;
    *out = (bl_rate_scaling)i;
    return true;
}

double bl_rate_scaled(double rate, bl_rate_scaling scaling, double batch, double meant_for)
{
    double ratio = batch / meant_for;
    return rate * (scaling == BL_RATE_SQRT ? sqrt(ratio) : ratio);
}
