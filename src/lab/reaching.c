#include "lab/reaching.h"

#include <math.h>
#include <string.h>

static double loss_of_step(const void *steps, size_t i)
{
    return ((const bl_step *)steps)[i].loss;
}

static double samples_of_step(const void *steps, size_t i)
{
    return (double)((const bl_step *)steps)[i].samples;
}

static bool marked_point(const void *context, size_t i, const char *name, double *after_steps, double *value)
{
    const bl_markers *m = context;
    *after_steps = (double)m->points[i].after_steps;
    *value = m->points[i].value;
    return strcmp(m->metrics[m->points[i].metric].name, name) == 0;
}

bl_target_series bl_reaching_of_result(const bl_trial_result *result, double batch)
{
    return (bl_target_series){.steps = result->steps,
                              .n_steps = result->n_steps,
                              .loss_at = loss_of_step,
                              .samples_at = samples_of_step,
                              .batch = result->step_source == BL_STEPS_PROGRESS ? batch : 0,
                              .points = &result->markers,
                              .n_points = result->markers.n_points,
                              .point_at = marked_point};
}
