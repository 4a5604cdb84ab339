/* Blocks on nodes: each on one, from its first trial to its last, and anew where its node is lost. */
#include "testing.h"

#include "plan/placing.h"
#include "stats/rng.h"

static bl_plan plan;
static bl_placing p;

static void make(size_t n_cases, size_t n_blocks, const bool *left_out)
{
    assert_int_equal(bl_plan_make(n_cases, n_blocks, 5, &plan, NULL), BL_OK);
    assert_int_equal(bl_placing_init(&p, &plan, left_out, NULL), BL_OK);
}

static void clear(void)
{
    bl_placing_clear(&p);
    bl_plan_clear(&plan);
}

/* Runs the next trial of the block that the node holds. */
static bool run_one(size_t block, size_t node)
{
    const bl_plan_entry *entry = bl_placing_next(&p, block);
    if (entry) {
        assert_int_equal(entry->block, block);
        bl_placing_done(&p, block, entry->case_index, node);
    }
    return entry != NULL;
}

static void blocks_are_given_out_in_their_order_and_once(void **state)
{
    (void)state;
    make(3, 3, NULL);
    assert_int_equal(bl_placing_left(&p), 9);
    assert_int_equal(bl_placing_take(&p, 0), 0);
    assert_int_equal(bl_placing_take(&p, 1), 1);
    for (int i = 0; i < 3; i++)
        assert_true(run_one(1, 1));
    assert_false(run_one(1, 1));
    bl_placing_release(&p, 1);
    assert_int_equal(bl_placing_take(&p, 1), 2);
    assert_int_equal(bl_placing_take(&p, 2), BL_PLACING_NONE); /* all are taken */
    assert_int_equal(bl_placing_left(&p), 6);
    clear();
}

static void a_block_that_has_begun_waits_for_its_node(void **state)
{
    (void)state;
    make(2, 2, NULL);
    bl_placing_done(&p, 0, 1, 7);
    bl_placing_done(&p, 99, 0, 7); /* of an experiment that was longer */
    assert_int_equal(bl_placing_begun(&p, 0), 7);
    assert_int_equal(bl_placing_begun(&p, 1), BL_PLACING_NONE);
    assert_int_equal(bl_placing_take(&p, 1), 1);
    assert_int_equal(bl_placing_take(&p, 2), BL_PLACING_NONE);
    assert_int_equal(bl_placing_take(&p, 7), 0);
    assert_int_equal(bl_placing_next(&p, 0)->case_index, 0);
    assert_true(run_one(0, 7));
    assert_int_equal(bl_placing_begun(&p, 0), BL_PLACING_NONE); /* it is finished */
    clear();
}

static void a_lost_nodes_block_runs_anew_as_a_whole(void **state)
{
    (void)state;
    make(3, 1, NULL);
    assert_int_equal(bl_placing_take(&p, 0), 0);
    assert_true(run_one(0, 0) && run_one(0, 0));
    assert_int_equal(bl_placing_reset(&p, 0), 2);
    assert_int_equal(bl_placing_left(&p), 3);
    assert_int_equal(bl_placing_take(&p, 1), 0);
    assert_true(run_one(0, 1) && run_one(0, 1) && run_one(0, 1) && !run_one(0, 1));
    assert_int_equal(bl_placing_left(&p), 0);
    clear();
}

static void cases_left_out_run_nowhere(void **state)
{
    (void)state;
    const bool left_out[] = {false, true, true};
    make(3, 2, left_out);
    assert_int_equal(bl_placing_left(&p), 2);
    assert_int_equal(bl_placing_take(&p, 0), 0);
    assert_int_equal(bl_placing_next(&p, 0)->case_index, 0);
    assert_true(run_one(0, 0) && !run_one(0, 0));
    clear();
}

/* Whatever order nodes come, go and are lost in: in the end every trial has run once, and each block on one node. */
static void nothing_is_lost_whatever_happens(void **state)
{
    (void)state;
    enum { NODES = 4, CASES = 5, BLOCKS = 9 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        bl_rng rng;
        bl_rng_init(&rng, seed, 0);
        make(CASES, BLOCKS, NULL);
        size_t held[NODES], ran_on[BLOCKS][CASES] = {{0}};
        bool alive[NODES];
        for (size_t n = 0; n < NODES; n++) {
            held[n] = BL_PLACING_NONE;
            alive[n] = true;
        }
        size_t turns = 0;
        for (; bl_placing_left(&p) > 0 && turns < 10000; turns++) {
            size_t n = (size_t)bl_rng_below(&rng, NODES);
            if (!alive[n])
                continue;
            if (held[n] == BL_PLACING_NONE) {
                held[n] = bl_placing_take(&p, n);
            } else if (n > 0 && bl_rng_below(&rng, 20) == 0) { /* it is lost; the first one never is */
                alive[n] = false;
                bl_placing_reset(&p, held[n]);
            } else {
                const bl_plan_entry *entry = bl_placing_next(&p, held[n]);
                if (entry) {
                    ran_on[held[n]][entry->case_index] = n;
                    bl_placing_done(&p, held[n], entry->case_index, n);
                } else {
                    bl_placing_release(&p, held[n]);
                    held[n] = BL_PLACING_NONE;
                }
            }
        }
        assert_int_equal(bl_placing_left(&p), 0);
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t c = 1; c < CASES; c++)
                assert_int_equal(ran_on[b][c], ran_on[b][0]);
        clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_given_out_in_their_order_and_once),
        cmocka_unit_test(a_block_that_has_begun_waits_for_its_node),
        cmocka_unit_test(a_lost_nodes_block_runs_anew_as_a_whole),
        cmocka_unit_test(cases_left_out_run_nowhere),
        cmocka_unit_test(nothing_is_lost_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
