/* The process tree, read from a fixture of procfs and from the real one. */
#include "../base/testing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "telemetry/process_tree.h"

static char *proc;

static void write_text(const char *name, const char *text)
{
    char *path = test_path(proc, name);
    char *folder = strdup(path);
    assert_non_null(folder);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(bl_fs_mkdirs(folder, NULL), BL_OK);
    test_write_file(path, text, strlen(text));
    free(folder);
    free(path);
}

/* 10 -> 11 (two threads, each with a child) -> 12, 13; 14 belongs to somebody else. */
static void make_processes(bool with_children)
{
    write_text("10/stat", "10 (launcher) S 1 10");
    write_text("11/stat", "11 (odd) name) (x) R 10 11");
    write_text("12/stat", "12 (a) S 11 11");
    write_text("13/stat", "13 (b) S 11 11");
    write_text("14/stat", "14 (c) S 1 14");
    write_text("11/status", "Name:\todd\nVmHWM:\t    3000 kB\nVmRSS:\t    1000 kB\n");
    write_text("12/status", "Name:\ta\nVmHWM:\t     500 kB\nVmRSS:\t     400 kB\n");
    write_text("13/status", "Name:\ta zombie\nState:\tZ\n"); /* has no memory any more */
    write_text("14/status", "Name:\tc\nVmHWM:\t 9000000 kB\nVmRSS:\t 9000000 kB\n");
    write_text("10/task/10/x", "");
    if (!with_children)
        return;
    write_text("10/task/10/children", "11 ");
    write_text("11/task/11/children", "12 ");
    write_text("11/task/15/children", "13 ");
    write_text("12/task/12/children", "");
    write_text("13/task/13/children", "");
}

static void check_tree(bool scan_all)
{
    bl_process_tree tree;
    bl_process_tree_init(&tree, proc);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(bl_process_tree_scan(&tree, 10, NULL), BL_OK);
        assert_int_equal(tree.scan_all, scan_all);
        assert_int_equal(tree.len, 3);
        assert_int_equal(tree.pids[0], 11);
        assert_true(tree.pids[1] + tree.pids[2] == 25);
    }
    bl_tree_memory memory;
    bl_process_tree_memory(&tree, &memory);
    assert_int_equal(memory.resident_b, 1400 * 1024);
    assert_int_equal(memory.largest_peak_b, 3000 * 1024);
    assert_int_equal(bl_process_peak_b(proc, 12), 500 * 1024);
    assert_int_equal(bl_process_peak_b(proc, 99), 0);
    bl_process_tree_clear(&tree);
}

static void kernels_that_list_children(void **state)
{
    proc = test_make_folder();
    make_processes(true);
    check_tree(false);
    test_remove_folder(proc);
}

static void kernels_that_do_not(void **state)
{
    proc = test_make_folder();
    make_processes(false);
    check_tree(true);
    test_remove_folder(proc);
}

static void no_procfs_is_an_error(void **state)
{
    bl_process_tree tree;
    bl_process_tree_init(&tree, "/no/such/proc");
    bl_error err = {0};
    assert_int_equal(bl_process_tree_scan(&tree, 10, &err), BL_ERR_ENV);
    assert_non_null(strstr(err.message, "/no/such/proc"));
    bl_process_tree_clear(&tree);
}

static void our_own_child_is_found_both_ways(void **state)
{
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    for (int way = 0; way < 2; way++) {
        bl_process_tree tree;
        bl_process_tree_init(&tree, "/proc");
        tree.scan_all = way == 1;
        assert_int_equal(bl_process_tree_scan(&tree, getpid(), NULL), BL_OK);
        bool found = false;
        for (size_t i = 0; i < tree.len; i++)
            found = found || tree.pids[i] == child;
        assert_true(found);
        bl_tree_memory memory;
        bl_process_tree_memory(&tree, &memory);
        assert_true(memory.resident_b > 0 && memory.largest_peak_b > 0 && memory.n_processes >= 1);
        bl_process_tree_clear(&tree);
    }
    close(gate[1]);
    waitpid(child, NULL, 0);
    close(gate[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_list_children),
        cmocka_unit_test(kernels_that_do_not),
        cmocka_unit_test(no_procfs_is_an_error),
        cmocka_unit_test(our_own_child_is_found_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
