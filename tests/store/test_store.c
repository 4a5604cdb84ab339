#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static void load(bl_store *store, int64_t id, bl_arena *arena, bl_experiment *out)
{
    bl_arena_init(arena);
    bl_error err = {0};
    if (bl_store_load(store, id, true, arena, out, &err) != BL_OK)
        fail_msg("%s", err.message);
}

static void an_experiment_comes_back_as_it_was_stored(void **state)
{
    fixture *f = *state;
    const bl_experiment *put = fixture_experiment();
    int64_t id = fixture_begin(f->store);
    bl_arena arena;
    bl_experiment got;
    load(f->store, id, &arena, &got);
    assert_true(got.id == id && got.state == BL_EXPERIMENT_RUNNING && got.held);
    assert_string_equal(got.name, put->name);
    assert_string_equal(got.workload, put->workload);
    assert_string_equal(got.cwd, put->cwd);
    assert_string_equal(got.git_revision, put->git_revision);
    assert_string_equal(got.samples, put->samples);
    assert_string_equal(got.version, BATCHLAB_VERSION);
    assert_true(got.n_command == 4 && got.command[4] == NULL);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(got.command[i], put->command[i]); /* one of them is no UTF-8 */
    assert_true(got.shell && !got.batch_from_env);
    assert_true(got.blocks == 5 && got.steps == 50 && got.warmup == 3 && got.seed == 7);
    assert_true(got.time_s == 60 && got.setup_s == 600 && got.margin == 0.01);
    assert_true(got.n_factors == 2 && bl_experiment_n_cases(&got) == 6);
    assert_string_equal(bl_experiment_value(&got, 4, 0), "64");
    assert_string_equal(bl_experiment_value(&got, 4, 1), "1");
    assert_true(got.n_trials == 0);
    bl_arena_clear(&arena);
}

static void a_comparison_comes_back_with_its_pairs(void **state)
{
    fixture *f = *state;
    bl_stored_pair pairs[] = {{1, 0}, {1, 2}, {1, 5}};
    bl_experiment put = *fixture_experiment();
    put.comparison = (bl_comparison){.confidence = 0.9, .budget_s = 90, .pairs = pairs, .n_pairs = 3};
    bl_arena arena;
    bl_experiment got;
    int64_t plain = fixture_begin(f->store), id = 0;
    load(f->store, plain, &arena, &got); /* before there was any comparison */
    assert_true(got.comparison.n_pairs == 0);
    bl_arena_clear(&arena);
    assert_int_equal(bl_store_begin(f->store, &put, &id, NULL), BL_OK);
    load(f->store, id, &arena, &got);
    assert_true(got.comparison.n_pairs == 3 && got.comparison.confidence == 0.9 && got.comparison.budget_s == 90);
    assert_true(got.comparison.pairs[2].a == 1 && got.comparison.pairs[2].b == 5);
    bl_arena_clear(&arena);
    load(f->store, plain, &arena, &got);
    assert_true(got.comparison.n_pairs == 0);
    bl_arena_clear(&arena);
    put.comparison.budget_s = NAN;
    assert_int_equal(bl_store_begin(f->store, &put, &id, NULL), BL_OK);
    load(f->store, id, &arena, &got);
    assert_true(isnan(got.comparison.budget_s));
    bl_arena_clear(&arena);
    assert_int_equal(bl_store_end(f->store, id, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
    assert_int_equal(bl_store_delete(f->store, id, NULL), BL_OK); /* its pairs go with it */
    put.comparison.confidence = 2;
    assert_int_equal(bl_store_begin(f->store, &put, &id, NULL), BL_ERR_IO);
}

static void a_trial_comes_back_with_its_raw_steps(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store), trial_id = 0;
    bl_trial_record put = fixture_trial(2, 5, 7);
    assert_int_equal(bl_store_add_trial(f->store, id, &put, &trial_id, NULL), BL_OK);
    bl_arena arena;
    bl_experiment e;
    load(f->store, id, &arena, &e);
    assert_true(e.n_trials == 1);
    const bl_trial_record *got = &e.trials[0];
    assert_true(got->id == trial_id && got->block == 2 && got->case_index == 5 && got->position == 1);
    assert_true(got->predecessor == -1 && got->started_ns == put.started_ns);
    assert_true(got->wall_s == 1.5 && got->user_s == 1.25 && got->system_s == 0.125);
    assert_true(got->peak_memory_b == 1 << 20 && isnan(got->run_samples));
    assert_null(got->reason);
    assert_null(got->cpu_note);
    assert_string_equal(got->memory_note, put.memory_note);
    assert_string_equal(got->output_tail, put.output_tail);
    assert_true(got->n_steps == 7);
    for (size_t i = 0; i < 7; i++) {
        assert_true(got->steps[i].samples == 32 && got->steps[i].end_ns == put.steps[i].end_ns);
        assert_true(got->steps[i].time_ns == put.steps[i].time_ns && got->steps[i].wait_ns == put.steps[i].wait_ns);
        assert_true(got->steps[i].loss == put.steps[i].loss || (isnan(got->steps[i].loss) && isnan(put.steps[i].loss)));
    }
    assert_true(got->n_memory == 1 && got->memory[0].value == 4096);
    assert_string_equal(got->step_source, "markers");
    assert_string_equal(got->step_note, "as told");
    assert_string_equal(got->phase, "train");
    assert_null(got->memory_kind);
    assert_int_equal(got->n_evidence, 2);
    assert_string_equal(got->evidence[1].source, "output");
    assert_string_equal(got->evidence[1].text, "nothing");
    assert_true(got->evidence[1].decided && !got->evidence[0].decided);
    assert_true(got->n_metrics == 1 && got->metrics[0].value == 0.5 && got->metrics[0].t_ns == 77);
    bl_arena_clear(&arena);
    free(put.steps);
}

static void gradients_noise_comes_back_where_there_was_some(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    bl_stored_noise noise[] = {{3, {8, 64, 0.5, 0.25}, false, 77}, {3, {8, 64, 12.5, 0}, true, 0}};
    bl_trial_record put = fixture_trial(0, 0, 1);
    bl_arena arena;
    bl_experiment e;
    fixture_add_trial(f->store, id, 1, 0, 1);
    load(f->store, id, &arena, &e); /* before any trial measured some */
    assert_true(e.trials[0].n_noise == 0);
    bl_arena_clear(&arena);
    put.noise = noise;
    put.n_noise = 2;
    assert_int_equal(bl_store_add_trial(f->store, id, &put, NULL, NULL), BL_OK);
    load(f->store, id, &arena, &e);
    assert_true(e.trials[0].n_noise == 0 && e.trials[1].n_noise == 2);
    const bl_stored_noise *got = e.trials[1].noise;
    assert_true(got[0].after_steps == 3 && !got[0].scaled && got[0].t_ns == 77 && got[0].norms.big_n == 64);
    assert_true(got[1].scaled && got[1].t_ns == 0 && got[1].norms.small_sq == 12.5 && got[1].norms.big_sq == 0);
    bl_arena_clear(&arena);
    put.block = 2;
    noise[0].norms.big_n = 8;
    assert_int_equal(bl_store_add_trial(f->store, id, &put, NULL, NULL), BL_ERR_IO);
    free(put.steps);
    assert_int_equal(bl_store_end(f->store, id, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
    assert_int_equal(bl_store_delete(f->store, id, NULL), BL_OK);
    assert_int_equal(fixture_query(f, "SELECT count(*) FROM noise"), 0);
}

static void values_of_metrics_come_back_in_order(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    bl_stored_point points[] = {{"top1", 10, 0.25, 77}, {"test_loss", 10, NAN, 0}, {"top1", 20, 0.5, 99}};
    bl_trial_record put = fixture_trial(0, 0, 1);
    bl_arena arena;
    bl_experiment e;
    fixture_add_trial(f->store, id, 1, 0, 1);
    load(f->store, id, &arena, &e); /* before any trial told one */
    assert_true(e.trials[0].n_points == 0);
    bl_arena_clear(&arena);
    put.points = points;
    put.n_points = 3;
    assert_int_equal(bl_store_add_trial(f->store, id, &put, NULL, NULL), BL_OK);
    load(f->store, id, &arena, &e);
    assert_true(e.trials[0].n_points == 0 && e.trials[1].n_points == 3);
    const bl_stored_point *got = e.trials[1].points;
    assert_string_equal(got[0].name, "top1");
    assert_true(got[0].after_steps == 10 && got[0].value == 0.25 && got[0].t_ns == 77);
    assert_string_equal(got[1].name, "test_loss");
    assert_true(isnan(got[1].value) && got[1].t_ns == 0);
    assert_true(got[2].after_steps == 20 && got[2].value == 0.5);
    bl_arena_clear(&arena);
    free(put.steps);
    assert_int_equal(bl_store_end(f->store, id, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
    assert_int_equal(bl_store_delete(f->store, id, NULL), BL_OK);
    assert_int_equal(fixture_query(f, "SELECT count(*) FROM metric_point"), 0);
}

static void what_is_missing_is_null_and_not_zero(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    bl_trial_record t = fixture_trial(0, 0, 1);
    t.wall_s = t.user_s = t.system_s = t.peak_memory_b = NAN;
    t.steps[0].loss = INFINITY;
    t.ranks = 0;
    t.output_tail = "broken \xc3( \xf0\x9f\x99\x82 end"; /* a lone lead byte, and a sound sequence */
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    assert_true(fixture_query(f, "SELECT count(*) FROM trial WHERE wall_s IS NULL AND user_s IS NULL AND system_s IS "
                                 "NULL AND peak_memory_b IS NULL AND ranks IS NULL AND predecessor IS NULL") == 1);
    assert_true(fixture_query(f, "SELECT count(*) FROM step WHERE loss IS NULL AND time_ns IS NULL AND wait_ns IS "
                                 "NULL") == 1);
    bl_arena arena;
    bl_experiment e;
    load(f->store, id, &arena, &e);
    assert_true(isnan(e.trials[0].wall_s) && isnan(e.trials[0].peak_memory_b) && isnan(e.trials[0].steps[0].loss));
    assert_string_equal(e.trials[0].output_tail, "broken ?( \xf0\x9f\x99\x82 end");
    bl_arena_clear(&arena);
    free(t.steps);
}

static void a_case_counts_once_a_block_unless_interrupted(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    bl_trial_record t = fixture_trial(0, 0, 3);
    t.outcome = "interrupted";
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    t.outcome = "crashed";
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    t.outcome = "ok";
    bl_error err = {0};
    assert_int_equal(bl_store_add_trial(f->store, id, &t, NULL, &err), BL_ERR_IO);
    assert_true(fixture_query(f, "SELECT count(*) FROM trial") == 3);
    assert_true(fixture_query(f, "SELECT count(*) FROM step") == 9);
    t.outcome = "splendid"; /* no such outcome */
    t.block = 1;
    assert_int_not_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    t.outcome = "ok"; /* no such experiment */
    assert_int_not_equal(bl_store_add_trial(f->store, id + 1, &t, NULL, NULL), BL_OK);
    t.steps[1].samples = 0; /* the trial goes in with all its steps or not at all */
    assert_int_not_equal(bl_store_add_trial(f->store, id, &t, NULL, NULL), BL_OK);
    assert_true(fixture_query(f, "SELECT count(*) FROM trial") == 3);
    free(t.steps);
}

static void lists_and_states(void **state)
{
    fixture *f = *state;
    int64_t id = 0;
    bl_error err = {0};
    assert_int_equal(bl_store_latest(f->store, false, &id, &err), BL_ERR_USAGE);
    int64_t first = fixture_begin(f->store), second = fixture_begin(f->store);
    assert_true(second > first);
    fixture_add_trial(f->store, second, 0, 0, 3);
    bl_trial_record t = fixture_trial(0, 1, 0);
    t.outcome = "crashed";
    assert_int_equal(bl_store_add_trial(f->store, second, &t, NULL, NULL), BL_OK);
    free(t.steps);
    assert_int_equal(bl_store_end(f->store, second, BL_EXPERIMENT_FINISHED, NULL), BL_OK);
    assert_int_equal(bl_store_latest(f->store, false, &id, NULL), BL_OK);
    assert_true(id == second);
    assert_int_equal(bl_store_latest(f->store, true, &id, NULL), BL_OK);
    assert_true(id == first);
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment_summary *list;
    size_t n = 0;
    assert_int_equal(bl_store_list(f->store, &arena, &list, &n, NULL), BL_OK);
    assert_true(n == 2 && list[0].id == first && list[1].id == second);
    assert_true(list[0].state == BL_EXPERIMENT_RUNNING && list[0].held);
    assert_true(list[1].state == BL_EXPERIMENT_FINISHED && !list[1].held);
    assert_true(list[1].n_cases == 6 && list[1].blocks == 5 && list[1].n_done == 2 && list[1].n_ok == 1);
    bl_arena_clear(&arena);
    assert_int_equal(bl_store_end(f->store, first, BL_EXPERIMENT_INTERRUPTED, NULL), BL_OK);
    assert_int_equal(bl_store_claim(f->store, first, 9, NULL), BL_OK);
    assert_true(fixture_query(f, "SELECT blocks FROM experiment WHERE id = 1") == 9);
    assert_int_equal(bl_store_claim(f->store, first, 2, NULL), BL_OK); /* never fewer */
    assert_true(fixture_query(f, "SELECT blocks FROM experiment WHERE id = 1") == 9);
}

static void deleting_takes_all_that_belongs_to_it_and_no_more(void **state)
{
    fixture *f = *state;
    int64_t first = fixture_begin(f->store), second = fixture_begin(f->store);
    fixture_add_trial(f->store, first, 0, 0, 5);
    fixture_add_trial(f->store, second, 0, 0, 7);
    bl_error err = {0};
    assert_int_equal(bl_store_delete(f->store, first, NULL), BL_OK);
    assert_int_equal(bl_store_delete(f->store, first, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "no experiment 1"));
    assert_true(fixture_query(f, "SELECT count(*) FROM step") == 7);
    assert_true(fixture_query(f, "SELECT count(*) FROM factor_value") == 5);
    assert_true(fixture_query(f, "SELECT count(*) FROM metric") == 1);
    assert_string_equal(fixture_integrity(f), "ok");
    assert_true(fixture_begin(f->store) > second); /* numbers are not given again */
    bl_arena arena;
    bl_experiment e;
    load(f->store, second, &arena, &e);
    assert_true(e.n_trials == 1 && e.trials[0].n_steps == 7);
    assert_int_equal(bl_store_load(f->store, first, true, &arena, &e, NULL), BL_ERR_USAGE);
    bl_arena_clear(&arena);
}

static void environments_are_kept_for_each_sitting(void **state)
{
    fixture *f = *state;
    int64_t id = fixture_begin(f->store);
    bl_environment_item items[] = {{.name = "cpu", .value = "a CPU", .source = "/proc/cpuinfo"},
                                   {.name = "governor", .source = "/sys", .reason = "not readable"}};
    bl_environment environment = {items, 2};
    assert_int_equal(bl_store_add_environment(f->store, id, &environment, NULL), BL_OK);
    items[0].value = "another CPU";
    assert_int_equal(bl_store_add_environment(f->store, id, &environment, NULL), BL_OK);
    bl_arena arena;
    bl_experiment e;
    load(f->store, id, &arena, &e);
    assert_true(e.environment.len == 4);
    assert_true(e.environment.items[0].sitting == 0 && e.environment.items[1].sitting == 0);
    assert_true(e.environment.items[2].sitting == 1 && e.environment.items[3].sitting == 1);
    assert_string_equal(e.environment.items[2].value, "another CPU");
    assert_null(e.environment.items[3].value);
    assert_string_equal(e.environment.items[3].reason, "not readable");
    bl_arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_experiment_comes_back_as_it_was_stored, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_comparison_comes_back_with_its_pairs, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_trial_comes_back_with_its_raw_steps, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(gradients_noise_comes_back_where_there_was_some, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(values_of_metrics_come_back_in_order, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_null_and_not_zero, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_case_counts_once_a_block_unless_interrupted, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(lists_and_states, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(deleting_takes_all_that_belongs_to_it_and_no_more, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(environments_are_kept_for_each_sitting, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
