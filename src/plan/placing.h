/* Which block runs where, when several nodes run blocks at the same time: a block is on one node from its first trial
 * to its last. Pure bookkeeping. */
#ifndef BL_PLAN_PLACING_H
#define BL_PLAN_PLACING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "plan/blocks.h"

#define BL_PLACING_NONE ((size_t)-1)

typedef struct bl_placing {
    const bl_plan *plan; /* the whole one; borrowed */
    bool *finished;      /* (block, position): its trial is stored and counts */
    bool *left_out;      /* (case): runs no more */
    size_t *node;        /* (block): where it has begun; BL_PLACING_NONE */
    bool *taken;         /* (block): a node is at it */
} bl_placing;

/* left_out: a flag a case, or NULL; copied. BL_ERR_NOMEM. To be cleared in any case. */
int bl_placing_init(bl_placing *placing, const bl_plan *plan, const bool *left_out, bl_error *err);
void bl_placing_clear(bl_placing *placing);

/* A trial is stored that ran on this node; pairs that are not in the plan are ignored. */
void bl_placing_done(bl_placing *placing, size_t block, size_t case_index, size_t node);
/* A block for a node that has none: one that it has begun, or else the first that nobody has. BL_PLACING_NONE: none. */
size_t bl_placing_take(bl_placing *placing, size_t node);
/* The next trial of a block, NULL after its last. */
const bl_plan_entry *bl_placing_next(const bl_placing *placing, size_t block);
/* Its node is done with it, or stops. */
void bl_placing_release(bl_placing *placing, size_t block);
/* It is to run anew as a whole, anywhere. Returns how many of its trials counted. */
size_t bl_placing_reset(bl_placing *placing, size_t block);
/* Where a block has begun that is not finished; BL_PLACING_NONE: nowhere, or it is finished. */
size_t bl_placing_begun(const bl_placing *placing, size_t block);
/* Trials to run, those that run now included. */
size_t bl_placing_left(const bl_placing *placing);

#endif
