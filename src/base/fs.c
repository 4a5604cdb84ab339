#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"

/* A missing file or right is the environment's fault, the rest is input and output. */
static int fail_errno(bl_error *err, const char *verb, const char *path)
{
    int e = errno;
    bl_code code = e == ENOENT || e == EACCES || e == EPERM || e == ENOTDIR ? BL_ERR_ENV : BL_ERR_IO;
    return BL_FAIL(err, code, "cannot %s '%s': %s", verb, path, strerror(e));
}

static int read_all(int fd, const char *path, size_t max_b, bl_str *text, bl_error *err)
{
    char buffer[16384];
    while (!text->failed) {
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "read", path);
        if (n == 0)
            break;
        if ((size_t)n > max_b - text->len)
            return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is larger than %zu bytes", path, max_b);
        bl_str_append_n(text, buffer, (size_t)n);
    }
    if (text->failed)
        return BL_FAIL(err, BL_ERR_NOMEM, "out of memory reading '%s'", path);
    return BL_OK;
}

int bl_fs_read(const char *path, size_t max_b, char **out, size_t *out_len, bl_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "open", path);
    bl_str text;
    bl_str_init(&text);
    int rc = read_all(fd, path, max_b, &text, err);
    close(fd);
    if (rc == BL_OK) {
        size_t len = text.len;
        char *data = bl_str_take(&text);
        if (data) {
            *out = data;
            if (out_len)
                *out_len = len;
            return BL_OK;
        }
        rc = BL_FAIL(err, BL_ERR_NOMEM, "out of memory reading '%s'", path);
    }
    bl_str_clear(&text);
    return rc;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

int bl_fs_replace(const char *path, const void *data, size_t len, bl_error *err)
{
    bl_str temp;
    bl_str_init(&temp);
    bl_str_printf(&temp, "%s.tmpXXXXXX", path);
    if (temp.failed) {
        bl_str_clear(&temp);
        return BL_FAIL(err, BL_ERR_NOMEM, "out of memory writing '%s'", path);
    }
    int rc = BL_OK;
    int fd = mkostemp(temp.data, O_CLOEXEC);
    if (fd < 0) {
        rc = fail_errno(err, "write", path);
        bl_str_clear(&temp);
        return rc;
    }
    /* mkstemp makes 0600; give what an ordinary open would give. */
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) != 0 || write_all(fd, data, len) != 0 || fsync(fd) != 0)
        rc = fail_errno(err, "write", path);
    if (close(fd) != 0 && rc == BL_OK)
        rc = fail_errno(err, "write", path);
    if (rc == BL_OK && rename(temp.data, path) != 0)
        rc = fail_errno(err, "replace", path);
    if (rc != BL_OK)
        unlink(temp.data);
    bl_str_clear(&temp);
    return rc;
}

bool bl_fs_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool bl_fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int bl_fs_mkdirs(const char *path, bl_error *err)
{
    char *copy = bl_strdup(path);
    if (!copy)
        return BL_FAIL(err, BL_ERR_NOMEM, "out of memory creating '%s'", path);
    int rc = BL_OK;
    for (char *p = copy + (*copy == '/'); rc == BL_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (*copy && mkdir(copy, 0777) != 0 && !(errno == EEXIST && bl_fs_is_dir(copy)))
            rc = fail_errno(err, "create folder", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    free(copy);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int bl_fs_remove_tree(const char *path, bl_error *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        return fail_errno(err, "remove", path);
    return BL_OK;
}
