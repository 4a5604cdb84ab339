#include "report/reaching.h"

#include <math.h>
#include <string.h>

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

double bl_reaching_seconds(const bl_trial_record *t, double batch, double steps)
{
    const double slack = 1e-6; /* of what rounding leaves */
    bl_target_series s = bl_reaching_of_record(t, batch);
    double seconds = 0;
    size_t i = 0;
    for (; steps > slack && i < s.n_steps; i++) {
        double held = s.batch > 0 ? (double)t->steps[i].samples / s.batch : 1;
        double share = held > steps ? steps / held : 1;
        seconds += t->steps[i].time_ns > 0 ? share * (double)t->steps[i].time_ns / 1e9 : NAN;
        steps -= held;
    }
    return steps > slack ? NAN : seconds;
}
