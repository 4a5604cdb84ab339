#include "data/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int bl_files_list(const char *path, bool (*wanted)(const char *path, const char *name), bl_strv *out, bl_error *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return BL_FAIL(err, BL_ERR_ENV, "the folder '%s' cannot be read: %s", path, strerror(errno));
    int code = BL_OK;
    for (struct dirent *entry = readdir(dir); entry && code == BL_OK; entry = readdir(dir))
        if (entry->d_name[0] != '.' && wanted(path, entry->d_name) && bl_strv_push(out, entry->d_name) != BL_OK)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the names in '%s'", path);
    closedir(dir);
    if (code == BL_OK && out->len > 1)
        qsort(out->items, out->len, sizeof *out->items, compare_names);
    return code;
}

bool bl_files_is_folder(const char *path, const char *name)
{
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", path, name);
    return bl_fs_is_dir(full);
}

bool bl_files_is_image(const char *path, const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '.' &&
           (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

char *bl_files_cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bl_str path;
    bl_str_init(&path);
    if (cache && cache[0] == '/') /* what is relative is to be ignored, says the specification */
        bl_str_printf(&path, "%s/batchlab", cache);
    else if (home && home[0] == '/')
        bl_str_printf(&path, "%s/.cache/batchlab", home);
    return path.len > 0 ? bl_str_take(&path) : NULL;
}

static int read_whole(int fd, const char *path, bl_scratch *scratch, const uint8_t **data, size_t *len, bl_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is no file", path);
    if (info.st_size > BL_FILES_MAX_B)
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is larger than %lld bytes", path, (long long)BL_FILES_MAX_B);
    size_t size = (size_t)info.st_size, got = 0;
    uint8_t *room = bl_scratch_room(scratch, BL_SCRATCH_FILE, size + 1);
    if (!room)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to read '%s'", path);
    while (got < size) {
        ssize_t n = read(fd, room + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return BL_FAIL(err, BL_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
        if (n == 0) /* it has just become shorter: what decodes it will notice */
            break;
        got += (size_t)n;
    }
    *data = room;
    *len = got;
    return BL_OK;
}

int bl_files_read(const char *path, bl_scratch *scratch, const uint8_t **data, size_t *len, bl_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe by that name waits for nobody */
    if (fd < 0)
        return BL_FAIL(err, errno == ENOENT || errno == EACCES ? BL_ERR_ENV : BL_ERR_IO, "cannot open '%s': %s", path,
                       strerror(errno));
    int code = read_whole(fd, path, scratch, data, len, err);
    close(fd);
    return code;
}
