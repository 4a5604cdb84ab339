#include "plan/placing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

int bl_placing_init(bl_placing *p, const bl_plan *plan, const bool *left_out, bl_error *err)
{
    *p = (bl_placing){.plan = plan,
                      .finished = bl_calloc(plan->len + 1, sizeof *p->finished),
                      .left_out = bl_calloc(plan->n_cases + 1, sizeof *p->left_out),
                      .node = bl_calloc(plan->n_blocks + 1, sizeof *p->node),
                      .taken = bl_calloc(plan->n_blocks + 1, sizeof *p->taken)};
    if (!p->finished || !p->left_out || !p->node || !p->taken)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to place %zu blocks", plan->n_blocks);
    if (left_out)
        memcpy(p->left_out, left_out, plan->n_cases * sizeof *left_out);
    for (size_t b = 0; b < plan->n_blocks; b++)
        p->node[b] = BL_PLACING_NONE;
    return BL_OK;
}

void bl_placing_clear(bl_placing *p)
{
    free(p->finished);
    free(p->left_out);
    free(p->node);
    free(p->taken);
    *p = (bl_placing){0};
}

/* Where the first entry of a block stands: blocks lie one after another, each with every case. */
static size_t first_of(const bl_placing *p, size_t block)
{
    return block * p->plan->n_cases;
}

static bool is_left(const bl_placing *p, size_t i)
{
    return !p->finished[i] && !p->left_out[p->plan->items[i].case_index];
}

void bl_placing_done(bl_placing *p, size_t block, size_t case_index, size_t node)
{
    if (block >= p->plan->n_blocks || case_index >= p->plan->n_cases)
        return;
    p->node[block] = node;
    for (size_t i = first_of(p, block); i < first_of(p, block + 1); i++)
        if (p->plan->items[i].case_index == case_index)
            p->finished[i] = true;
}

const bl_plan_entry *bl_placing_next(const bl_placing *p, size_t block)
{
    for (size_t i = first_of(p, block); i < first_of(p, block + 1); i++)
        if (is_left(p, i))
            return &p->plan->items[i];
    return NULL;
}

static bool is_free(const bl_placing *p, size_t block, size_t node)
{
    return p->node[block] == node && !p->taken[block] && bl_placing_next(p, block);
}

size_t bl_placing_take(bl_placing *p, size_t node)
{
    const size_t wanted[] = {node, BL_PLACING_NONE};
    for (size_t i = 0; i < BL_ARRAY_LEN(wanted); i++)
        for (size_t b = 0; b < p->plan->n_blocks; b++)
            if (is_free(p, b, wanted[i])) {
                p->taken[b] = true;
                return b;
            }
    return BL_PLACING_NONE;
}

void bl_placing_release(bl_placing *p, size_t block)
{
    p->taken[block] = false;
}

size_t bl_placing_reset(bl_placing *p, size_t block)
{
    size_t n = 0;
    for (size_t i = first_of(p, block); i < first_of(p, block + 1); i++) {
        n += p->finished[i];
        p->finished[i] = false;
    }
    p->node[block] = BL_PLACING_NONE;
    p->taken[block] = false;
    return n;
}

size_t bl_placing_begun(const bl_placing *p, size_t block)
{
    return bl_placing_next(p, block) ? p->node[block] : BL_PLACING_NONE;
}

size_t bl_placing_left(const bl_placing *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->plan->len; i++)
        n += is_left(p, i);
    return n;
}
