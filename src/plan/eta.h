/* How long the rest takes, from the durations measured so far. */
#ifndef BL_PLAN_ETA_H
#define BL_PLAN_ETA_H

#include <stddef.h>

#include "base/error.h"
#include "plan/blocks.h"

typedef struct bl_eta {
    double *sum_s; /* for each case: sum and number of the durations seen */
    size_t *n;
    size_t n_cases;
} bl_eta;

int bl_eta_init(bl_eta *eta, size_t n_cases, bl_error *err);
void bl_eta_clear(bl_eta *eta);
/* A trial of this case took wall_s in all, waiting before it included. Values that are not finite or negative, and
 * cases out of range, are ignored. */
void bl_eta_add(bl_eta *eta, size_t case_index, double wall_s);
/* Seconds for entries[0 .. n): a case's own mean where it ran, else the mean over the cases that ran. elapsed_s is
 * how long the first entry has been running (0 where it has not begun); a trial that overran its mean counts as about
 * to end. NaN while nothing was measured. */
double bl_eta_remaining(const bl_eta *eta, const bl_plan_entry *entries, size_t n, double elapsed_s);

#endif
