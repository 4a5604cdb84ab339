#include "telemetry/sysfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "telemetry/procfs_text.h"

bool bl_sysfile_path(char *path, size_t size, const char *root, const char *format, ...)
{
    int n = snprintf(path, size, "%s", root);
    if (n < 0 || (size_t)n >= size)
        return false;
    va_list args;
    va_start(args, format);
    int m = vsnprintf(path + n, size - (size_t)n, format, args);
    va_end(args);
    return m >= 0 && (size_t)m < size - (size_t)n;
}

ssize_t bl_sysfile_read(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t len = 0;
    ssize_t n;
    do {
        n = read(fd, out + len, size - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    } while ((n > 0 && len < size - 1) || (n < 0 && errno == EINTR));
    int saved = errno;
    close(fd);
    errno = saved;
    out[len] = '\0';
    return n < 0 ? -1 : (ssize_t)len;
}

bool bl_sysfile_i64(const char *path, int64_t *out)
{
    char text[64];
    const char *at = text;
    if (bl_sysfile_read(path, text, sizeof text) < 0)
        return false;
    if (bl_text_take_i64(&at, out) && (*at == '\n' || *at == '\0'))
        return true;
    errno = EINVAL;
    return false;
}

bool bl_sysfile_line(const char *path, char *out, size_t size)
{
    if (bl_sysfile_read(path, out, size) < 0)
        return false;
    size_t n = strcspn(out, "\n");
    while (n > 0 && (out[n - 1] == ' ' || out[n - 1] == '\t' || out[n - 1] == '\r'))
        n--;
    out[n] = '\0';
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

int bl_sysfile_list(const char *folder, const char *prefix, bl_strv *out)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return BL_OK;
    int code = BL_OK;
    size_t n = strlen(prefix);
    for (struct dirent *entry = readdir(dir); entry && code == BL_OK; entry = readdir(dir))
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, n) == 0)
            code = bl_strv_push(out, entry->d_name);
    closedir(dir);
    if (out->len > 1)
        qsort(out->items, out->len, sizeof *out->items, compare_names);
    return code;
}
