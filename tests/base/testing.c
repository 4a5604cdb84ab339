#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

char *test_make_folder(void)
{
    const char *top = getenv("TMPDIR");
    size_t size = strlen(top ? top : "/tmp") + sizeof "/batchlab-test-XXXXXX";
    char *folder = malloc(size);
    assert_non_null(folder);
    snprintf(folder, size, "%s/batchlab-test-XXXXXX", top ? top : "/tmp");
    assert_non_null(mkdtemp(folder));
    return folder;
}

void test_remove_folder(char *folder)
{
    bl_error err = {0};
    if (bl_fs_remove_tree(folder, &err) != BL_OK)
        print_error("%s\n", err.message);
    free(folder);
}

char *test_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

void test_write_file(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

void test_capture_begin(test_capture *capture, int fd)
{
    fflush(NULL);
    capture->fd = fd;
    capture->file = tmpfile();
    assert_non_null(capture->file);
    capture->saved = dup(fd);
    assert_true(capture->saved >= 0);
    assert_true(dup2(fileno(capture->file), fd) >= 0);
}

char *test_capture_end(test_capture *capture)
{
    fflush(NULL);
    assert_true(dup2(capture->saved, capture->fd) >= 0);
    close(capture->saved);
    long size = (fseek(capture->file, 0, SEEK_END), ftell(capture->file));
    assert_true(size >= 0);
    rewind(capture->file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    text[fread(text, 1, (size_t)size, capture->file)] = '\0';
    fclose(capture->file);
    return text;
}
