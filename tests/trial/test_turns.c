/* Two programs that train in turn: never both at once, and nothing of them is left, or left stopped. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "telemetry/process_tree.h"
#include "trial/turns.h"

/* Marks a step as soon as the one before is marked; one clock for both. A child of the program does it, so that the
 * whole tree must be stopped. */
#define TRAIN                                                                                                          \
    "sleep $TAG & (while :; do echo \"{\\\"type\\\":\\\"step\\\",\\\"samples\\\":8,\\\"t_ns\\\":$(date +%s%N)}\" "     \
    ">&$BATCHLAB_FD; done) & wait"

static bl_launcher second;
static char tag[64];

typedef struct two {
    bl_trial_result results[2];
    bool ran[2];
    int code;
    bl_error err;
} two;

static void run_two(const char *a, const char *b, const bl_turns *turns, const bl_trial_spec *common, two *out)
{
    static int number;
    snprintf(tag, sizeof tag, "7%d%ld", 100 + number++, (long)getpid());
    setenv("TAG", tag, 1);
    char sh[] = "/bin/sh", c[] = "-c", *texts[] = {strdup(a), strdup(b)};
    assert_true(texts[0] && texts[1]);
    char *first[] = {sh, c, texts[0], NULL}, *other[] = {sh, c, texts[1], NULL};
    bl_trial_spec specs[2] = {common ? *common : (bl_trial_spec){0}, common ? *common : (bl_trial_spec){0}};
    specs[0].argv = first;
    specs[1].argv = other;
    specs[0].log_fd = specs[1].log_fd = -1;
    bl_launcher *launchers[] = {test_launcher(), &second};
    *out = (two){0};
    out->code = bl_turns_run(launchers, specs, turns, out->results, out->ran, &out->err);
    free(texts[0]);
    free(texts[1]);
    if (count_processes(tag) != 0)
        fail_msg("%d processes are left", count_processes(tag));
}

static void clear(two *t)
{
    bl_trial_result_clear(&t->results[0]);
    bl_trial_result_clear(&t->results[1]);
}

/* Stretches of steps whose time is known. */
static size_t count_windows(const bl_trial_result *r, size_t shortest)
{
    size_t n = 0, run = 0;
    for (size_t i = 0; i <= r->n_steps; i++) {
        bool timed = i < r->n_steps && r->steps[i].time_ns > 0;
        if (!timed && run >= shortest)
            n++;
        run = timed ? run + 1 : 0;
    }
    return n;
}

static double timed_s(const bl_trial_result *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_steps; i++)
        sum += r->steps[i].time_ns > 0 ? (double)r->steps[i].time_ns / 1e9 : 0;
    return sum;
}

static void no_timed_step_of_one_overlaps_one_of_the_other(void **state)
{
    two t;
    const bl_turns turns = {.steps = 3, .max_steps = 12, .min_rounds = 5, .order = 0x12};
    int64_t from_ns = bl_clock_ns();
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    double elapsed_s = (double)(bl_clock_ns() - from_ns) / 1e9;
    if (t.code != BL_OK)
        fail_msg("%s", t.err.message);
    /* The time in which one is stopped is none of its own: it holds all the other's steps. */
    for (int i = 0; i < 2; i++)
        assert_true(t.results[i].wall_s + timed_s(&t.results[1 - i]) <= elapsed_s);
    size_t n_compared = 0;
    for (size_t i = 0; i < t.results[0].n_steps; i++)
        for (size_t k = 0; k < t.results[1].n_steps; k++) {
            const bl_step *a = &t.results[0].steps[i], *b = &t.results[1].steps[k];
            if (a->time_ns <= 0 || b->time_ns <= 0)
                continue;
            n_compared++;
            assert_true(a->end_ns <= b->end_ns - b->time_ns || b->end_ns <= a->end_ns - a->time_ns);
        }
    assert_true(n_compared >= 100);
    for (int i = 0; i < 2; i++) {
        assert_true(t.ran[i]);
        assert_outcome(&t.results[i], BL_OUTCOME_OK);
        assert_true(t.results[i].ended_by_budget);
        /* The first turn of all has no step before it, so its first one has no time: two are left of three. */
        assert_true(count_windows(&t.results[i], 2) >= 5);
    }
    clear(&t);
}

static void both_have_equally_many_turns(void **state)
{
    two t;
    const bl_turns turns = {.steps = 2, .max_steps = 1, .min_rounds = 6, .order = 0x2A};
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    assert_int_equal(t.code, BL_OK);
    assert_int_equal(count_windows(&t.results[0], 1), 6);
    assert_int_equal(count_windows(&t.results[1], 1), 6);
    clear(&t);
}

static volatile sig_atomic_t interrupts;

static void interrupt_at_twenty(void *context, const bl_trial_progress *progress)
{
    if (progress->n_steps >= 20)
        interrupts = 1;
}

static void an_interrupt_ends_the_one_that_is_stopped_too(void **state)
{
    two t;
    const bl_turns turns = {.steps = 3, .max_steps = 100000, .min_rounds = 1};
    const bl_trial_spec spec = {.interrupt = &interrupts, .on_progress = interrupt_at_twenty};
    interrupts = 0;
    run_two(TRAIN, TRAIN, &turns, &spec, &t);
    assert_int_equal(t.code, BL_OK);
    for (int i = 0; i < 2; i++) {
        assert_outcome(&t.results[i], BL_OUTCOME_INTERRUPTED);
        assert_int_equal(t.results[i].exit_signal, SIGTERM); /* not by force */
    }
    clear(&t);
}

static void one_that_ends_by_itself_ends_the_pair(void **state)
{
    two t;
    static const char brief[] =
        "i=0; while [ $i -lt 9 ]; do i=$((i+1)); "
        "echo \"{\\\"type\\\":\\\"step\\\",\\\"samples\\\":8,\\\"t_ns\\\":$(date +%s%N)}\" >&$BATCHLAB_FD; done; exit ";
    char script[512];
    const bl_turns turns = {.steps = 2, .max_steps = 100000, .min_rounds = 1, .order = 2};
    snprintf(script, sizeof script, "%s0", brief);
    run_two(script, TRAIN, &turns, NULL, &t);
    assert_int_equal(t.code, BL_OK);
    assert_outcome(&t.results[0], BL_OUTCOME_OK);
    assert_outcome(&t.results[1], BL_OUTCOME_OK);
    assert_int_equal(t.results[0].n_steps, 9);
    clear(&t);
    snprintf(script, sizeof script, "%s3", brief);
    run_two(TRAIN, script, &turns, NULL, &t);
    assert_int_equal(t.code, BL_OK);
    assert_outcome(&t.results[0], BL_OUTCOME_OK);
    assert_outcome(&t.results[1], BL_OUTCOME_CRASHED);
    clear(&t);
}

static void where_the_first_fails_the_other_runs_alone(void **state)
{
    two t;
    const bl_turns turns = {.steps = 2, .max_steps = 8, .min_rounds = 4};
    run_two("exit 3", TRAIN, &turns, NULL, &t);
    assert_int_equal(t.code, BL_OK);
    assert_true(t.ran[0] && t.ran[1]);
    assert_outcome(&t.results[0], BL_OUTCOME_CRASHED);
    assert_outcome(&t.results[1], BL_OUTCOME_OK);
    assert_true(t.results[1].n_steps >= 8);
    assert_int_equal(count_windows(&t.results[1], 1), 1);
    clear(&t);
}

static void assert_refused(const two *t, bl_code code, const char *words)
{
    assert_int_equal(t->code, code);
    if (!strstr(t->err.message, words))
        fail_msg("'%s' is not in: %s", words, t->err.message);
    assert_non_null(strstr(t->err.remedy, "leave out --interleave"));
    assert_false(t->ran[0] || t->ran[1]);
}

static void a_silent_program_cannot_take_turns(void **state)
{
    two t;
    const bl_turns turns = {.steps = 2, .max_steps = 8, .min_rounds = 4};
    run_two("true", TRAIN, &turns, NULL, &t);
    assert_refused(&t, BL_ERR_USAGE, "tells no steps");
    clear(&t);
}

/* Something lets the program go on that was stopped: a process that is none of its own. */
static void one_that_is_woken_is_noticed(void **state)
{
    two t;
    const bl_turns turns = {.steps = 5, .max_steps = 100000, .min_rounds = 1};
    pid_t waker = fork();
    assert_true(waker >= 0);
    if (waker == 0) {
        for (;;) { /* all below both launchers */
            const pid_t roots[] = {test_launcher()->pid, second.pid};
            for (int i = 0; i < 2; i++) {
                bl_process_tree tree;
                bl_process_tree_init(&tree, "/proc");
                if (bl_process_tree_scan(&tree, roots[i], NULL) == BL_OK)
                    for (size_t k = 0; k < tree.len; k++)
                        kill(tree.pids[k], SIGCONT);
                bl_process_tree_clear(&tree);
            }
        }
    }
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    kill(waker, SIGKILL);
    waitpid(waker, NULL, 0);
    assert_int_equal(t.code, BL_ERR_ENV);
    if (!strstr(t.err.message, "cannot be stopped") && !strstr(t.err.message, "stand still") &&
        !strstr(t.err.message, "marks steps while"))
        fail_msg("%s", t.err.message);
    clear(&t);
}

static char root[] = "/tmp/batchlab-test-XXXXXX";

static void write_below(const char *path, const char *text)
{
    char full[4096];
    snprintf(full, sizeof full, "%s%s", root, path);
    char *slash = strrchr(full, '/');
    *slash = '\0';
    assert_int_equal(bl_fs_mkdirs(full, NULL), BL_OK);
    *slash = '/';
    assert_int_equal(bl_fs_replace(full, text, strlen(text), NULL), BL_OK);
}

/* What /proc of the fixture says of the launcher's only child. */
static void what_cannot_take_turns_is_refused(void **state)
{
    two t;
    char path[512], full[1024];
    const bl_turns turns = {.steps = 2, .max_steps = 8, .min_rounds = 4};
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)test_launcher()->pid, (long)test_launcher()->pid);
    write_below(path, "4242 ");
    write_below("/proc/4242/status", "Name:\tpython3\nVmHWM:\t 900000 kB\nVmRSS:\t 800000 kB\n");
    write_below("/proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable:  700000 kB\n");
    test_launcher()->root = root;
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    assert_refused(&t, BL_ERR_ENV, "one holds 781 MiB, and 683 MiB are left");
    clear(&t);
    write_below("/proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable:  900000 kB\n");
    write_below("/proc/4242/fd/x", "");
    snprintf(full, sizeof full, "%s/proc/4242/fd/5", root);
    assert_int_equal(symlink("/dev/nvidia0", full), 0);
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    assert_refused(&t, BL_ERR_ENV, "has /dev/nvidia0 open");
    clear(&t);
    unlink(full);
    assert_int_equal(symlink("/dev/null", full), 0);
    run_two(TRAIN, TRAIN, &turns, NULL, &t);
    assert_int_equal(t.code, BL_OK);
    clear(&t);
    test_launcher()->root = NULL;
}

static int set_up(void **state)
{
    return start_test_launcher(state) || !mkdtemp(root) ||
           bl_launcher_start_beside(test_launcher(), &second, NULL) != BL_OK;
}

static int tear_down(void **state)
{
    bl_fs_remove_tree(root, NULL);
    bl_launcher_stop(&second);
    return stop_test_launcher(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_timed_step_of_one_overlaps_one_of_the_other),
        cmocka_unit_test(both_have_equally_many_turns),
        cmocka_unit_test(an_interrupt_ends_the_one_that_is_stopped_too),
        cmocka_unit_test(one_that_ends_by_itself_ends_the_pair),
        cmocka_unit_test(where_the_first_fails_the_other_runs_alone),
        cmocka_unit_test(a_silent_program_cannot_take_turns),
        cmocka_unit_test(one_that_is_woken_is_noticed),
        cmocka_unit_test(what_cannot_take_turns_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
