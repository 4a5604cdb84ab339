#include "plan/rates.h"

#include <math.h>
#include <string.h>

bool bl_rate_rule_from_name(const char *name, bl_rate_rule *out)
{
    *out = strcmp(name, "sgd") == 0 ? BL_RATE_SGD : BL_RATE_ADAM;
    return *out == BL_RATE_SGD || strcmp(name, "adam") == 0 || strcmp(name, "adamw") == 0;
}

double bl_rate_centre(bl_rate_rule rule, double known_rate, double known_batch, double batch, double critical)
{
    double ratio = batch / known_batch;
    if (rule == BL_RATE_ADAM)
        return known_rate * sqrt(ratio);
    if (isinf(critical))
        return known_rate * ratio;
    /* (1 + Bc / B0) / (1 + Bc / B), so written that Bc = 0 leaves the rate as it is. */
    return known_rate * ratio * (known_batch + critical) / (batch + critical);
}

bool bl_rate_rule_holds(bl_rate_rule rule, double batch, double critical)
{
    return rule == BL_RATE_SGD || batch < critical;
}

double bl_beta_centre(double known_beta, double known_batch, double batch)
{
    return fmax(0, 1 - (1 - known_beta) * batch / known_batch);
}

void bl_rate_grid(double centre, size_t n, double *out)
{
    size_t below = (n - 1) / 2;
    for (size_t i = 0; i < n; i++)
        out[i] = centre * exp2(((double)i - (double)below) / 2);
}
