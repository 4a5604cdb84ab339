#include "data/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"

#define FILE_MAX_B ((size_t)256 << 20)

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

int bl_files_read_image(const char *path, int least, bl_image *out, bl_error *err)
{
    char *data = NULL;
    size_t len = 0;
    *out = (bl_image){0};
    int code = bl_fs_read(path, FILE_MAX_B, &data, &len, err);
    if (code == BL_OK)
        code = bl_image_decode((const uint8_t *)data, len, least, path, out, err);
    free(data);
    return code;
}
