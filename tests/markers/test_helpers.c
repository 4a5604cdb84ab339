/* The C header and the Python file, each driving a real program under a real trial, and with nobody listening. */
#include "../trial/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"

static void run_command(const char *first, const char *second, const char *third, bl_trial_result *r)
{
    char *argv[] = {strdup(first), strdup(second), third ? strdup(third) : NULL, NULL};
    bl_trial_spec spec = {.argv = argv, .batch = 4, .log_fd = -1};
    bl_error err = {0};
    if (bl_trial_run(test_launcher(), &spec, r, &err) != BL_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < 3; i++)
        free(argv[i]);
}

static char *in_source(const char *path)
{
    static char out[4096];
    snprintf(out, sizeof out, "%s/%s", getenv("BATCHLAB_SOURCE_ROOT"), path);
    return out;
}

static char *in_build(const char *path)
{
    static char out[4096];
    snprintf(out, sizeof out, "%s/%s", getenv("BATCHLAB_BUILD_ROOT"), path);
    return out;
}

/* What both programs say alike. */
static void check_story(const bl_trial_result *r)
{
    const bl_markers *m = &r->markers;
    assert_outcome(r, BL_OUTCOME_OK);
    assert_int_equal(m->n_malformed, 0);
    assert_true(m->hello && m->ready && m->done && !m->oom);
    assert_int_equal(m->version, 1);
    assert_int_equal(m->batch, 4);
    assert_int_equal(m->n_steps, 6);
    assert_int_equal(m->n_ignored, 1); /* the step in the eval phase */
    for (size_t i = 0; i < m->n_steps; i++) {
        assert_true(m->steps[i].time_ns >= 1000000);
        if (i == 1)
            assert_true(isnan(m->steps[i].loss));
        else
            assert_true(fabs(m->steps[i].loss - 2.5 / (double)(i + 1)) < 1e-6);
        assert_true(m->steps[i].wait_ns >= 0);
    }
    assert_true(m->ready_ns >= r->started_ns);
    assert_int_equal(m->n_memory, 1);
    assert_string_equal(m->memory[0].kind, "activations");
    assert_int_equal(m->memory[0].bytes, 3000);
    assert_int_equal(m->n_metrics, 1);
    assert_string_equal(m->metrics[0].name, "top1");
    assert_true(m->metrics[0].value == 0.625);
    assert_int_equal(m->n_noise, 2);
    assert_true(m->noise[0].norms.small_n == 8 && m->noise[0].norms.big_n == 128 && !m->noise[0].scaled);
    assert_true(m->noise[0].norms.small_sq == 0.5 && m->noise[0].norms.big_sq == 0.125 && m->noise[0].t_ns > 0);
    assert_true(m->noise[1].norms.small_n == 1 && m->noise[1].norms.small_sq == 3 && m->noise[1].scaled);
    assert_int_equal(m->noise[1].after_steps, 6);
}

static void the_c_header_speaks(void **state)
{
    bl_trial_result r;
    run_command(in_build("tests/markers/c_trainer"), "4", "6", &r);
    check_story(&r);
    assert_string_equal(r.markers.program, "c \"trainer\"\n");
    assert_string_equal(r.markers.program_version, "1.2");
    assert_int_equal(r.markers.ranks, 2);
    assert_int_equal(r.markers.samples, 24);
    assert_int_equal(r.markers.steps[3].wait_ns, 3000);
    bl_trial_result_clear(&r);
}

static void the_python_file_speaks(void **state)
{
    bl_trial_result r;
    run_command("python3", in_source("tests/markers/py_trainer.py"), "story", &r);
    check_story(&r);
    assert_string_equal(r.markers.program, "py_trainer.py");
    assert_int_equal(r.markers.samples, 23); /* the last batch is smaller */
    assert_string_equal(bl_str_text(&r.output_tail), "end\n");
    bl_trial_result_clear(&r);

    run_command("python3", in_source("tests/markers/py_trainer.py"), "track", &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.markers.n_steps, 6);
    assert_true(r.markers.done);
    bl_trial_result_clear(&r);

    run_command("python3", in_source("tests/markers/py_trainer.py"), "oom", &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    bl_trial_result_clear(&r);
}

static int run_with_fd(const char *fd_value, const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (fd_value)
            setenv("BATCHLAB_FD", fd_value, 1);
        else
            unsetenv("BATCHLAB_FD");
        unsetenv("BATCHLAB_SOCKET");
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

static void nobody_listening_harms_nobody(void **state)
{
    char c[4200], python[4300], number[16];
    snprintf(c, sizeof c, "%s 4 6", in_build("tests/markers/c_trainer"));
    snprintf(python, sizeof python, "python3 %s story >/dev/null", in_source("tests/markers/py_trainer.py"));
    const char *commands[] = {c, python};
    for (size_t i = 0; i < BL_ARRAY_LEN(commands); i++) {
        assert_int_equal(run_with_fd(NULL, commands[i]), 0);
        assert_int_equal(run_with_fd("", commands[i]), 0);
        assert_int_equal(run_with_fd("none", commands[i]), 0);
        assert_int_equal(run_with_fd("999", commands[i]), 0); /* closed */
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        close(ends[0]); /* its reader is gone */
        snprintf(number, sizeof number, "%d", ends[1]);
        assert_int_equal(run_with_fd(number, commands[i]), 0);
        close(ends[1]);
        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        snprintf(number, sizeof number, "%d", ends[1]);
        assert_int_equal(run_with_fd(number, commands[i]), 0);
        close(ends[1]);
    }
}

/* A reader that does not read: lines are lost, never torn, and the program ends. */
static void a_stuck_reader_holds_nobody_up_for_long(void **state)
{
    int ends[2], small = 4096;
    char command[4200], number[16];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    snprintf(command, sizeof command, "%s 4 50", in_build("tests/markers/c_trainer"));
    snprintf(number, sizeof number, "%d", ends[1]);
    assert_int_equal(run_with_fd(number, command), 0);
    close(ends[1]);
    bl_markers m;
    bl_markers_init(&m);
    char bytes[4096];
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
        bl_markers_feed(&m, bytes, (size_t)n);
    bl_markers_end(&m);
    assert_true(m.n_lines > 3);
    assert_true(m.n_malformed <= 1); /* the one that was broken off */
    bl_markers_clear(&m);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_c_header_speaks),
        cmocka_unit_test(the_python_file_speaks),
        cmocka_unit_test(nobody_listening_harms_nobody),
        cmocka_unit_test(a_stuck_reader_holds_nobody_up_for_long),
    };
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
