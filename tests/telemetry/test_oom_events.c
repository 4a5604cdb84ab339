/* The kernel's counts of out-of-memory kills, from fixtures of /proc and /sys. */
#include "../base/testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "telemetry/oom_events.h"

typedef struct fixture_file {
    const char *path, *text;
} fixture_file;

static void check(const fixture_file *files, size_t n, int64_t group, int64_t machine)
{
    char *root = test_make_folder();
    for (size_t i = 0; i < n; i++) {
        char *path = test_path(root, files[i].path + 1), *folder = strdup(path);
        assert_non_null(folder);
        *strrchr(folder, '/') = '\0';
        assert_int_equal(bl_fs_mkdirs(folder, NULL), BL_OK);
        test_write_file(path, files[i].text, strlen(files[i].text));
        free(folder);
        free(path);
    }
    bl_oom_events events;
    bl_oom_events_read(root, &events);
    assert_int_equal(events.group, group);
    assert_int_equal(events.machine, machine);
    test_remove_folder(root);
}

#define VMSTAT                                                                                                         \
    {                                                                                                                  \
        "/proc/vmstat", "nr_free_pages 5\noom_kill 12\noom_kill_x 99\n"                                                \
    }

static void version_2_and_1_and_neither(void **state)
{
    const fixture_file v2[] = {VMSTAT,
                               {"/proc/self/cgroup", "0::/user/job 1\n"},
                               {"/sys/fs/cgroup/user/job 1/memory.events", "low 0\noom 4\noom_kill 3\n"},
                               {"/sys/fs/cgroup/memory.events", "oom_kill 50\n"}};
    check(v2, 4, 3, 12);
    const fixture_file v1[] = {VMSTAT,
                               {"/proc/self/cgroup", "5:cpu,memory:/a\n4:memoryx:/b\n0::/\n"},
                               {"/sys/fs/cgroup/memory/a/memory.oom_control", "under_oom 0\noom_kill 7\n"}};
    check(v1, 3, 7, 12);
    /* In a container the path is the one outside, and what is mounted here is the group itself. */
    const fixture_file inside[] = {{"/proc/self/cgroup", "0::/outside/path\n"},
                                   {"/sys/fs/cgroup/memory.events", "oom_kill 2\n"}};
    check(inside, 2, 2, -1);
    const fixture_file old[] = {{"/proc/self/cgroup", "4:memory:/a\n"},
                                {"/sys/fs/cgroup/memory/a/memory.oom_control", "under_oom 0\n"}};
    check(old, 2, -1, -1);
    check(NULL, 0, -1, -1);
}

static void odd_files_are_survived(void **state)
{
    const fixture_file odd[] = {{"/proc/vmstat", "oom_kill"},
                                {"/proc/self/cgroup", "x\n\n:\n::\n7:memory\n"},
                                {"/sys/fs/cgroup/memory.events", "oom_kill many\n"}};
    check(odd, 3, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_and_1_and_neither),
        cmocka_unit_test(odd_files_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
