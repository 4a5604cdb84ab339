/* Which batch size a whole training should have: what a step costs (measured) times how many steps there are (fitted).
 * Everything stays within memory, and within twice the range of the sizes measured. */
#ifndef BL_PLAN_CHOICE_H
#define BL_PLAN_CHOICE_H

#include "plan/size_model.h"
#include "stats/steps_fit.h"

typedef struct bl_size_cost {
    double batch;
    double step_s, step_j, memory_b; /* NaN: not measured */
} bl_size_cost;

typedef struct bl_choice_question {
    const bl_size_cost *sizes; /* ascending; two or more with a step's time */
    size_t n_sizes;
    const bl_steps_fit *steps;
    double batch_max;             /* the largest that runs, or that the data allow; INFINITY: none is known */
    double memory_limit_b;        /* INFINITY: none */
    double price_hour, price_kwh; /* any currency; 0: costs nothing */
    double efficiency;            /* of samples, in (0, 1] */
} bl_choice_question;

/* The training at one batch size. NaN: not known. low and high are the
 * interval of the steps.
 */
typedef struct bl_choice_row {
    double batch; /* samples a step */
    double steps, steps_low, steps_high;
    double samples;
    double time_s, time_low_s, time_high_s;
    double energy_j, cost, memory_b;
    double efficiency; /* samples that the smallest batches need over these */
    int accumulate;    /* batches a step; 1: no accumulation */
} bl_choice_row;

typedef struct bl_pick {
    bl_choice_row row; /* batch NaN: there is no such pick */
    double low, high;  /* what would be picked at the ends of the interval; NaN where there is none */
    double regret;     /* at most so much more, as a share, than the best at either end; NaN where there is none */
    bool at_memory;    /* a larger one would be better, and does not fit */
    bool at_range;     /* a smaller or larger one would be better still: the sizes measured do not reach there */
} bl_pick;

typedef struct bl_choice {
    bl_size_model time, energy;
    bl_line memory;        /* bytes over batch size; NaN where they were measured at fewer than two sizes */
    double least, largest; /* batch sizes that are considered */
    bool memory_binds;     /* memory, or batch_max, sets `largest` */
    double best;           /* B* of the closed form, clipped by nothing; NaN where the step's time is no line */
    bl_pick soonest;
    bl_pick cheapest; /* where there is a price */
    bl_pick large;    /* the largest with the wanted efficiency, batches accumulated where memory binds */
} bl_choice;

/* BL_ERR_USAGE: sizes not ascending, fewer than two with times, no fit of the steps, a price for energy that nobody
 * measured, or nothing that fits. On one machine accumulating is never sooner: k batches of m take k T(m), so the time,
 * S_min (k m + Bc) T(m) / m, rises with k. */
int bl_choice_make(const bl_choice_question *question, bl_choice *out, bl_error *err);
/* The training at a batch size of one's own, not accumulated. */
void bl_choice_row_at(const bl_choice_question *question, const bl_choice *choice, double batch, bl_choice_row *out);

#endif
