/* Control groups in a tree of ordinary files, which this test fills as a kernel would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "telemetry/control_group.h"

static char root[64];
static const pid_t pids[] = {4711, 4712};

static void put(const char *path, const char *text)
{
    char full[512], folder[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    snprintf(folder, sizeof folder, "%s", full);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(bl_fs_mkdirs(folder, NULL), BL_OK);
    assert_int_equal(bl_fs_replace(full, text, strlen(text), NULL), BL_OK);
}

static void assert_file(const char *path, const char *wanted)
{
    char full[512], *text;
    size_t n;
    snprintf(full, sizeof full, "%s/%s", root, path);
    assert_int_equal(bl_fs_read(full, 4096, &text, &n, NULL), BL_OK);
    assert_string_equal(text, wanted);
    free(text);
}

static int set_up(void **state)
{
    snprintf(root, sizeof root, "/tmp/batchlab-test-XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int tear_down(void **state)
{
    return bl_fs_remove_tree(root, NULL);
}

static void delegate(const char *controllers, const char *subtree)
{
    put("proc/self/cgroup", "4:memory:/elsewhere\n0::/user.slice/ours\n");
    put("sys/fs/cgroup/user.slice/ours/cgroup.controllers", controllers);
    put("sys/fs/cgroup/user.slice/ours/cgroup.subtree_control", subtree);
}

static void what_is_missing_is_said(void **state)
{
    bl_groups g;
    bl_groups_open(root, pids, 2, &g);
    assert_false(g.usable);
    assert_non_null(strstr(g.reason, "no control group of version 2"));
    put("proc/self/cgroup", "4:memory:/elsewhere\n");
    bl_groups_open(root, pids, 2, &g);
    assert_false(g.usable);
    delegate("cpu memory_like\n", "");
    bl_groups_open(root, pids, 2, &g);
    assert_false(g.usable);
    assert_non_null(strstr(g.reason, "do not manage memory"));
    bl_groups_close(&g);
}

static void a_group_that_is_not_ours_is_left_alone(void **state)
{
    delegate("cpu memory pids\n", "cpu memory\n");
    char base[512], moved[512];
    snprintf(base, sizeof base, "%s/sys/fs/cgroup/user.slice/ours/cgroup.subtree_control", root);
    assert_int_equal(unlink(base), 0);
    assert_int_equal(mkdir(base, 0755), 0); /* no file that could be written */
    snprintf(moved, sizeof moved, "%s/sys/fs/cgroup/user.slice/ours/batchlab-4711", root);
    bl_groups g;
    bl_groups_open(root, pids, 2, &g);
    assert_false(g.usable);
    assert_non_null(strstr(g.reason, "not delegated"));
    assert_false(bl_fs_exists(moved));
}

static void limits_counts_and_peak(void **state)
{
    delegate("cpu memory pids\n", "cpu\n");
    bl_groups g;
    bl_groups_open(root, pids, 2, &g);
    assert_string_equal(g.reason, "");
    assert_true(g.usable && g.switched_on);
    assert_file("sys/fs/cgroup/user.slice/ours/cgroup.subtree_control", "+memory");
    bl_group group;
    assert_int_equal(bl_group_make(&g, "trial", (uint64_t)8 << 30, &group, NULL), BL_OK);
    assert_file("sys/fs/cgroup/user.slice/ours/trial/memory.max", "8589934592");
    assert_file("sys/fs/cgroup/user.slice/ours/trial/memory.swap.max", "0");
    assert_file("sys/fs/cgroup/user.slice/ours/trial/memory.oom.group", "1");
    bl_group_memory m;
    bl_group_read(&group, &m); /* an older kernel has no peak */
    assert_int_equal(m.peak_b, -1);
    assert_int_equal(m.oom_kills, -1);
    put("sys/fs/cgroup/user.slice/ours/trial/memory.peak", "123456789\n");
    put("sys/fs/cgroup/user.slice/ours/trial/memory.events",
        "low 0\nhigh 0\nmax 17\noom 2\noom_kill 3\noom_group_kill 1\n");
    bl_group_read(&group, &m);
    assert_int_equal(m.peak_b, 123456789);
    assert_int_equal(m.max_hits, 17);
    assert_int_equal(m.oom_kills, 3);
    bl_group_remove(&group);
    assert_file("sys/fs/cgroup/user.slice/ours/trial/cgroup.kill", "1");
    assert_string_equal(group.path, "");
    bl_groups_close(&g);
    assert_file("sys/fs/cgroup/user.slice/ours/cgroup.subtree_control", "-memory");
}

static void a_controller_that_was_on_stays_on(void **state)
{
    delegate("memory\n", "memory\n");
    bl_groups g;
    bl_groups_open(root, pids, 2, &g);
    assert_true(g.usable && !g.switched_on);
    bl_groups_close(&g);
    assert_file("sys/fs/cgroup/user.slice/ours/cgroup.subtree_control", "memory\n");
}

static void a_group_of_the_kernel_can_be_emptied(void **state)
{
    /* Where version 2 is mounted for real and we may make groups, memory managed or not: kill and removal work. */
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < 2; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s/cgroup.controllers", mounts[i]);
        bl_groups g = {.usable = true};
        snprintf(g.base, sizeof g.base, "%s", mounts[i]);
        bl_group group;
        char name[64];
        snprintf(name, sizeof name, "batchlab-test-%ld", (long)getpid());
        if (!bl_fs_exists(file) || bl_group_make(&g, name, 0, &group, NULL) != BL_OK)
            continue;
        char procs[2048], script[2200];
        snprintf(procs, sizeof procs, "%s/cgroup.procs", group.path);
        snprintf(script, sizeof script, "(echo 0 >%s && exec sleep 1000) & sleep 0.1", procs);
        assert_int_equal(system(script), 0);
        char path[2048];
        snprintf(path, sizeof path, "%s", group.path);
        assert_true(bl_group_remove(&group));
        assert_false(bl_fs_exists(path));
        return;
    }
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_is_not_ours_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_counts_and_peak, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_controller_that_was_on_stays_on, set_up, tear_down),
        cmocka_unit_test(a_group_of_the_kernel_can_be_emptied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
