/* A tree looked at often, on real processes: everybody is counted, once, and the cost stays low. */
#include "../base/testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "telemetry/tree_watch.h"

#define MANY 200

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A process that says that it is there, and waits to be killed. */
static pid_t start_sleeper(size_t touch_b)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *block = touch_b ? mmap(NULL, touch_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
        if (block != MAP_FAILED && block)
            memset(block, 1, touch_b);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bl_tree_usage look(bl_tree_watch *watch, bool renew)
{
    bl_tree_usage usage;
    bl_error err = {0};
    if (renew)
        bl_tree_watch_renew(watch);
    if (bl_tree_watch_look(watch, &usage, &err) != BL_OK)
        fail_msg("%s", err.message);
    return usage;
}

static void many_processes_come_and_go(void **state)
{
    bl_tree_watch *watch = NULL;
    assert_int_equal(bl_tree_watch_new("/proc", getpid(), &watch, NULL), BL_OK);
    assert_int_equal(look(watch, true).n_processes, 0);
    assert_int_equal(bl_tree_watch_any(watch), 0);
    pid_t pids[MANY];
    for (int i = 0; i < MANY; i++)
        pids[i] = start_sleeper(0);
    assert_int_equal(look(watch, true).n_processes, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(bl_tree_watch_has(watch, pids[i]));
    assert_false(bl_tree_watch_has(watch, 1) || bl_tree_watch_has(watch, getpid()));
    /* Those that come into a large tree are found another way. */
    pid_t late = start_sleeper(32 << 20);
    bl_tree_usage usage = look(watch, true);
    assert_int_equal(usage.n_processes, MANY + 1);
    assert_int_equal(usage.largest, late);
    assert_true(usage.resident_b >= 32 << 20);
    /* What has gone is gone at once, whether or not the tree is found anew. */
    for (int i = 0; i < MANY; i += 2)
        end(pids[i]);
    assert_int_equal(look(watch, false).n_processes, MANY / 2 + 1);
    end(late);
    usage = look(watch, false);
    assert_int_equal(usage.n_processes, MANY / 2);
    for (int i = 1; i < MANY; i += 2)
        end(pids[i]);
    assert_int_equal(look(watch, false).n_processes, 0);
    assert_int_equal(look(watch, true).n_processes, 0);
    bl_tree_watch_free(watch);
}

/* As between vfork and exec, when the child runs on its parent's memory. */
static void a_child_just_forked_is_not_its_parent_once_more(void **state)
{
    bl_tree_watch *watch = NULL;
    int ready[2], go[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    pid_t parent = fork();
    if (parent == 0) {
        size_t size = 64 << 20;
        volatile char *block = malloc(size); /* what nobody reads, compilers leave out */
        for (size_t i = 0; block && i < size; i += 1024)
            block[i] = 1;
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        pid_t child = fork();
        if (child > 0 && write(ready[1], &child, sizeof child) != sizeof child)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(bl_tree_watch_new("/proc", getpid(), &watch, NULL), BL_OK);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int64_t alone_b = look(watch, true).resident_b;
    assert_int_equal(write(go[1], &byte, 1), 1);
    pid_t child;
    assert_int_equal(read(ready[0], &child, sizeof child), sizeof child);
    bl_tree_usage usage = look(watch, true);
    int64_t first_b = usage.resident_b, second_b = look(watch, true).resident_b;
    kill(child, SIGKILL); /* before anything can fail: nothing is to be left behind */
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_true(alone_b >= 64 << 20);
    assert_int_equal(usage.n_processes, 2);
    assert_true(first_b < 100 << 20);
    assert_true(second_b >= 128 << 20); /* it has stayed a copy */
    bl_tree_watch_free(watch);
    close(ready[0]);
    close(ready[1]);
    close(go[0]);
    close(go[1]);
}

static void burn(double seconds)
{
    int64_t until_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + (int64_t)(seconds * 1e9);
    while (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
        ;
}

/* By the processes' own clocks, so it depends on no machine's speed. */
static void processor_time_is_theirs_also_after_their_end(void **state)
{
    bl_tree_watch *watch = NULL;
    assert_int_equal(bl_tree_watch_new("/proc", getpid(), &watch, NULL), BL_OK);
    int64_t before_ns = look(watch, true).cpu_ns;
    int done[2];
    char byte = 0;
    assert_int_equal(pipe(done), 0);
    pid_t child = fork();
    if (child == 0) {
        burn(0.15);
        if (write(done[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(done[0], &byte, 1), 1);
    clockid_t clock;
    assert_int_equal(clock_getcpuclockid(child, &clock), 0);
    int64_t used_ns = look(watch, true).cpu_ns - before_ns, own_ns = cpu_ns(clock);
    assert_true(used_ns >= 150000000 && used_ns <= own_ns);
    end(child);
    assert_true(look(watch, true).cpu_ns - before_ns >= used_ns);
    /* What this process uses itself is not the tree's. */
    burn(0.05);
    assert_true(look(watch, true).cpu_ns - before_ns <= own_ns + 1000000);
    close(done[0]);
    close(done[1]);
    bl_tree_watch_free(watch);
}

static void no_procfs_is_an_error(void **state)
{
    bl_tree_watch *watch = NULL;
    bl_error err = {0};
    bl_tree_usage usage;
    assert_int_equal(bl_tree_watch_new("/no/such/proc", 1, &watch, NULL), BL_OK);
    assert_int_equal(bl_tree_watch_look(watch, &usage, &err), BL_ERR_ENV);
    bl_tree_watch_free(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_processes_come_and_go),
        cmocka_unit_test(a_child_just_forked_is_not_its_parent_once_more),
        cmocka_unit_test(processor_time_is_theirs_also_after_their_end),
        cmocka_unit_test(no_procfs_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
