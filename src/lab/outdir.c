#include "lab/outdir.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"

#define SAME_NAME_MAX 1000

static int append_absolute(const char *folder, bl_str *path, bl_error *err)
{
    char *absolute = realpath(folder, NULL);
    if (!absolute)
        return BL_FAIL(err, BL_ERR_IO, "the folder '%s' cannot be found: %s", folder, strerror(errno));
    bl_str_append(path, absolute);
    free(absolute);
    return path->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for a path") : BL_OK;
}

static int make_nameless(bl_str *path, bl_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/batchlab-outdir-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        BL_FAIL(err, BL_ERR_IO, "no folder for a trial's output can be made as '%s': %s", folder, strerror(errno));
        bl_error_remedy(err, "set TMPDIR to a folder with room");
        return BL_ERR_IO;
    }
    return append_absolute(folder, path, err);
}

int bl_outdir_make(const char *keep, const char *title, bl_str *path, bl_error *err)
{
    if (!keep)
        return make_nameless(path, err);
    int code = bl_fs_mkdirs(keep, err);
    if (code != BL_OK)
        return code;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%s", keep, title);
    for (int i = 2; mkdir(folder, 0777) != 0; i++) {
        if (errno != EEXIST || i > SAME_NAME_MAX)
            return BL_FAIL(err, BL_ERR_IO, "the folder '%s' cannot be made: %s", folder, strerror(errno));
        snprintf(folder, sizeof folder, "%s/%s-%d", keep, title, i);
    }
    return append_absolute(folder, path, err);
}
