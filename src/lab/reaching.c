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

static double stored_loss(const void *steps, size_t i)
{
    return ((const bl_stored_step *)steps)[i].loss;
}

static double stored_samples(const void *steps, size_t i)
{
    return (double)((const bl_stored_step *)steps)[i].samples;
}

static bool stored_point(const void *points, size_t i, const char *name, double *after_steps, double *value)
{
    const bl_stored_point *p = (const bl_stored_point *)points + i;
    *after_steps = (double)p->after_steps;
    *value = p->value;
    return strcmp(p->name, name) == 0;
}

bl_target_series bl_reaching_of_record(const bl_trial_record *t, double batch)
{
    return (bl_target_series){.steps = t->steps,
                              .n_steps = t->steps ? t->n_steps : 0,
                              .loss_at = stored_loss,
                              .samples_at = stored_samples,
                              .batch = t->step_source && strcmp(t->step_source, "progress") == 0 ? batch : 0,
                              .points = t->points,
                              .n_points = t->n_points,
                              .point_at = stored_point};
}

double bl_reaching_steps(const bl_trial_record *trial, double batch, const bl_target *target)
{
    bl_target_watch watch;
    bl_target_series series = bl_reaching_of_record(trial, batch);
    bl_target_watch_init(&watch, target);
    return strcmp(trial->outcome, "ok") == 0 && bl_target_watch_take(&watch, &series) ? watch.steps : NAN;
}
