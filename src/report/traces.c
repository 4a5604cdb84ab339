#include "report/traces.h"

#include <math.h>

static double milliseconds(const bl_stored_step *step)
{
    return step->time_ns > 0 ? (double)step->time_ns / 1e6 : NAN;
}

size_t bl_trace_thin(const bl_trial_record *trial, size_t cap, double *out, size_t *every)
{
    size_t n = trial->steps ? trial->n_steps : 0, written = 0;
    *every = 0;
    if (n <= cap) {
        for (size_t i = 0; i < n; i++)
            out[i] = milliseconds(&trial->steps[i]);
        return n;
    }
    *every = (n + cap / 2 - 1) / (cap / 2);
    for (size_t from = 0; from < n; from += *every) {
        double least = NAN, greatest = NAN;
        for (size_t i = from; i < n && i < from + *every; i++) { /* fmin and fmax leave out NaN */
            least = fmin(least, milliseconds(&trial->steps[i]));
            greatest = fmax(greatest, milliseconds(&trial->steps[i]));
        }
        out[written++] = least;
        out[written++] = greatest;
    }
    return written;
}

size_t bl_trace_cut(const bl_trial_record *trial, const bl_trial_figure *figure)
{
    return isfinite(figure->seconds) ? figure->warm_from : trial->n_steps;
}
