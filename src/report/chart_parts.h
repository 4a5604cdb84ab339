/* What the files that make charts share. */
#ifndef BL_REPORT_CHART_PARTS_H
#define BL_REPORT_CHART_PARTS_H

#include "report/chart.h"

/* What the charts are made of; `failed` stays set once memory was out. */
typedef struct bl_chart_maker {
    const bl_analysis *const *analyses;
    size_t n;
    bl_arena *arena;
    bl_chart *charts;
    size_t *n_charts;
    bool failed;
} bl_chart_maker;

void *bl_chart_take(bl_chart_maker *m, size_t count, size_t size);
/* A copy; "" when memory is out. */
const char *bl_chart_keep(bl_chart_maker *m, const char *text);
/* Empty series with room for n points each; false when memory is out. */
bool bl_chart_take_series(bl_chart_maker *m, bl_chart_series *s, size_t n, bool intervals);
/* The chart counts once it has a point. */
void bl_chart_add(bl_chart_maker *m, const bl_chart *chart);
/* "label: value unit [low, high]" */
const char *bl_chart_note(bl_chart_maker *m, const char *label, const char *unit, double value, double low,
                          double high);

/* Combinations of the factors but the batch size. */
size_t bl_chart_n_others(const bl_analysis *a);
/* What tells this combination, of this experiment, from the others; "" where there is one alone. */
const char *bl_chart_series_name(bl_chart_maker *m, const bl_analysis *a, size_t group);

/* Utilisation, energy; of one experiment the temperature too. */
void bl_chart_make_machine(bl_chart_maker *m);
/* Of one experiment: what was looked at in the course of a trial (panels.h). */
void bl_chart_make_trial(bl_chart_maker *m);
/* Of one experiment: noise scales, steps and time to the target. */
void bl_chart_make_training(bl_chart_maker *m);
/* Of one experiment: differences and verdicts, the trials in their order, the steps of some of them. */
void bl_chart_make_inside(bl_chart_maker *m);

#endif
