/* When a training reached its target. */
#ifndef BL_PLAN_TARGET_H
#define BL_PLAN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* "loss=0.25"; false for anything else. */
bool bl_target_parse(const char *text, double *loss);

/* Watches losses step by step. Reached is the target at the first step at which the mean loss of the last tenth of the
 * steps so far, and of 5 at least, is not above it. The window grows with the steps, so that it delays trainings of few
 * long steps and of many short ones by the same share. Losses that are not finite are left out; one far above the
 * target counts as a million times it, so that it leaves the sum without a trace. */
typedef struct bl_target_watch {
    double target, sum;        /* over [first, done) */
    size_t first, done, count; /* count: of finite ones */
    bool reached;              /* at step `done` */
} bl_target_watch;

void bl_target_watch_init(bl_target_watch *watch, double target);
/* Goes on to step n, or to where the target is reached: true then. loss_at gives the loss of step i, from 0; those
 * before may be asked for again. Fewer steps than before are another training: it starts anew. */
bool bl_target_watch_take(bl_target_watch *watch, double (*loss_at)(const void *steps, size_t i), const void *steps,
                          size_t n);

#endif
