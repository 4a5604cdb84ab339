/* When a training reached its target. */
#ifndef BL_PLAN_TARGET_H
#define BL_PLAN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#define BL_TARGET_NAME_B 48

/* "loss=0.25": the training loss. Any other name is that of a metric: "top1=0.6", "map=0.4", "val_loss=0.3". Those
 * whose name ends in "loss" are to fall to the value, all others to rise to it. */
typedef struct bl_target {
    char name[BL_TARGET_NAME_B]; /* "": there is none */
    double value;
    bool falls;
} bl_target;

/* False, with `out` none, where the text is no NAME=NUMBER, or the name is too long. */
bool bl_target_parse(const char *text, bl_target *out);
/* Whether it is the training loss, which each step tells. */
bool bl_target_is_loss(const bl_target *target);

/* What a training told so far. */
typedef struct bl_target_series {
    const void *steps;
    size_t n_steps;
    double (*loss_at)(const void *steps, size_t i);    /* NaN: not told */
    double (*samples_at)(const void *steps, size_t i); /* of use where batch > 0 */
    double batch; /* above 0: an element may hold several steps, so that they are counted as samples / batch */
    const void *points;
    size_t n_points;
    /* Value i of all metrics, if it is one of that name. */
    bool (*point_at)(const void *points, size_t i, const char *name, double *after_steps, double *value);
} bl_target_series;

/* Watches a training step by step, or metric by metric.
 *
 * A loss is reached at the first step at which the mean loss of the last tenth of the steps so far, and of 5 at least,
 * is not above it. The window grows with the steps, so that it delays trainings of few long steps and of many short
 * ones by the same share. Losses that are not finite are left out; one far above the target counts as a million times
 * it, so that it leaves the sum without a trace.
 *
 * A metric is reached at the first of its values that is as good as the target. The steps are then taken from the line
 * between this value and the one before, so that trainings that are tested seldom do not seem to take longer. */
typedef struct bl_target_watch {
    bl_target target;
    double sum;                /* over [first, done) */
    size_t first, done, count; /* count: of finite ones */
    size_t done_points;
    double last_steps, last_value; /* of the metric; NaN before its first value */
    bool reached;
    double steps; /* once it is reached; at least 1 */
} bl_target_watch;

void bl_target_watch_init(bl_target_watch *watch, const bl_target *target);
/* Goes on to the series' end, or to where the target is reached: true then. Steps that were told before may be asked
 * for again. Fewer of them, or of points, than before are another training: it starts anew. */
bool bl_target_watch_take(bl_target_watch *watch, const bl_target_series *series);

#endif
