/* Two trials side by side that run in turn: one trains for a few steps while the other is stopped, then the other way
 * round. What the machine does in the meantime falls on both. A turn ends at a step's end; the steps into which a
 * stop may have fallen have no known time. */
#ifndef BL_TRIAL_TURNS_H
#define BL_TRIAL_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trial/trial.h"

typedef struct bl_turns {
    int64_t steps; /* whole ones in a turn, at least; the two that a stop may have cut come on top */
    double turn_s; /* and so long it lasts at least */
    /* The pair ends after a whole round, once both have run max_steps and there were min_rounds, or one has trained for
     * time_s; 0 of either: no such end. */
    int64_t max_steps;
    double time_s;
    size_t min_rounds;
    uint64_t order; /* bit r mod 64: in round r the second has the first turn. Bit 0: it starts first */
} bl_turns;

/* Makes a launcher for the second one; `first` has run no trial yet, or its trials have ended. Stop it before the
 * first. */
int bl_launcher_start_beside(bl_launcher *first, bl_launcher *second, bl_error *err);

/* Runs two trials (arrays of two). Their own budgets max_steps and time_s are to be 0. Each result is initialised, and
 * to be cleared; ran[i]: it is filled. A trial that ends by itself ends the pair; where it is the first and the second
 * has not begun yet, that one runs alone. BL_ERR_ENV where the two cannot run in turn: one has an accelerator open,
 * whose work goes on while it is stopped; some process of it cannot be stopped, or marks steps all the same; memory
 * does not hold both. BL_ERR_USAGE where one tells no steps. Other errors as of bl_trial_run. Then nothing of them runs
 * any more. */
int bl_turns_run(bl_launcher *const *launchers, const bl_trial_spec *specs, const bl_turns *turns,
                 bl_trial_result *results, bool *ran, bl_error *err);

#endif
