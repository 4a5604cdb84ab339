/* The telemetry of one trial as lines over its time, a panel a quantity, thinned to what a picture shows. */
#ifndef BL_REPORT_PANELS_H
#define BL_REPORT_PANELS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/analysis.h"

enum { BL_PANEL_POINTS_MAX = 200, BL_PANEL_LINES_MAX = 8 };

typedef struct bl_panel {
    const char *id, *title, *y_label; /* "trial_memory" */
    bool from_zero;
} bl_panel;

extern const bl_panel bl_panels[];
extern const size_t bl_n_panels;

typedef struct bl_panel_line {
    const bl_stored_series *series;
    const char *name; /* "its processes", or the device; "" never */
    double scale;     /* to the panel's unit */
} bl_panel_line;

/* Which trials' telemetry a page holds: every stride-th of those that have any, so many points each. All their
 * numbers together are BL_PANEL_NUMBERS at most. */
#define BL_PANEL_NUMBERS 30000
typedef struct bl_panel_plan {
    size_t n_trials; /* with telemetry */
    size_t stride, points;
} bl_panel_plan;

bl_panel_plan bl_panel_plan_make(const bl_experiment *experiment);
bool bl_panel_has(const bl_trial_record *trial);

/* The lines of a panel in this telemetry; returns how many were written to out[BL_PANEL_LINES_MAX]. */
size_t bl_panel_lines(const bl_stored_telemetry *telemetry, const bl_panel *panel, bl_panel_line *out);
/* Seconds from the first look to the middle of each stretch of looks into x[cap]; returns how many: all looks where
 * there are no more than cap, else stretches of as many looks each. 2 <= cap. */
size_t bl_panel_times(const bl_stored_telemetry *telemetry, size_t cap, double *x);
/* The line's value at each: the greatest of a stretch; of what counts up the rate over it, which the first look has
 * not. NaN: none. */
void bl_panel_values(const bl_stored_telemetry *telemetry, const bl_panel_line *line, size_t cap, double *y);
/* Seconds from the first look to the first step that counts; 0 where none does, or it is not known. */
double bl_panel_warm(const bl_trial_record *trial, const bl_trial_figure *figure);

#endif
