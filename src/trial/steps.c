#include "trial/steps.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define RATE_STEPS 10

const char *bl_step_source_name(bl_step_source source)
{
    static const char *const names[] = {"markers", "progress", "none"};
    return (size_t)source < BL_ARRAY_LEN(names) ? names[source] : "none";
}

/* NULL where markers speak, or nothing was recognised. */
static const bl_progress_track *track_of(const bl_trial_result *result)
{
    return result->markers.any ? NULL : bl_progress_training(&result->progress);
}

void bl_steps_choose(bl_trial_result *r)
{
    const bl_markers *m = &r->markers;
    const bl_progress_track *t = track_of(r);
    if (m->any) {
        r->step_source = BL_STEPS_MARKERS;
        r->steps = m->steps;
        r->n_steps = m->n_steps;
        r->samples = m->samples;
        r->steps_done = (int64_t)m->n_steps;
    } else if (t && bl_progress_usable(t)) {
        r->step_source = BL_STEPS_PROGRESS;
        r->steps = t->records;
        r->n_steps = t->n_records;
        r->samples = t->record_samples;
        r->steps_done = t->timed_steps;
    } else {
        r->step_source = BL_STEPS_NONE;
        r->steps = NULL;
        r->n_steps = 0;
        r->samples = 0;
        r->steps_done = 0;
    }
    snprintf(r->phase, sizeof r->phase, "%s", m->any ? m->phase : r->progress.phase);
}

void bl_steps_set_loss(bl_trial_result *r, double loss)
{
    bl_step *steps = NULL;
    size_t n = 0;
    if (r->step_source == BL_STEPS_MARKERS) {
        steps = r->markers.steps;
        n = r->markers.n_steps;
    }
    for (size_t i = 0; r->step_source == BL_STEPS_PROGRESS && i < r->progress.n_tracks; i++)
        if (r->progress.tracks[i].records == r->steps) {
            steps = r->progress.tracks[i].records;
            n = r->progress.tracks[i].n_records;
        }
    if (n > 0 && isnan(steps[n - 1].loss))
        steps[n - 1].loss = loss;
}

int64_t bl_steps_start_ns(const bl_trial_result *r)
{
    const bl_markers *m = &r->markers;
    const bl_progress_track *t = track_of(r);
    if (t)
        return t->start_ns;
    if (m->ready_ns > 0)
        return m->ready_ns;
    return m->n_steps > 0 ? m->steps[0].end_ns - m->steps[0].time_ns : 0;
}

double bl_steps_recent_rate(const bl_trial_result *r)
{
    double seconds = 0, samples = 0;
    size_t first = r->n_steps > RATE_STEPS ? r->n_steps - RATE_STEPS : 0;
    for (size_t i = first; i < r->n_steps; i++)
        if (r->steps[i].time_ns > 0) {
            seconds += (double)r->steps[i].time_ns / BL_NS_PER_S;
            samples += (double)r->steps[i].samples;
        }
    return seconds > 0 ? samples / seconds : NAN;
}

void bl_steps_forget_times(bl_trial_result *r, size_t from, size_t to)
{
    bl_progress_track *track = (bl_progress_track *)track_of(r); /* of this very result */
    bl_step *steps = r->step_source == BL_STEPS_MARKERS             ? r->markers.steps
                     : r->step_source == BL_STEPS_PROGRESS && track ? track->records
                                                                    : NULL;
    for (size_t i = from; steps && i < to && i < r->n_steps; i++)
        steps[i].time_ns = 0;
}
