/* Whole trials: real processes under a real launcher. */
#include "run.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define READY "echo '{\"type\":\"ready\",\"t_ns\":1000}' >&$BATCHLAB_FD;"
#define STEPS(n, more)                                                                                                 \
    "i=1; while [ $i -le " #n " ]; do echo '{\"type\":\"step\",\"samples\":8,\"t_ns\":'$((1000+i*1000000))'}' "        \
    ">&$BATCHLAB_FD; i=$((i+1)); " more " done;"

static void a_silent_program_is_timed_whole(void **state)
{
    bl_trial_result r;
    run_shell("echo out; echo err >&2; sleep 0.1", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.step_source, BL_STEPS_NONE);
    assert_true(r.wall_s >= 0.1);
    assert_string_equal(bl_str_text(&r.output_tail), "out\nerr\n");
    assert_int_equal(r.output_b, 8);
    assert_true(r.user_s.known && r.system_s.known && r.peak_memory_b.known);
    assert_true(r.started_wall_ns > 0 && r.started_ns > 0);
    bl_trial_result_clear(&r);
}

static void marked_steps_arrive_in_order(void **state)
{
    bl_trial_result r;
    run_shell(READY STEPS(20, ""), NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.step_source, BL_STEPS_MARKERS);
    assert_int_equal(r.markers.n_steps, 20);
    assert_int_equal(r.markers.samples, 160);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(r.markers.steps[i].time_ns, 1000000);
        assert_int_equal(r.markers.steps[i].end_ns, 1000 + (int64_t)(i + 1) * 1000000);
    }
    bl_trial_result_clear(&r);
}

static void the_step_budget_ends_a_trial_well(void **state)
{
    bl_trial_spec spec = {.max_steps = 5};
    bl_trial_result r;
    run_shell(READY STEPS(100000, "sleep 0.01;"), &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(r.ended_by_budget);
    assert_true(r.markers.n_steps >= 5 && r.markers.n_steps < 1000);
    assert_int_equal(r.exit_signal, SIGTERM);
    bl_trial_result_clear(&r);
}

static void the_time_budget_ends_a_program_that_ignores_sigterm(void **state)
{
    bl_trial_spec spec = {.time_s = 0.2, .grace_s = 0.2};
    bl_trial_result r;
    /* t_ns of a marker is on the monotonic clock, so that "now" comes from there. */
    run_shell("trap '' TERM; now=$(awk '{printf \"%d\", $1 * 1000000000}' /proc/uptime);"
              "echo '{\"type\":\"ready\",\"t_ns\":'$now'}' >&$BATCHLAB_FD;"
              "echo '{\"type\":\"step\",\"samples\":1,\"t_ns\":'$((now+1))'}' >&$BATCHLAB_FD;"
              "while :; do sleep 0.05; done",
              &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(r.ended_by_budget);
    assert_int_equal(r.exit_signal, SIGKILL);
    bl_trial_result_clear(&r);
}

static void a_program_without_steps_is_given_up(void **state)
{
    bl_trial_spec spec = {.setup_s = 0.2};
    bl_trial_result r;
    run_shell("sleep 1000", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_TIMED_OUT);
    assert_non_null(strstr(bl_str_text(&r.decision.reason), "0.2 s"));
    bl_trial_result_clear(&r);
}

static void failures_are_told_apart(void **state)
{
    static const struct {
        const char *script;
        bl_outcome outcome;
        const char *reason;
    } rows[] = {
        {"echo what went wrong >&2; exit 3", BL_OUTCOME_CRASHED, "exit status 3: what went wrong"},
        {"kill -SEGV $$", BL_OUTCOME_CRASHED, "killed by signal 11 (SIGSEGV)"},
        {"echo 'CUDA out of memory' >&2; echo '{\"type\":\"step\",\"samples\":1,\"t_ns\":9}' >&$BATCHLAB_FD",
         BL_OUTCOME_OK, ""},
        {"echo 'ValueError: Expected more than 1 value per channel when training' >&2; exit 1", BL_OUTCOME_LIMIT,
         "more than 1 value"},
        {"echo 'RuntimeError: CUDNN_STATUS_EXECUTION_FAILED' >&2; exit 1", BL_OUTCOME_AMBIGUOUS, "perhaps memory"},
        {"echo 'bus error encountered in worker: insufficient shared memory' >&2; exit 1", BL_OUTCOME_OUT_OF_MEMORY,
         "/dev/shm"},
        {"echo 'Watchdog caught collective operation timeout' >&2; exit 1", BL_OUTCOME_TIMED_OUT, "in vain"},
        {"sh -c 'kill -SEGV $$'; exit 139", BL_OUTCOME_CRASHED, "exit status 139"},
        {"echo 'torch.OutOfMemoryError: CUDA out of memory. Tried' >&2; exit 1", BL_OUTCOME_OUT_OF_MEMORY,
         "accelerator"},
        {"echo '{\"type\":\"oom\",\"bytes\":1048576}' >&$BATCHLAB_FD; exit 1", BL_OUTCOME_OUT_OF_MEMORY, "1.0 MiB"},
        {"echo '{\"type\":\"hello\",\"version\":1}' >&$BATCHLAB_FD", BL_OUTCOME_INVALID, "no training step"},
        {"echo '{\"type\":\"hello\",\"batch\":7}' >&$BATCHLAB_FD", BL_OUTCOME_INVALID, "trains with 7"},
        {"echo nonsense >&$BATCHLAB_FD", BL_OUTCOME_INVALID, "none of the 1 lines"},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++) {
        bl_trial_spec spec = {.batch = 8};
        bl_trial_result r;
        run_shell(rows[i].script, &spec, &r);
        assert_outcome(&r, rows[i].outcome);
        if (!strstr(bl_str_text(&r.decision.reason), rows[i].reason))
            fail_msg("'%s' does not say '%s'", bl_str_text(&r.decision.reason), rows[i].reason);
        bl_trial_result_clear(&r);
    }
}

/* Whether the kernel's counts can be read here decides between the two; never is it believed to be memory. */
static void a_kill_that_was_not_the_kernels_is_no_want_of_memory(void **state)
{
    bl_trial_result r;
    run_shell("kill -KILL $$", NULL, &r);
    assert_true(r.decision.outcome == BL_OUTCOME_CRASHED || r.decision.outcome == BL_OUTCOME_AMBIGUOUS);
    assert_int_equal(r.exit_signal, SIGKILL);
    bl_trial_result_clear(&r);
}

static void what_was_said_before_the_training_went_on_is_not_the_cause(void **state)
{
    bl_trial_result r;
    run_shell(READY "echo 'CUDA out of memory, trying less'; sleep 0.5;" STEPS(5, "sleep 0.05;") "exit 1", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_CRASHED);
    bl_trial_result_clear(&r);
    run_shell(
        READY STEPS(5, "") "sleep 0.5; echo '{\"type\":\"phase\",\"name\":\"eval\",\"t_ns\":9000000}' >&$BATCHLAB_FD;"
                           "echo 'CUDA out of memory'; exit 1",
        NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_DEVICE);
    assert_string_equal(r.phase, "eval");
    assert_non_null(strstr(bl_str_text(&r.decision.reason), "in phase eval after 5 steps"));
    bl_trial_result_clear(&r);
}

static void an_ambiguous_end_is_tried_once_more(void **state)
{
    char folder[] = "/tmp/batchlab-test-XXXXXX", script[512];
    assert_non_null(mkdtemp(folder));
    snprintf(script, sizeof script,
             "cd %s; echo >>runs; [ $(wc -l <runs) -ge 2 ] && { echo 'HIP out of memory' >&2; exit 1; };"
             "echo CUBLAS_STATUS_NOT_INITIALIZED >&2; exit 1",
             folder);
    bl_trial_result r;
    run_shell(script, NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    const bl_evidence *e = &r.decision.evidence;
    assert_string_equal(e->items[e->n - 1].source, "first run");
    bl_trial_result_clear(&r);
    /* Twice is all: a third run would have succeeded. */
    snprintf(
        script, sizeof script,
        "cd %s; rm -f runs; echo >>more; [ $(wc -l <more) -ge 3 ] && exit 0; echo CUDNN_STATUS_INTERNAL_ERROR; exit 1",
        folder);
    run_shell(script, NULL, &r);
    assert_outcome(&r, BL_OUTCOME_AMBIGUOUS);
    bl_trial_result_clear(&r);
    snprintf(script, sizeof script, "rm -r %s", folder);
    run_shell(script, NULL, &r);
    bl_trial_result_clear(&r);
}

static volatile sig_atomic_t interrupt_level;

static void interrupt_at_first_step(void *context, const bl_trial_progress *progress)
{
    if (progress->n_steps > 0)
        interrupt_level = *(int *)context;
}

static void an_interrupt_ends_a_trial_and_keeps_its_steps(void **state)
{
    for (int level = 1; level <= 2; level++) {
        interrupt_level = 0;
        bl_trial_spec spec = {.interrupt = &interrupt_level, .on_progress = interrupt_at_first_step, .context = &level};
        bl_trial_result r;
        run_shell("trap 'exit 0' TERM;" READY STEPS(100000, "sleep 0.01;"), &spec, &r);
        assert_outcome(&r, BL_OUTCOME_INTERRUPTED);
        assert_true(r.markers.n_steps > 0);
        assert_int_equal(r.exit_signal, level == 1 ? 0 : SIGKILL);
        bl_trial_result_clear(&r);
    }
}

static void no_descendant_outlives_a_trial(void **state)
{
    bl_trial_result r;
    char tag[64], script[512];
    snprintf(tag, sizeof tag, "97%ld", (long)getpid()); /* an argument of sleep that nobody else uses */
    snprintf(script, sizeof script,
             "sleep %s & setsid sleep %s & (setsid sh -c 'trap \"\" TERM HUP INT; (sleep %s & wait) & wait' &) ; "
             "sleep 0.2",
             tag, tag, tag);
    run_shell(script, NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(count_processes(tag), 0);
    bl_trial_result_clear(&r);
}

static void nothing_outlives_a_lab_that_is_killed(void **state)
{
    char tag[64], script[256];
    snprintf(tag, sizeof tag, "98%ld", (long)getpid());
    snprintf(script, sizeof script, "setsid sleep %s & sleep %s", tag, tag);
    pid_t lab = fork();
    if (lab == 0) {
        bl_launcher launcher;
        bl_trial_result r;
        char sh[] = "sh", c[] = "-c";
        char *argv[] = {sh, c, script, NULL};
        bl_trial_spec spec = {.argv = argv, .log_fd = -1};
        if (bl_launcher_start(&launcher, NULL) == BL_OK)
            bl_trial_run(&launcher, &spec, &r, NULL);
        _exit(0);
    }
    assert_true(wait_for_processes(tag, true));
    kill(lab, SIGKILL);
    waitpid(lab, NULL, 0);
    assert_true(wait_for_processes(tag, false));
}

static void the_launchers_death_is_an_error(void **state)
{
    bl_launcher launcher;
    assert_int_equal(bl_launcher_start(&launcher, NULL), BL_OK);
    kill(launcher.pid, SIGKILL);
    char true_name[] = "true";
    char *argv[] = {true_name, NULL};
    bl_trial_spec spec = {.argv = argv, .log_fd = -1};
    bl_trial_result r;
    bl_error err = {0};
    assert_int_equal(bl_trial_run(&launcher, &spec, &r, &err), BL_ERR_INTERNAL);
    assert_non_null(strstr(err.message, "launcher"));
    bl_trial_result_clear(&r);
    bl_launcher_stop(&launcher);
}

static void commands_that_cannot_be_started_are_errors(void **state)
{
    static const struct {
        const char *command, *cwd, *message;
    } rows[] = {{"no-such-command-here", NULL, "command not found: 'no-such-command-here'"},
                {"/no/such/file", NULL, "'/no/such/file'"},
                {"/etc/passwd", NULL, "not executable"},
                {"true", "/no/such/folder", "cannot enter the folder '/no/such/folder'"}};
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++) {
        char command[64];
        snprintf(command, sizeof command, "%s", rows[i].command);
        char *argv[] = {command, NULL};
        bl_trial_spec spec = {.argv = argv, .cwd = rows[i].cwd, .log_fd = -1};
        bl_trial_result r;
        bl_error err = {0};
        assert_int_equal(bl_trial_run(test_launcher(), &spec, &r, &err), BL_ERR_ENV);
        if (!strstr(err.message, rows[i].message))
            fail_msg("'%s' does not say '%s'", err.message, rows[i].message);
        bl_trial_result_clear(&r);
    }
    bl_trial_result r; /* and the launcher still serves */
    run_shell("exit 0", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
}

static void arguments_and_environment_arrive_untouched(void **state)
{
    char printf_name[] = "printf", format[] = "[%s]", odd[] = "a b;$HOME `x` \"q\" 'r' *\n\xff", empty[] = "";
    char *argv[] = {printf_name, format, odd, empty, NULL};
    bl_trial_spec spec = {.argv = argv, .log_fd = -1};
    bl_trial_result r;
    assert_int_equal(bl_trial_run(test_launcher(), &spec, &r, NULL), BL_OK);
    assert_string_equal(bl_str_text(&r.output_tail), "[a b;$HOME `x` \"q\" 'r' *\n\xff][]");
    bl_trial_result_clear(&r);

    setenv("PYTHONUNBUFFERED", "0", 1);
    setenv("GIVEN", "before", 1);
    char given[] = "GIVEN=after = all";
    char *env[] = {given, NULL};
    bl_trial_spec with_env = {.env = env, .batch = 129, .trial = 17, .cwd = "/"};
    run_shell("echo $BATCHLAB_BATCH $BATCHLAB_TRIAL $PYTHONUNBUFFERED \"$GIVEN\" $PWD; readlink /proc/self/fd/0; "
              "env | grep -c '^GIVEN='",
              &with_env, &r);
    assert_string_equal(bl_str_text(&r.output_tail), "129 17 1 after = all /\n/dev/null\n1\n");
    bl_trial_result_clear(&r);
}

static void a_flood_of_output_blocks_nobody(void **state)
{
    FILE *log = tmpfile();
    bl_trial_spec spec = {.log_fd = fileno(log)};
    bl_trial_result r;
    run_shell("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.output_b, 20000005);
    assert_int_equal(r.output_tail.len, BL_OUTPUT_TAIL_B);
    assert_string_equal(r.output_tail.data + r.output_tail.len - 5, "\nend\n");
    assert_int_equal(lseek(fileno(log), 0, SEEK_END), 20000005);
    fclose(log);
    bl_trial_result_clear(&r);
}

static void cpu_time_and_memory_are_those_of_the_whole_tree(void **state)
{
    bl_trial_result r;
    /* Two grandchildren, each burning CPU time; the shell itself burns none. */
    run_shell("burn() { i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; }; (burn) & (burn) & wait", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(r.user_s.value + r.system_s.value > 0.02);
    bl_trial_result_clear(&r);

    /* Two processes of 64 MiB each, at the same time, their memory their own. */
    run_shell("/usr/bin/python3 -c 'import os, time\nos.fork()\nb = bytearray(64 << 20)\nb[::4096] = b\"x\" * len(b[::"
              "4096])\ntime.sleep(1.5)'",
              NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    double peak_mib = r.peak_memory_b.value / (1 << 20);
    if (peak_mib < 128 || peak_mib > 260)
        fail_msg("a peak of %.1f MiB", peak_mib);
    bl_trial_result_clear(&r);

    /* A small program that follows a large one is small again. */
    run_shell("true", NULL, &r);
    assert_true(r.peak_memory_b.value < 32 << 20);
    bl_trial_result_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_program_is_timed_whole),
        cmocka_unit_test(marked_steps_arrive_in_order),
        cmocka_unit_test(the_step_budget_ends_a_trial_well),
        cmocka_unit_test(the_time_budget_ends_a_program_that_ignores_sigterm),
        cmocka_unit_test(a_program_without_steps_is_given_up),
        cmocka_unit_test(failures_are_told_apart),
        cmocka_unit_test(a_kill_that_was_not_the_kernels_is_no_want_of_memory),
        cmocka_unit_test(what_was_said_before_the_training_went_on_is_not_the_cause),
        cmocka_unit_test(an_ambiguous_end_is_tried_once_more),
        cmocka_unit_test(an_interrupt_ends_a_trial_and_keeps_its_steps),
        cmocka_unit_test(no_descendant_outlives_a_trial),
        cmocka_unit_test(nothing_outlives_a_lab_that_is_killed),
        cmocka_unit_test(the_launchers_death_is_an_error),
        cmocka_unit_test(commands_that_cannot_be_started_are_errors),
        cmocka_unit_test(arguments_and_environment_arrive_untouched),
        cmocka_unit_test(a_flood_of_output_blocks_nobody),
        cmocka_unit_test(cpu_time_and_memory_are_those_of_the_whole_tree),
    };
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
