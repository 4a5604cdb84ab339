/* Trials that ran on nodes of a cluster, and experiments that travel as bytes. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static void load(bl_store *store, int64_t id, bl_arena *arena, bl_experiment *out)
{
    bl_arena_init(arena);
    bl_error err = {0};
    if (bl_store_load(store, id, true, arena, out, &err) != BL_OK)
        fail_msg("%s", err.message);
}

static void add(bl_store *store, int64_t id, size_t block, size_t case_index, const char *node, const char *step)
{
    bl_trial_record put = fixture_trial(block, case_index, 3);
    put.node = node;
    put.job_step = step;
    assert_int_equal(bl_store_add_trial(store, id, &put, NULL, NULL), BL_OK);
    free(put.steps);
}

static void nodes_come_back_with_their_trials_alone(void **state)
{
    fixture *f = *state;
    bl_arena arena;
    bl_experiment e;
    int64_t other = fixture_begin(f->store), id = fixture_begin(f->store);
    add(f->store, id, 0, 0, NULL, NULL);
    load(f->store, id, &arena, &e); /* before any trial ran elsewhere */
    assert_null(e.trials[0].node);
    bl_arena_clear(&arena);
    add(f->store, other, 0, 0, "n9", NULL);
    add(f->store, id, 1, 0, "n1", "12.3");
    add(f->store, other, 0, 1, "n8", "1.0");
    add(f->store, id, 1, 1, NULL, NULL);
    add(f->store, id, 1, 2, "n2", NULL);
    load(f->store, id, &arena, &e);
    assert_int_equal(e.n_trials, 4);
    assert_null(e.trials[0].node);
    assert_string_equal(e.trials[1].node, "n1");
    assert_string_equal(e.trials[1].job_step, "12.3");
    assert_null(e.trials[2].node);
    assert_string_equal(e.trials[3].node, "n2");
    assert_null(e.trials[3].job_step);
    int64_t copy = 0; /* a copy keeps them */
    assert_int_equal(bl_store_put(f->store, &e, &copy, NULL), BL_OK);
    bl_arena_clear(&arena);
    load(f->store, copy, &arena, &e);
    assert_string_equal(e.trials[3].node, "n2");
    bl_arena_clear(&arena);
    assert_int_equal(bl_store_end(f->store, id, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
    assert_int_equal(bl_store_delete(f->store, id, NULL), BL_OK);
    assert_int_equal(fixture_query(f, "SELECT count(*) FROM placement WHERE node IN ('n1', 'n2')"), 2); /* the copy's */
    assert_string_equal(fixture_integrity(f), "ok");
}

static void a_block_set_aside_counts_no_more_and_runs_again(void **state)
{
    fixture *f = *state;
    bl_arena arena;
    bl_experiment e;
    int64_t id = fixture_begin(f->store), other = fixture_begin(f->store);
    add(f->store, other, 1, 0, "n1", NULL);
    add(f->store, id, 0, 0, "n1", NULL);
    add(f->store, id, 1, 0, "n1", NULL);
    add(f->store, id, 1, 1, "n1", NULL);
    assert_int_equal(bl_store_set_aside(f->store, id, 1, "node n1 was lost", NULL), BL_OK);
    add(f->store, id, 1, 0, "n2", NULL); /* it would be refused while the first one counted */
    load(f->store, id, &arena, &e);
    assert_int_equal(e.n_trials, 4);
    static const char *const outcomes[] = {"ok", "interrupted", "interrupted", "ok"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(e.trials[i].outcome, outcomes[i]);
    assert_string_equal(e.trials[1].reason, "node n1 was lost (it was ok)");
    assert_int_equal(e.trials[1].n_steps, 3); /* what was measured is kept */
    bl_arena_clear(&arena);
    load(f->store, other, &arena, &e);
    assert_string_equal(e.trials[0].outcome, "ok");
    bl_arena_clear(&arena);
}

static void an_experiment_travels_as_bytes(void **state)
{
    (void)state;
    bl_store *memory = NULL, *arrived = NULL;
    void *bytes = NULL;
    size_t n = 0;
    bl_arena arena;
    bl_experiment e;
    assert_int_equal(bl_store_new(&memory, NULL), BL_OK);
    int64_t id = fixture_begin(memory);
    assert_int_equal(bl_store_to_bytes(memory, &bytes, &n, NULL), BL_OK);
    bl_store_close(memory);
    assert_int_equal(bl_store_from_bytes(bytes, n, &arrived, NULL), BL_OK);
    free(bytes);
    add(arrived, id, 2, 5, "n1", "7.0"); /* more than it came with */
    assert_int_equal(bl_store_to_bytes(arrived, &bytes, &n, NULL), BL_OK);
    bl_store_close(arrived);
    assert_int_equal(bl_store_from_bytes(bytes, n, &arrived, NULL), BL_OK);
    load(arrived, id, &arena, &e);
    assert_string_equal(e.name, fixture_experiment()->name);
    assert_int_equal(e.n_trials, 1);
    assert_int_equal(e.trials[0].n_steps, 3);
    assert_string_equal(e.trials[0].node, "n1");
    bl_arena_clear(&arena);
    bl_store_close(arrived);
    /* Cut short, of another program, and none at all. */
    bl_error err = {0};
    assert_int_not_equal(bl_store_from_bytes(bytes, n / 2, &arrived, &err), BL_OK);
    assert_null(arrived);
    assert_true(strlen(err.message) > 0);
    memset((char *)bytes + 68, 0, 4); /* the application id */
    assert_int_not_equal(bl_store_from_bytes(bytes, n, &arrived, NULL), BL_OK);
    assert_int_not_equal(bl_store_from_bytes("no database", 11, &arrived, NULL), BL_OK);
    assert_int_not_equal(bl_store_from_bytes("", 0, &arrived, NULL), BL_OK);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_come_back_with_their_trials_alone, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_block_set_aside_counts_no_more_and_runs_again, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_experiment_travels_as_bytes, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
