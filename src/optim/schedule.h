/* The learning rate of each step. */
#ifndef BL_OPTIM_SCHEDULE_H
#define BL_OPTIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum bl_schedule_kind {
    BL_SCHEDULE_CONSTANT,
    BL_SCHEDULE_COSINE, /* Loshchilov and Hutter 2017, eq. 5, from the warm-up's end on */
    BL_SCHEDULE_LINEAR, /* from the warm-up's end on */
    BL_SCHEDULE_STEP    /* times gamma at each drop */
} bl_schedule_kind;

typedef struct bl_schedule {
    bl_schedule_kind kind;
    double peak;
    double floor;         /* cosine and linear end here, drops go no lower; warm-up may begin lower */
    double warmup_factor; /* the warm-up begins at this share of the peak, and rises linearly */
    int64_t warmup_steps; /* the last of them has the peak */
    int64_t total_steps;  /* cosine and linear reach the floor there */
    /* Drops, in epochs from the first step on: after every `drop_every` epochs, and at each of the milestones. */
    int64_t steps_per_epoch, drop_every; /* drop_every 0: none such */
    const int64_t *milestones;           /* borrowed */
    int n_milestones;
    double gamma;
} bl_schedule;

/* "constant", "cosine", "linear", "step"; false for another name. */
bool bl_schedule_kind_from_name(const char *name, bl_schedule_kind *out);
/* Of step 0, 1, ... */
double bl_schedule_rate(const bl_schedule *schedule, int64_t step);

/* How a rate meant for batches of one size becomes one for another: in proportion (Goyal et al. 2017, section 2.1), or
 * with the square root, which suits Adam (Malladi et al. 2022, section 5). */
typedef enum bl_rate_scaling { BL_RATE_LINEAR, BL_RATE_SQRT } bl_rate_scaling;

bool bl_rate_scaling_from_name(const char *name, bl_rate_scaling *out); /* "linear", "sqrt" */
double bl_rate_scaled(double rate, bl_rate_scaling scaling, double batch, double meant_for);

#endif
