/* Which cases a comparison sets against which. */
#ifndef BL_LAB_COMPARE_PAIRS_H
#define BL_LAB_COMPARE_PAIRS_H

#include "base/alloc.h"
#include "base/error.h"
#include "plan/batch_list.h"
#include "store/experiment.h"

/* Pairs of cases that differ in one factor alone: the only one with several values; where several have, the command or
 * label, else the batch size. With a baseline, each other value against it, else each against every one before it.
 * only: batch sizes to choose from, or NULL for all. Fills out->pairs from the arena. BL_ERR_USAGE where there is no
 * pair, or more than BL_VERDICT_PAIRS_MAX. */
int bl_compare_pairs(const bl_experiment *experiment, const bl_batch_list *only, const char *baseline, bl_arena *arena,
                     bl_comparison *out, bl_error *err);

#endif
