/* Randomised complete blocks: every block runs every case once, in its own shuffled order. The order of block b
 * depends on the seed, b and the number of cases only, so an experiment may be resumed or lengthened. */
#ifndef BL_PLAN_BLOCKS_H
#define BL_PLAN_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_PLAN_NO_CASE ((size_t)-1)
#define BL_BLOCKS_MAX   10000
#define BL_TRIALS_MAX   1000000 /* blocks times cases */

typedef struct bl_plan_entry {
    size_t block;    /* from 0 */
    size_t position; /* in the block, from 0 */
    size_t case_index;
    size_t predecessor; /* case that runs just before; BL_PLAN_NO_CASE for the first of a sitting */
} bl_plan_entry;

typedef struct bl_plan {
    bl_plan_entry *items;
    size_t len;
    size_t n_cases, n_blocks;
    uint64_t seed;
} bl_plan;

/* out is initialised here. BL_ERR_USAGE for no cases, no blocks, or more than the limits. */
int bl_plan_make(size_t n_cases, size_t n_blocks, uint64_t seed, bl_plan *out, bl_error *err);
void bl_plan_clear(bl_plan *plan);

typedef struct bl_plan_done {
    size_t block, case_index;
} bl_plan_done;

/* What remains of the plan once the (block, case) pairs in done are taken out: the same order, the same block and
 * position numbers; predecessors are those of the new sitting. Pairs that are not in the plan are ignored (an
 * experiment with fewer blocks than it had). out is initialised here. */
int bl_plan_remaining(const bl_plan *plan, const bl_plan_done *done, size_t n_done, bl_plan *out, bl_error *err);

/* Takes the entries of some cases (left_out[n_cases]) out of what remains; predecessors are set anew. */
void bl_plan_leave_out(bl_plan *plan, const bool *left_out);

/* A seed from the system's entropy (kept below 2^53, so that JSON and SQLite hold it whole). */
int bl_plan_fresh_seed(uint64_t *seed, bl_error *err);

#endif
