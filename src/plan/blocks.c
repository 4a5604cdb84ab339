#include "plan/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "stats/rng.h"

int bl_plan_make(size_t n_cases, size_t n_blocks, uint64_t seed, bl_plan *out, bl_error *err)
{
    *out = (bl_plan){0};
    if (n_cases == 0 || n_blocks == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "an experiment wants at least one case and one block");
    if (n_blocks > BL_BLOCKS_MAX || n_cases > BL_TRIALS_MAX / n_blocks) {
        int rc =
            BL_FAIL(err, BL_ERR_USAGE, "%zu cases in %zu blocks are too many trials (at most %d blocks, %d trials)",
                    n_cases, n_blocks, BL_BLOCKS_MAX, BL_TRIALS_MAX);
        bl_error_remedy(err, "take fewer cases or blocks");
        return rc;
    }
    size_t *order = bl_calloc(n_cases, sizeof(*order));
    bl_plan_entry *items = bl_calloc(n_cases * n_blocks, sizeof(*items));
    if (order == NULL || items == NULL) {
        free(order);
        free(items);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to plan %zu trials", n_cases * n_blocks);
    }
    size_t predecessor = BL_PLAN_NO_CASE;
    size_t at = 0;
    for (size_t b = 0; b < n_blocks; b++) {
        bl_rng rng;
        bl_rng_init(&rng, seed, b);
        for (size_t i = 0; i < n_cases; i++)
            order[i] = i;
        bl_rng_shuffle_sizes(&rng, order, n_cases);
        for (size_t i = 0; i < n_cases; i++) {
            items[at++] = (bl_plan_entry){b, i, order[i], predecessor};
            predecessor = order[i];
        }
    }
    free(order);
    *out = (bl_plan){items, at, n_cases, n_blocks, seed};
    return BL_OK;
}

void bl_plan_clear(bl_plan *plan)
{
    free(plan->items);
    *plan = (bl_plan){0};
}

int bl_plan_remaining(const bl_plan *plan, const bl_plan_done *done, size_t n_done, bl_plan *out, bl_error *err)
{
    *out = (bl_plan){0};
    bool *finished = bl_calloc(plan->len > 0 ? plan->len : 1, sizeof(*finished));
    bl_plan_entry *items = bl_calloc(plan->len > 0 ? plan->len : 1, sizeof(*items));
    if (finished == NULL || items == NULL) {
        free(finished);
        free(items);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to plan %zu trials", plan->len);
    }
    for (size_t i = 0; i < n_done; i++)
        if (done[i].block < plan->n_blocks && done[i].case_index < plan->n_cases)
            finished[done[i].block * plan->n_cases + done[i].case_index] = true;
    size_t predecessor = BL_PLAN_NO_CASE;
    size_t kept = 0;
    for (size_t i = 0; i < plan->len; i++) {
        bl_plan_entry entry = plan->items[i];
        if (finished[entry.block * plan->n_cases + entry.case_index])
            continue;
        entry.predecessor = predecessor;
        predecessor = entry.case_index;
        items[kept++] = entry;
    }
    free(finished);
    *out = (bl_plan){items, kept, plan->n_cases, plan->n_blocks, plan->seed};
    return BL_OK;
}

void bl_plan_leave_out(bl_plan *plan, const bool *left_out)
{
    size_t predecessor = BL_PLAN_NO_CASE;
    size_t kept = 0;
    for (size_t i = 0; i < plan->len; i++) {
        bl_plan_entry entry = plan->items[i];
        if (left_out[entry.case_index])
            continue;
        entry.predecessor = predecessor;
        predecessor = entry.case_index;
        plan->items[kept++] = entry;
    }
    plan->len = kept;
}

int bl_plan_fresh_seed(uint64_t *seed, bl_error *err)
{
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
        int rc = BL_FAIL(err, BL_ERR_ENV, "the system gives no random seed");
        bl_error_remedy(err, "give one with --seed");
        return rc;
    }
    *seed = bits >> 11;
    return BL_OK;
}
