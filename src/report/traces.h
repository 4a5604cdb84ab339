/* The steps of trials, thinned to what a picture shows. */
#ifndef BL_REPORT_TRACES_H
#define BL_REPORT_TRACES_H

#include <stddef.h>

#include "report/analysis.h"

/* Milliseconds of a trial's steps into out[cap]; NaN for a step whose time is not known. Where there are more than cap,
 * *every is above 0, and out holds the least and the greatest of each stretch of *every steps, one after the other
 * (both NaN where none is known). Returns how many were written. cap >= 2. */
size_t bl_trace_thin(const bl_trial_record *trial, size_t cap, double *out, size_t *every);

/* Steps of the warm-up, which the trial's figure leaves out; the trial's number of steps where it has no figure. */
size_t bl_trace_cut(const bl_trial_record *trial, const bl_trial_figure *figure);

#endif
