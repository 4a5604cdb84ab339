#include "testing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"

static char *folder;

static int make_folder(void **state)
{
    folder = test_make_folder();
    return 0;
}

static int remove_folder(void **state)
{
    test_remove_folder(folder);
    return 0;
}

static void test_read(void **state)
{
    char *path = test_path(folder, "file");
    char bytes[40000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    test_write_file(path, bytes, sizeof bytes);
    char *data = NULL;
    size_t len = 0;
    bl_error err = {0};
    assert_int_equal(bl_fs_read(path, sizeof bytes, &data, &len, &err), BL_OK); /* the limit itself is fine */
    assert_int_equal(len, sizeof bytes);
    assert_memory_equal(data, bytes, len);
    assert_int_equal(data[len], 0);
    free(data);
    data = NULL;
    assert_int_equal(bl_fs_read(path, sizeof bytes - 1, &data, NULL, &err), BL_ERR_FORMAT);
    assert_null(data);
    assert_non_null(strstr(err.message, path));
    bl_error_clear(&err);
    test_write_file(path, "", 0);
    assert_int_equal(bl_fs_read(path, 10, &data, NULL, &err), BL_OK);
    assert_string_equal(data, "");
    free(data);
    free(path);
}

static void test_read_failures(void **state)
{
    char *data = NULL;
    bl_error err = {0};
    char *absent = test_path(folder, "absent");
    assert_int_equal(bl_fs_read(absent, 10, &data, NULL, &err), BL_ERR_ENV);
    assert_non_null(strstr(err.message, absent));
    free(absent);
    bl_error_clear(&err);
    assert_int_equal(bl_fs_read(folder, 10, &data, NULL, &err), BL_ERR_IO);
    bl_error_clear(&err);
    assert_int_equal(bl_fs_read("/dev/zero", 100000, &data, NULL, &err), BL_ERR_FORMAT);
    assert_null(data);
    for (int fail_at = 0; fail_at < 2; fail_at++) { /* an endless file must not hold us where memory is out */
        bl_error_clear(&err);
        test_alloc_fail_after(fail_at);
        int rc = bl_fs_read("/dev/zero", SIZE_MAX, &data, NULL, &err);
        test_alloc_restore();
        assert_int_equal(rc, BL_ERR_NOMEM);
        assert_null(data);
    }
}

static void test_read_proc(void **state)
{
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(bl_fs_read("/proc/self/status", 1 << 20, &data, &len, NULL), BL_OK);
    assert_true(len > 100); /* its size is told as 0 */
    assert_non_null(strstr(data, "Name:"));
    free(data);
}

static int count_entries(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    char command[400];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
    FILE *p = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void test_replace(void **state)
{
    char *path = test_path(folder, "out");
    char *data = NULL;
    bl_error err = {0};
    mode_t old_mask = umask(027);
    assert_int_equal(bl_fs_replace(path, "first", 5, &err), BL_OK);
    umask(old_mask);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(bl_fs_replace(path, "2", 1, &err), BL_OK);
    assert_int_equal(bl_fs_read(path, 10, &data, NULL, &err), BL_OK);
    assert_string_equal(data, "2");
    free(data);
    assert_int_equal(count_entries(folder), 1); /* no temporary file is left */
    free(path);
}

static void test_replace_failures_keep_the_old_file(void **state)
{
    char *path = test_path(folder, "out");
    bl_error err = {0};
    assert_int_equal(bl_fs_replace(path, "old", 3, &err), BL_OK);
    struct rlimit old, tiny;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tiny = (struct rlimit){.rlim_cur = 1000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0); /* a full disk, as far as the file can tell */
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    char big[5000] = {0};
    int rc = bl_fs_replace(path, big, sizeof big, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, old_handler);
    assert_int_equal(rc, BL_ERR_IO);
    char *data = NULL;
    assert_int_equal(bl_fs_read(path, 10, &data, NULL, NULL), BL_OK);
    assert_string_equal(data, "old");
    free(data);
    assert_int_equal(count_entries(folder), 1);

    bl_error_clear(&err);
    test_alloc_fail_after(0);
    rc = bl_fs_replace(path, "x", 1, &err);
    test_alloc_restore();
    assert_int_equal(rc, BL_ERR_NOMEM);

    char *nowhere = test_path(folder, "no/such/folder");
    bl_error_clear(&err);
    assert_int_equal(bl_fs_replace(nowhere, "x", 1, &err), BL_ERR_ENV);
    free(nowhere);
    free(path);
    /* A folder in the way: the rename fails, and the temporary file goes. */
    path = test_path(folder, "taken");
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    bl_error_clear(&err);
    assert_int_not_equal(bl_fs_replace(path, "x", 1, &err), BL_OK);
    assert_int_equal(count_entries(folder), 2);
    free(path);
}

static void test_replace_with_pieces(void **state)
{
    char *path = test_path(folder, "out"), *data = NULL;
    bl_error err = {0};
    size_t len;
    bl_fs_piece pieces[] = {{"one", 3}, {"", 0}, {" and two", 8}};
    assert_int_equal(bl_fs_replace_pieces(path, pieces, 3, &err), BL_OK);
    assert_int_equal(bl_fs_read(path, 20, &data, &len, &err), BL_OK);
    assert_string_equal(data, "one and two");
    assert_int_equal(count_entries(folder), 1);
    free(data);
    /* A temporary name that is taken by another file is left alone. */
    bl_str taken;
    bl_str_init(&taken);
    bl_str_printf(&taken, "%s.tmp%ld-0", path, (long)getpid());
    test_write_file(taken.data, "mine", 4);
    assert_int_equal(bl_fs_replace_pieces(path, pieces, 1, &err), BL_OK);
    assert_int_equal(bl_fs_read(taken.data, 20, &data, &len, &err), BL_OK);
    assert_string_equal(data, "mine");
    free(data);
    bl_str_clear(&taken);
    free(path);
}

static void test_check_replace(void **state)
{
    char *path = test_path(folder, "out"), *nowhere = test_path(folder, "no/such/folder");
    bl_error err = {0};
    assert_int_equal(bl_fs_check_replace(path, &err), BL_OK);
    assert_int_equal(count_entries(folder), 0);
    assert_int_equal(bl_fs_check_replace(folder, &err), BL_ERR_USAGE);
    assert_int_equal(bl_fs_check_replace("/dev/null", NULL), BL_ERR_USAGE);
    bl_error_clear(&err);
    assert_int_equal(bl_fs_check_replace(nowhere, &err), BL_ERR_ENV);
    assert_non_null(strstr(err.message, nowhere));
    free(nowhere);
    free(path);
}

static void test_exists(void **state)
{
    char *path = test_path(folder, "file");
    assert_false(bl_fs_exists(path));
    assert_false(bl_fs_is_dir(path));
    test_write_file(path, "x", 1);
    assert_true(bl_fs_exists(path));
    assert_false(bl_fs_is_dir(path));
    assert_true(bl_fs_is_file(path));
    assert_false(bl_fs_is_file(folder) || bl_fs_is_file("/dev/null"));
    assert_true(bl_fs_exists(folder));
    assert_true(bl_fs_is_dir(folder));
    free(path);
}

static void test_mkdirs(void **state)
{
    bl_error err = {0};
    char *deep = test_path(folder, "a//b/c/");
    assert_int_equal(bl_fs_mkdirs(deep, &err), BL_OK);
    assert_true(bl_fs_is_dir(deep));
    assert_int_equal(bl_fs_mkdirs(deep, &err), BL_OK); /* an existing one is fine */
    free(deep);
    char *file = test_path(folder, "file");
    test_write_file(file, "x", 1);
    assert_int_not_equal(bl_fs_mkdirs(file, &err), BL_OK);
    free(file);
    char *below = test_path(folder, "file/sub");
    bl_error_clear(&err);
    assert_int_equal(bl_fs_mkdirs(below, &err), BL_ERR_IO);
    assert_non_null(strstr(err.message, "file': File exists"));
    bl_error_clear(&err);
    test_alloc_fail_after(0);
    int rc = bl_fs_mkdirs(below, &err);
    test_alloc_restore();
    assert_int_equal(rc, BL_ERR_NOMEM);
    free(below);
    char *old = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(bl_fs_mkdirs("x/y", NULL), BL_OK); /* a relative path */
    assert_true(bl_fs_is_dir("x/y"));
    assert_int_equal(chdir(old), 0);
    free(old);
}

static void test_remove_tree_does_not_follow_links(void **state)
{
    char *kept = test_path(folder, "kept");
    char *kept_file = test_path(folder, "kept/file");
    char *tree = test_path(folder, "tree");
    char *sub = test_path(folder, "tree/sub");
    char *link = test_path(folder, "tree/sub/link");
    char *file = test_path(folder, "tree/sub/file");
    assert_int_equal(bl_fs_mkdirs(kept, NULL), BL_OK);
    assert_int_equal(bl_fs_mkdirs(sub, NULL), BL_OK);
    test_write_file(kept_file, "x", 1);
    test_write_file(file, "x", 1);
    assert_int_equal(symlink(kept, link), 0);
    bl_error err = {0};
    assert_int_equal(bl_fs_remove_tree(tree, &err), BL_OK);
    assert_false(bl_fs_exists(tree));
    assert_true(bl_fs_exists(kept_file));
    assert_int_equal(bl_fs_remove_tree(tree, &err), BL_ERR_ENV); /* it is gone */
    free(kept);
    free(kept_file);
    free(tree);
    free(sub);
    free(link);
    free(file);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_read),
        WITH_FOLDER(test_read_failures),
        cmocka_unit_test(test_read_proc),
        WITH_FOLDER(test_replace),
        WITH_FOLDER(test_replace_failures_keep_the_old_file),
        WITH_FOLDER(test_replace_with_pieces),
        WITH_FOLDER(test_check_replace),
        WITH_FOLDER(test_exists),
        WITH_FOLDER(test_mkdirs),
        WITH_FOLDER(test_remove_tree_does_not_follow_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
