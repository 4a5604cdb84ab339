#include "stats/best_batch.h"

#include <math.h>

double bl_best_batch(const bl_step_cost *step, double critical)
{
    return step->per_sample > 0 ? sqrt(step->fixed * critical / step->per_sample) : INFINITY;
}

double bl_best_batch_time(const bl_step_cost *step, double min_steps, double critical)
{
    double root = sqrt(step->fixed) + sqrt(step->per_sample * critical);
    return min_steps * root * root;
}

double bl_batch_regret(const bl_step_cost *step, double critical, double r)
{
    double root = sqrt(step->fixed) + sqrt(step->per_sample * critical);
    return (r + 1 / r - 2) * sqrt(step->fixed * step->per_sample * critical) / (root * root);
}

double bl_sample_efficiency(double batch, double critical)
{
    return isinf(critical) ? 1 : critical / (critical + batch);
}

double bl_batch_of_efficiency(double efficiency, double critical)
{
    return critical * (1 / efficiency - 1);
}
