#include "testing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/blocks.h"

static bl_plan make(size_t n_cases, size_t n_blocks, uint64_t seed)
{
    bl_plan plan;
    bl_error err = {0};
    assert_int_equal(bl_plan_make(n_cases, n_blocks, seed, &plan, &err), BL_OK);
    assert_true(plan.len == n_cases * n_blocks && plan.n_cases == n_cases && plan.n_blocks == n_blocks);
    assert_true(plan.seed == seed);
    return plan;
}

static bool same_order(const bl_plan *a, const bl_plan *b)
{
    for (size_t i = 0; i < a->len; i++)
        if (a->items[i].case_index != b->items[i].case_index)
            return false;
    return true;
}

static void every_case_runs_once_a_block(void **state)
{
    static const size_t sizes[][2] = {{1, 1}, {1, 7}, {2, 5}, {5, 40}, {97, 11}};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        size_t n_cases = sizes[s][0];
        bl_plan plan = make(n_cases, sizes[s][1], 42 + s);
        size_t before = BL_PLAN_NO_CASE;
        for (size_t b = 0; b < plan.n_blocks; b++) {
            bool seen[97] = {false};
            for (size_t p = 0; p < n_cases; p++) {
                const bl_plan_entry *e = &plan.items[b * n_cases + p];
                assert_true(e->block == b && e->position == p && e->case_index < n_cases);
                assert_true(e->predecessor == before);
                assert_false(seen[e->case_index]);
                seen[e->case_index] = true;
                before = e->case_index;
            }
        }
        bl_plan_clear(&plan);
    }
}

static void a_seed_fixes_the_order_and_another_changes_it(void **state)
{
    bl_plan a = make(5, 20, 7), b = make(5, 20, 7), c = make(5, 20, 8);
    assert_true(same_order(&a, &b));
    assert_false(same_order(&a, &c));
    size_t equal_blocks = 0;
    for (size_t block = 1; block < 20; block++) {
        size_t equal = 0;
        for (size_t p = 0; p < 5; p++)
            equal += a.items[block * 5 + p].case_index == a.items[p].case_index;
        equal_blocks += equal == 5;
    }
    assert_true(equal_blocks <= 2); /* 19/120 expected: a block's order is its own */
    bl_plan_clear(&a);
    bl_plan_clear(&b);
    bl_plan_clear(&c);
}

static void lengthening_keeps_what_there_was(void **state)
{
    bl_plan shorter = make(6, 5, 123), longer = make(6, 9, 123);
    assert_true(same_order(&shorter, &longer));
    bl_plan_clear(&shorter);
    bl_plan_clear(&longer);
}

/* Over many blocks each case stands equally often at each position, and follows each other equally often:
 * chi-square, at a level of 0.001. A table of positions has (k - 1)^2 degrees of freedom: 39.25 for 16. */
static void positions_and_followers_are_unbiased(void **state)
{
    enum { CASES = 5, BLOCKS_N = 10000 };
    for (uint64_t seed = 0; seed < 3; seed++) {
        bl_plan plan = make(CASES, BLOCKS_N, seed);
        double at[CASES][CASES] = {{0}}, after[CASES][CASES] = {{0}};
        for (size_t i = 0; i < plan.len; i++) {
            const bl_plan_entry *e = &plan.items[i];
            at[e->case_index][e->position]++;
            if (e->position > 0)
                after[e->predecessor][e->case_index]++;
        }
        double positions = 0, followers = 0;
        double const each = BLOCKS_N / (double)CASES, pair = BLOCKS_N * (CASES - 1.0) / (CASES * (CASES - 1.0));
        for (size_t a = 0; a < CASES; a++) {
            assert_true(after[a][a] == 0);
            for (size_t b = 0; b < CASES; b++) {
                positions += (at[a][b] - each) * (at[a][b] - each) / each;
                if (a != b)
                    followers += (after[a][b] - pair) * (after[a][b] - pair) / pair;
            }
        }
        assert_true(positions < 39.25);
        assert_true(followers < 43.82); /* 19 degrees of freedom at most */
        bl_plan_clear(&plan);
    }
}

/* All 24 orders of four cases, and each as often: 23 degrees of freedom. */
static void all_orders_come_equally_often(void **state)
{
    enum { BLOCKS_N = 9600 };
    bl_plan plan = make(4, BLOCKS_N, 1);
    double count[256] = {0};
    for (size_t b = 0; b < BLOCKS_N; b++) {
        size_t code = 0;
        for (size_t p = 0; p < 4; p++)
            code = code * 4 + plan.items[b * 4 + p].case_index;
        count[code]++;
    }
    double chi2 = 0;
    size_t orders = 0;
    for (size_t i = 0; i < 256; i++) {
        if (count[i] == 0)
            continue;
        orders++;
        chi2 += (count[i] - 400) * (count[i] - 400) / 400;
    }
    assert_true(orders == 24);
    assert_true(chi2 < 49.73);
    bl_plan_clear(&plan);
}

static void what_remains_keeps_its_place(void **state)
{
    bl_plan plan = make(4, 3, 9), rest;
    bl_plan_done done[] = {{plan.items[0].block, plan.items[0].case_index},
                           {plan.items[5].block, plan.items[5].case_index},
                           {plan.items[5].block, plan.items[5].case_index}, /* twice */
                           {99, 0},                                         /* no such block */
                           {0, 99}};
    assert_int_equal(bl_plan_remaining(&plan, done, 5, &rest, NULL), BL_OK);
    assert_true(rest.len == 10 && rest.n_cases == 4 && rest.n_blocks == 3 && rest.seed == 9);
    size_t before = BL_PLAN_NO_CASE, at = 0;
    for (size_t i = 0; i < plan.len; i++) {
        if (i == 0 || i == 5)
            continue;
        const bl_plan_entry *e = &rest.items[at++];
        assert_true(e->block == plan.items[i].block && e->position == plan.items[i].position);
        assert_true(e->case_index == plan.items[i].case_index);
        assert_true(e->predecessor == before); /* of this sitting */
        before = e->case_index;
    }
    bl_plan_clear(&rest);

    bl_plan_done all[12];
    for (size_t i = 0; i < plan.len; i++)
        all[i] = (bl_plan_done){plan.items[i].block, plan.items[i].case_index};
    assert_int_equal(bl_plan_remaining(&plan, all, 12, &rest, NULL), BL_OK);
    assert_true(rest.len == 0);
    bl_plan_clear(&rest);
    assert_int_equal(bl_plan_remaining(&plan, NULL, 0, &rest, NULL), BL_OK);
    assert_true(rest.len == plan.len && same_order(&plan, &rest));
    bl_plan_clear(&rest);
    bl_plan_clear(&plan);
}

static void limits_and_lost_allocations(void **state)
{
    bl_plan plan = {.items = (bl_plan_entry *)1}, rest;
    assert_int_equal(bl_plan_make(0, 5, 1, &plan, NULL), BL_ERR_USAGE);
    assert_null(plan.items);
    assert_int_equal(bl_plan_make(5, 0, 1, &plan, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_plan_make(1, BL_BLOCKS_MAX + 1, 1, &plan, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_plan_make(101, BL_BLOCKS_MAX, 1, &plan, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_plan_make(SIZE_MAX, 2, 1, &plan, NULL), BL_ERR_USAGE);
    for (int n = 0; n < 2; n++) {
        test_alloc_fail_after(n);
        assert_int_equal(bl_plan_make(5, 5, 1, &plan, NULL), BL_ERR_NOMEM);
        assert_true(test_alloc_restore());
        assert_null(plan.items);
    }
    plan = make(5, 5, 1);
    for (int n = 0; n < 2; n++) {
        test_alloc_fail_after(n);
        assert_int_equal(bl_plan_remaining(&plan, NULL, 0, &rest, NULL), BL_ERR_NOMEM);
        assert_true(test_alloc_restore());
        assert_null(rest.items);
    }
    bl_plan_clear(&plan);
}

static void fresh_seeds_differ_and_fit_json(void **state)
{
    uint64_t seeds[8];
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(bl_plan_fresh_seed(&seeds[i], NULL), BL_OK);
        assert_true(seeds[i] < UINT64_C(1) << 53);
        for (size_t j = 0; j < i; j++)
            assert_true(seeds[i] != seeds[j]);
    }
}

static void cases_that_are_left_out_leave_the_others_their_places(void **state)
{
    bl_plan plan, left;
    const bool left_out[] = {false, true, false};
    assert_int_equal(bl_plan_make(3, 8, 5, &plan, NULL), BL_OK);
    assert_int_equal(bl_plan_remaining(&plan, NULL, 0, &left, NULL), BL_OK);
    bl_plan_leave_out(&left, left_out);
    assert_int_equal(left.len, 16);
    size_t at = 0, before = BL_PLAN_NO_CASE;
    for (size_t i = 0; i < plan.len; i++) {
        if (plan.items[i].case_index == 1)
            continue;
        assert_int_equal(left.items[at].case_index, plan.items[i].case_index);
        assert_int_equal(left.items[at].block, plan.items[i].block);
        assert_int_equal(left.items[at].position, plan.items[i].position);
        assert_int_equal(left.items[at].predecessor, before);
        before = left.items[at++].case_index;
    }
    bl_plan_clear(&left);
    bl_plan_clear(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_runs_once_a_block),
        cmocka_unit_test(a_seed_fixes_the_order_and_another_changes_it),
        cmocka_unit_test(lengthening_keeps_what_there_was),
        cmocka_unit_test(positions_and_followers_are_unbiased),
        cmocka_unit_test(all_orders_come_equally_often),
        cmocka_unit_test(what_remains_keeps_its_place),
        cmocka_unit_test(limits_and_lost_allocations),
        cmocka_unit_test(fresh_seeds_differ_and_fit_json),
        cmocka_unit_test(cases_that_are_left_out_leave_the_others_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
