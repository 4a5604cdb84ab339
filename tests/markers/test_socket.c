/* Markers of programs that did not inherit the descriptor: by the named socket, and by nobody else's file. */
#include "../trial/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"
#include "trial/marker_socket.h"

/* The helpers as shell commands. */
static char c_helper[4200], python_helper[4300];

static void find_helpers(void)
{
    snprintf(c_helper, sizeof c_helper, "%s/tests/markers/c_trainer 4 6", getenv("BATCHLAB_BUILD_ROOT"));
    snprintf(python_helper, sizeof python_helper, "python3 %s/tests/markers/py_trainer.py story",
             getenv("BATCHLAB_SOURCE_ROOT"));
}

static void BL_PRINTF(2, 3) run_script(bl_trial_result *r, const char *format, ...)
{
    char script[20000];
    va_list args;
    va_start(args, format);
    vsnprintf(script, sizeof script, format, args);
    va_end(args);
    run_shell(script, &(bl_trial_spec){.batch = 4}, r);
}

static void check_spoke(const bl_trial_result *r)
{
    assert_outcome(r, BL_OUTCOME_OK);
    assert_int_equal(r->markers.n_malformed, 0);
    assert_true(r->markers.hello && r->markers.ready && r->markers.done);
    assert_int_equal(r->markers.n_steps, 6);
    assert_int_equal(r->markers.n_noise, 2);
}

static void check_silent(const bl_trial_result *r)
{
    assert_outcome(r, BL_OUTCOME_OK);
    assert_false(r->markers.any);
    assert_int_equal(r->markers.n_lines, 0);
}

static void a_closed_descriptor_is_no_loss(void **state)
{
    const char *helpers[] = {c_helper, python_helper};
    for (size_t i = 0; i < BL_ARRAY_LEN(helpers); i++) {
        bl_trial_result r;
        run_script(&r, "%s 7>&-", helpers[i]);
        check_spoke(&r);
        bl_trial_result_clear(&r);
        /* Without the socket nobody listens. */
        run_script(&r, "unset BATCHLAB_SOCKET; %s 7>&-", helpers[i]);
        check_silent(&r);
        bl_trial_result_clear(&r);
        /* A name that nobody listens to, and one too long for any. */
        run_script(&r, "BATCHLAB_SOCKET=@batchlab-nobody; %s 7>&-; BATCHLAB_SOCKET=/$(printf %%0300d 0); %s 7>&-",
                   helpers[i], helpers[i]);
        check_silent(&r);
        bl_trial_result_clear(&r);
    }
}

static void another_file_by_its_number_is_not_written_to(void **state)
{
    const char *helpers[] = {c_helper, python_helper};
    for (size_t i = 0; i < BL_ARRAY_LEN(helpers); i++) {
        bl_trial_result r;
        run_script(&r, "f=$(mktemp); %s 7>$f; test -s $f && echo 'written to'; rm $f", helpers[i]);
        check_spoke(&r);
        assert_null(strstr(bl_str_text(&r.output_tail), "written to"));
        bl_trial_result_clear(&r);
    }
}

static void one_rank_speaks(void **state)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"};
    static const char clean[] = "unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK RANK SLURM_PROCID BATCHLAB_RANK;";
    const char *helpers[] = {c_helper, python_helper};
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        bl_trial_result r;
        const char *helper = helpers[i % 2];
        run_script(&r, "%s export %s; exec 7>&-; for %s in 2 1 0; do %s & done; wait", clean, names[i], names[i],
                   helper);
        check_spoke(&r);
        bl_trial_result_clear(&r);
        run_script(&r, "%s exec 7>&-; %s=1 %s", clean, names[i], helper);
        check_silent(&r);
        bl_trial_result_clear(&r);
    }
    for (size_t i = 0; i < BL_ARRAY_LEN(helpers); i++) {
        bl_trial_result r;
        /* The launcher nearest to the program counts, and what is no number does not. */
        run_script(&r, "%s exec 7>&-; SLURM_PROCID=1 RANK=captain OMPI_COMM_WORLD_RANK=0 %s", clean, helpers[i]);
        check_spoke(&r);
        bl_trial_result_clear(&r);
        run_script(&r, "%s export BATCHLAB_RANK=2; exec 7>&-; for r in 0 1 2; do RANK=$r %s & done; wait", clean,
                   helpers[i]);
        check_spoke(&r);
        bl_trial_result_clear(&r);
    }
}

/* Both ways at once, each with its lines in pieces: none is torn. */
static void streams_do_not_mix(void **state)
{
    bl_trial_result r;
    run_script(&r, "python3 $BATCHLAB_SOURCE_ROOT/tests/markers/raw_writers.py pieces");
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.markers.n_lines, 41);
    assert_int_equal(r.markers.n_malformed, 0);
    assert_int_equal(r.markers.n_metrics, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(r.markers.metrics[i].value == 36 + (double)(r.markers.metrics[i].name[1] - '0'));
    bl_trial_result_clear(&r);
}

/* More than are kept, one after the other; then at once: those beyond are turned away. */
static void programs_may_come_and_go(void **state)
{
    bl_trial_result r;
    run_script(&r, "python3 $BATCHLAB_SOURCE_ROOT/tests/markers/raw_writers.py crowd");
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.markers.n_malformed, 0);
    assert_int_equal(r.markers.n_steps, 100);
    bl_trial_result_clear(&r);
}

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}

static void other_users_are_not_heard(void **state)
{
    static const char line[] = "{\"type\":\"step\",\"samples\":4,\"t_ns\":5}\n";
    bl_marker_socket s;
    bl_markers m;
    if (geteuid() != 0)
        skip();
    for (int other = 0; other < 2; other++) {
        bl_marker_socket_open(&s);
        bl_markers_init(&m);
        pid_t pid = fork();
        if (pid == 0) {
            if (other && setuid(65534) != 0)
                _exit(3);
            int fd = connect_to(s.name);
            _exit(send(fd, line, sizeof line - 1, MSG_NOSIGNAL) == (ssize_t)sizeof line - 1 ? 0 : 4);
        }
        int status = -1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(bl_marker_socket_serve(&s, &m));
        assert_int_equal(m.n_steps, other ? 0 : 1);
        bl_marker_socket_close(&s);
        bl_markers_clear(&m);
    }
}

static void names_differ(void **state)
{
    bl_marker_socket a, b;
    bl_marker_socket_open(&a);
    bl_marker_socket_open(&b);
    assert_int_equal(strlen(a.name), strlen("@batchlab-") + 32);
    assert_string_not_equal(a.name, b.name);
    bl_marker_socket_close(&a);
    bl_marker_socket_close(&b);
}

/* The real launcher. */
static void ranks_under_mpirun(void **state)
{
    const char *helpers[] = {c_helper, python_helper};
    if (system("command -v mpirun >/dev/null") != 0)
        skip();
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    for (size_t i = 0; i < BL_ARRAY_LEN(helpers); i++) {
        bl_trial_result r;
        run_script(&r, "mpirun -np 2 --oversubscribe %s", helpers[i]);
        check_spoke(&r);
        bl_trial_result_clear(&r);
        run_script(&r, "BATCHLAB_RANK=1 mpirun -np 2 --oversubscribe %s", helpers[i]);
        check_spoke(&r);
        bl_trial_result_clear(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_descriptor_is_no_loss),
        cmocka_unit_test(another_file_by_its_number_is_not_written_to),
        cmocka_unit_test(one_rank_speaks),
        cmocka_unit_test(streams_do_not_mix),
        cmocka_unit_test(programs_may_come_and_go),
        cmocka_unit_test(other_users_are_not_heard),
        cmocka_unit_test(names_differ),
        cmocka_unit_test(ranks_under_mpirun),
    };
    find_helpers();
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
