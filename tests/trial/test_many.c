/* Many trials in a row, of kinds that leave things behind: `test_many N`. In the end there is no process, descriptor or
 * file more than after the first ones. */
#include "run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long n_trials;

static size_t count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t n = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static size_t launcher_fds(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)test_launcher()->pid);
    return count_entries(path);
}

static void nothing_is_left(void **state)
{
    static const char *const kinds[] = {
        "exit 0",
        "setsid sleep $TAG & exit 3",
        "(sleep $TAG &) ; echo '{\"type\":\"step\",\"samples\":1,\"t_ns\":9}' >&$BATCHLAB_FD; sleep $TAG",
        "trap '' TERM; sh -c \"trap '' TERM; sleep $TAG\" & echo words; kill -KILL $$",
        "exec 1>&- 2>&- 7>&-; sleep $TAG & exit 0",
    };
    char tag[64], tmp[] = "/tmp/batchlab-test-XXXXXX";
    assert_non_null(mkdtemp(tmp));
    setenv("TMPDIR", tmp, 1);
    snprintf(tag, sizeof tag, "96%ld", (long)getpid());
    setenv("TAG", tag, 1);
    size_t own_fds = 0, other_fds = 0;
    for (long i = 0; i < n_trials; i++) {
        bl_trial_spec spec = {.max_steps = 1, .grace_s = 0.1, .pty = i % 7 == 6};
        bl_trial_result r;
        run_shell(kinds[i % 5], &spec, &r);
        bl_trial_result_clear(&r);
        if (i == 9) { /* each kind has run twice */
            own_fds = count_entries("/proc/self/fd");
            other_fds = launcher_fds();
        }
    }
    assert_int_equal(count_processes(tag), 0);
    assert_int_equal(count_entries("/proc/self/fd"), own_fds);
    assert_int_equal(launcher_fds(), other_fds);
    assert_int_equal(count_entries(tmp), 0);
    rmdir(tmp);
}

int main(int argc, char **argv)
{
    n_trials = argc > 1 ? strtol(argv[1], NULL, 10) : 50;
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_left)};
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
