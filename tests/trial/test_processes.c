/* Kinds of programs that leave processes behind, fall silent, or want more memory than they may have. */
#include "run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define STEP "echo '{\"type\":\"step\",\"samples\":8,\"t_ns\":'$((1000+$i*1000000))'}' >&$BATCHLAB_FD"

static char tag[64]; /* an argument of sleep that nobody else uses */

static void new_tag(void)
{
    static int number;
    snprintf(tag, sizeof tag, "9%d%ld", 100 + number++, (long)getpid());
    setenv("TAG", tag, 1);
}

/* Runs it; nothing of it may live afterwards. */
static void run_and_look(const char *script, const bl_trial_spec *spec, bl_trial_result *result)
{
    new_tag();
    run_shell(script, spec, result);
    if (count_processes(tag) != 0)
        fail_msg("%d processes are left of: %s", count_processes(tag), script);
}

static void data_loader_workers(void **state)
{
    /* Four workers wait for work; the trainer is ended by its budget, or dies. */
    static const char workers[] = "for w in 1 2 3 4; do (while :; do sleep $TAG; done) & done;";
    char script[1024];
    bl_trial_result r;
    snprintf(script, sizeof script, "%s i=0; while :; do i=$((i+1)); " STEP "; sleep 0.01; done", workers);
    run_and_look(script, &(bl_trial_spec){.max_steps = 5}, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
    snprintf(script, sizeof script, "%s i=1; " STEP "; kill -KILL $$", workers);
    run_and_look(script, NULL, &r);
    assert_int_equal(r.exit_signal, SIGKILL);
    bl_trial_result_clear(&r);
}

static void daemons_in_sessions_of_their_own(void **state)
{
    bl_trial_result r;
    run_and_look("(setsid sh -c '(setsid sleep $TAG &) ; sleep $TAG' >/dev/null 2>&1 </dev/null &) ; sleep 0.1", NULL,
                 &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
}

static void children_that_ignore_sigterm_or_are_stopped(void **state)
{
    bl_trial_result r;
    run_and_look("sh -c 'trap \"\" TERM INT HUP QUIT; while :; do sleep $TAG; done' & "
                 "sleep $TAG & kill -STOP $!; trap '' TERM; i=1; " STEP "; while :; do sleep 0.05; done",
                 &(bl_trial_spec){.max_steps = 1, .grace_s = 0.2}, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_int_equal(r.exit_signal, SIGKILL);
    bl_trial_result_clear(&r);
}

static void one_rank_dies_while_its_sibling_sleeps(void **state)
{
    bl_trial_result r;
    bl_trial_spec spec = {.silence_s = 0.3, .grace_s = 0.2};
    run_and_look("sleep $TAG & sh -c 'exit 1' & wait", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_TIMED_OUT);
    assert_non_null(strstr(bl_str_text(&r.decision.reason), "nothing was printed or marked for 0.3 s"));
    bl_trial_result_clear(&r);
    /* What it said before it died tells why the others wait. */
    run_and_look("sleep $TAG & sh -c 'echo \"torch.OutOfMemoryError: CUDA out of memory. Tried\"; exit 1' & wait",
                 &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_DEVICE);
    bl_trial_result_clear(&r);
}

static void a_child_holds_the_pipe_after_its_parents_exit(void **state)
{
    bl_trial_result r;
    run_and_look("sleep $TAG & echo done; exit 3", NULL, &r);
    assert_outcome(&r, BL_OUTCOME_CRASHED);
    assert_int_equal(r.exit_status, 3);
    assert_string_equal(bl_str_text(&r.output_tail), "done\n");
    bl_trial_result_clear(&r);
}

static void silence_ends_a_trial_only_while_it_lasts(void **state)
{
    bl_trial_result r;
    /* Longer than the time-out in all, never so long without a sign; markers are signs too. */
    run_and_look("i=0; while [ $i -lt 8 ]; do i=$((i+1)); sleep 0.3; if [ $((i%2)) = 0 ]; then echo $i; else " STEP
                 "; fi; done",
                 &(bl_trial_spec){.silence_s = 2}, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
    run_and_look("i=1; " STEP "; sleep $TAG", &(bl_trial_spec){.silence_s = 0.3}, &r);
    assert_outcome(&r, BL_OUTCOME_TIMED_OUT);
    assert_non_null(strstr(bl_str_text(&r.decision.reason), "after 1 step"));
    bl_trial_result_clear(&r);
}

/* ---- memory ---- */

static bool has_evidence(const bl_trial_result *r, const char *source, bool decided, const char *words)
{
    for (size_t i = 0; i < r->decision.evidence.n; i++) {
        const bl_evidence_item *e = &r->decision.evidence.items[i];
        if (strcmp(e->source, source) == 0 && e->decided == decided && strstr(e->text, words))
            return true;
    }
    return false;
}

#define FILLED(mib) "b = bytearray(" #mib " << 20); b[::4096] = b\"x\" * len(b[::4096]); "

static void a_limit_without_control_groups(void **state)
{
    test_launcher()->groups_tried = true; /* as where none can be made */
    snprintf(test_launcher()->groups.reason, sizeof test_launcher()->groups.reason, "this is a test");
    bl_trial_spec spec = {.memory_limit_b = (uint64_t)192 << 20};
    bl_trial_result r;
    run_and_look("python3 -c '" FILLED(32) "'", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(has_evidence(&r, "lab", false, "RLIMIT_DATA"));
    assert_true(has_evidence(&r, "lab", false, "this is a test"));
    bl_trial_result_clear(&r);
    run_and_look("python3 -c '" FILLED(400) "'", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_HOST);
    bl_trial_result_clear(&r);
    run_and_look("python3 -c '" FILLED(400) "'", NULL, &r); /* it is the limit's doing */
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
}

static void a_program_that_only_crashes_at_its_limit(void **state)
{
    bl_trial_result r;
    /* Reserved and never touched, so that it is not held; then an end that tells nothing. */
    run_and_look("python3 -c 'import os, time; b = bytearray(480 << 20); time.sleep(1.5); os.kill(os.getpid(), 11)'",
                 &(bl_trial_spec){.memory_limit_b = (uint64_t)512 << 20}, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_HOST);
    assert_true(has_evidence(&r, "kernel", true, "reserved"));
    bl_trial_result_clear(&r);
    /* The same end far below it is a crash. */
    run_and_look("python3 -c 'import os, time; time.sleep(0.2); os.kill(os.getpid(), 11)'",
                 &(bl_trial_spec){.memory_limit_b = (uint64_t)2 << 30}, &r);
    assert_outcome(&r, BL_OUTCOME_CRASHED);
    bl_trial_result_clear(&r);
}

static void processes_that_are_over_the_limit_only_together(void **state)
{
    bl_trial_result r;
    bl_trial_spec spec = {.memory_limit_b = (uint64_t)256 << 20};
    run_and_look("python3 -c 'import os, time\nos.fork(); os.fork()\n" FILLED(100) "time.sleep(20)' $TAG", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_HOST);
    assert_true(has_evidence(&r, "lab", true, "together held"));
    bl_trial_result_clear(&r);
    /* Pages that they share count once. */
    run_and_look("python3 -c 'import os, time\n" FILLED(100) "os.fork(); os.fork(); time.sleep(1.5)' $TAG", &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    bl_trial_result_clear(&r);
}

/* The program itself plays the kernel: it writes what that would have counted into its group's folder. */
static void a_limit_held_by_a_control_group(void **state)
{
    char root[] = "/tmp/batchlab-test-XXXXXX", path[256], group[256];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/x", root);
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    snprintf(path, sizeof path, "%s/proc/self", root);
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    assert_int_equal(bl_fs_replace(path, "0::/x\n", 6, NULL), BL_OK);
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/x/cgroup.controllers", root);
    assert_int_equal(bl_fs_replace(path, "memory\n", 7, NULL), BL_OK);
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/x/cgroup.subtree_control", root);
    assert_int_equal(bl_fs_replace(path, "memory\n", 7, NULL), BL_OK);
    snprintf(group, sizeof group, "%s/sys/fs/cgroup/x/batchlab-trial-%ld", root, (long)test_launcher()->pid);
    setenv("GROUP", group, 1);
    bl_launcher *l = test_launcher();
    l->root = root;
    l->groups_tried = false;
    bl_trial_spec spec = {.memory_limit_b = (uint64_t)512 << 20};
    bl_trial_result r;
    run_and_look("[ $(cat $GROUP/memory.max) = 536870912 ] && [ $(cat $GROUP/cgroup.procs) = 0 ] || exit 5;"
                 "[ $(ulimit -d) = unlimited ] || exit 6; echo 99999744 >$GROUP/memory.peak;"
                 "echo 'oom_kill 0' >$GROUP/memory.events",
                 &spec, &r);
    assert_outcome(&r, BL_OUTCOME_OK);
    assert_true(r.peak_memory_b.known && r.peak_memory_b.value == 99999744);
    assert_non_null(strstr(r.peak_memory_b.source, "control group"));
    assert_true(has_evidence(&r, "lab", false, "held by a control group"));
    bl_trial_result_clear(&r);
    run_and_look("echo 536870912 >$GROUP/memory.peak; echo 'oom_kill 2' >$GROUP/memory.events; kill -KILL $$", &spec,
                 &r);
    assert_outcome(&r, BL_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(r.decision.memory, BL_MEMORY_HOST);
    assert_non_null(strstr(bl_str_text(&r.decision.reason), "limit of memory"));
    assert_true(has_evidence(&r, "kernel", true, "own control group"));
    bl_trial_result_clear(&r);
    l->root = NULL;
    l->groups.usable = false;
    assert_int_equal(bl_fs_remove_tree(root, NULL), BL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_loader_workers),
        cmocka_unit_test(daemons_in_sessions_of_their_own),
        cmocka_unit_test(children_that_ignore_sigterm_or_are_stopped),
        cmocka_unit_test(one_rank_dies_while_its_sibling_sleeps),
        cmocka_unit_test(a_child_holds_the_pipe_after_its_parents_exit),
        cmocka_unit_test(silence_ends_a_trial_only_while_it_lasts),
        cmocka_unit_test(a_limit_without_control_groups),
        cmocka_unit_test(a_program_that_only_crashes_at_its_limit),
        cmocka_unit_test(processes_that_are_over_the_limit_only_together),
        cmocka_unit_test(a_limit_held_by_a_control_group),
    };
    return cmocka_run_group_tests(tests, start_test_launcher, stop_test_launcher);
}
