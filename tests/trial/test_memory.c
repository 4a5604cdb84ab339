/* Peak memory is a trial's own: not its parent's, not its predecessor's, not a child's twice. A process starts with the
 * peak of the one that forked it, and the sum over children remembers the largest for ever. */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1 << 20)

static double peak_mib(const char *script)
{
    bl_trial_result r;
    run_shell(script, NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(r.peak_memory_b.known);
    double peak = r.peak_memory_b.value / MIB;
    bl_trial_result_clear(&r);
    return peak;
}

static void check(double peak, double low, double high)
{
    if (peak < low || peak > high)
        fail_msg("a peak of %.1f MiB, not %.0f to %.0f", peak, low, high);
}

/* What ends before the first look has only wait4's peak, which is the launcher's own where that is larger, as with
 * sanitizers: then it is unknown, and never the lab's. */
static void check_one_that_is_soon_gone(void)
{
    bl_trial_result r;
    run_shell("true", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    if (r.peak_memory_b.known)
        check(r.peak_memory_b.value / MIB, 0, 32);
    else
        assert_string_equal(r.peak_memory_b.reason, "the process ended before its memory could be read");
    bl_trial_result_clear(&r);
}

static void a_fat_lab_makes_no_fat_trials(void **state)
{
    size_t size = 300 * MIB;
    char *block = malloc(size);
    assert_non_null(block);
    memset(block, 1, size);
    /* The pitfall itself: what wait4 says of a child of ours. */
    pid_t child = fork();
    if (child == 0)
        execl("/bin/true", "true", (char *)NULL);
    struct rusage usage;
    assert_int_equal(wait4(child, NULL, 0, &usage), child);
    assert_true(usage.ru_maxrss > 300 * 1024);
    check_one_that_is_soon_gone();
    check(peak_mib("sleep 0.2"), 0, 32);
    free(block);
}

static void a_fat_parent_counts_once(void **state)
{
    /* Its small child has the parent's peak by wait4; and the parent's memory is not counted for both. */
    check(peak_mib("/usr/bin/python3 -c \"import subprocess\nb = bytearray(200 << 20)\nb[::4096] = b'x' * "
                   "len(b[::4096])\nsubprocess.run(['sleep', '0.5'], check=True)\""),
          200, 300);
}

static void a_small_child_after_a_big_one_is_small(void **state)
{
#define BIG "/usr/bin/python3 -c \"b = bytearray(200 << 20)\nb[::4096] = b'x' * len(b[::4096])\""
    check(peak_mib(BIG), 200, 280);
    check(peak_mib("sleep 0.2"), 0, 32);
    /* Inside one trial the big one counts, though a small one comes last and it is gone before the end. */
    check(peak_mib(BIG "; sleep 0.2; true"), 200, 280);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fat_lab_makes_no_fat_trials),
        cmocka_unit_test(a_fat_parent_counts_once),
        cmocka_unit_test(a_small_child_after_a_big_one_is_small),
    };
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
