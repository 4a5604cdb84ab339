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

/* A file that is being written beside PATH. Without a name (text.len == 0) it vanishes by itself where the process
 * dies. */
typedef struct draft {
    int fd;
    bl_str text; /* its name */
} draft;

/* malloc'd folder that PATH lies in; NULL when memory is out. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return bl_strdup(".");
    return slash == path ? bl_strdup("/") : bl_strndup(path, (size_t)(slash - path));
}

/* Some file systems have no nameless files: a name then, at random. */
static int open_draft(draft *d, const char *path, bl_error *err)
{
    bl_str_init(&d->text);
    char *folder = folder_of(path);
    if (!folder)
        return BL_FAIL(err, BL_ERR_NOMEM, "out of memory writing '%s'", path);
    d->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    if (d->fd >= 0)
        return BL_OK;
    bl_str_printf(&d->text, "%s.tmpXXXXXX", path);
    if (d->text.failed)
        return BL_FAIL(err, BL_ERR_NOMEM, "out of memory writing '%s'", path);
    d->fd = mkostemp(d->text.data, O_CLOEXEC);
    if (d->fd < 0) {
        bl_str_clear(&d->text);
        return fail_errno(err, "write", path);
    }
    /* mkostemp makes 0600; give what an ordinary open would give. */
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(d->fd, 0666 & ~mask) == 0 ? BL_OK : fail_errno(err, "write", path);
}

/* A nameless file cannot replace another in one step: it gets a name first. */
static int name_draft(draft *d, const char *path, bl_error *err)
{
    char fd_path[64];
    snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", d->fd);
    for (unsigned try = 0; d->text.len == 0; try++) {
        bl_str_printf(&d->text, "%s.tmp%ld-%u", path, (long)getpid(), try);
        if (d->text.failed)
            return BL_FAIL(err, BL_ERR_NOMEM, "out of memory writing '%s'", path);
        if (linkat(AT_FDCWD, fd_path, AT_FDCWD, d->text.data, AT_SYMLINK_FOLLOW) == 0)
            break;
        bl_str_reset(&d->text);
        if (errno != EEXIST || try == 1000)
            return fail_errno(err, "write", path);
    }
    return BL_OK;
}

static void close_draft(draft *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->text.len > 0)
        unlink(d->text.data);
    bl_str_clear(&d->text);
}

/* So that a rename outlives a power failure too. File systems that cannot do so say EINVAL; a folder that may be
 * written but not read cannot be opened: both have nothing better to offer. */
static int sync_folder(const char *path, bl_error *err)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int code = folder ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "out of memory writing '%s'", path);
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        code = fail_errno(err, "write", path);
    if (fd >= 0)
        close(fd);
    free(folder);
    return code;
}

int bl_fs_replace_pieces(const char *path, const bl_fs_piece *pieces, size_t n, bl_error *err)
{
    draft d = {.fd = -1};
    int rc = open_draft(&d, path, err);
    for (size_t i = 0; rc == BL_OK && i < n; i++)
        if (write_all(d.fd, pieces[i].data, pieces[i].len) != 0)
            rc = fail_errno(err, "write", path);
    if (rc == BL_OK && fsync(d.fd) != 0)
        rc = fail_errno(err, "write", path);
    if (rc == BL_OK)
        rc = name_draft(&d, path, err);
    if (rc == BL_OK && rename(d.text.data, path) != 0)
        rc = fail_errno(err, "replace", path);
    else if (rc == BL_OK)
        bl_str_reset(&d.text); /* nothing to remove */
    close_draft(&d);
    return rc == BL_OK ? sync_folder(path, err) : rc;
}

int bl_fs_replace(const char *path, const void *data, size_t len, bl_error *err)
{
    return bl_fs_replace_pieces(path, &(bl_fs_piece){.data = data, .len = len}, 1, err);
}

int bl_fs_check_replace(const char *path, bl_error *err)
{
    if (bl_fs_exists(path) && !bl_fs_is_file(path)) /* a device would be replaced by a file */
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' is not an ordinary file", path);
    draft d = {.fd = -1};
    int rc = open_draft(&d, path, err);
    close_draft(&d);
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

bool bl_fs_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
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
