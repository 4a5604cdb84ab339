#include "train/train_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/parse.h"
#include "base/str.h"

#define LOG_MAX_B (64 << 20)

static bool is_later(const char *line, int64_t keep_epochs)
{
    char number[32];
    int64_t epoch;
    size_t n = strcspn(line, ",\n");
    if (n >= sizeof number)
        return true;
    memcpy(number, line, n);
    number[n] = '\0';
    return bl_parse_i64(number, "epoch", 1, INT64_MAX, &epoch, NULL) != BL_OK || epoch > keep_epochs;
}

/* Epochs that are trained again from a checkpoint are logged again. */
static int cut(const char *path, const char *header, int64_t keep_epochs, bl_error *err)
{
    char *text;
    size_t len, n = strlen(header);
    int code = bl_fs_read(path, LOG_MAX_B, &text, &len, err);
    if (code != BL_OK)
        return code;
    if (len > 0 && (len <= n || memcmp(text, header, n) != 0 || text[n] != '\n'))
        code = BL_FAIL(err, BL_ERR_USAGE, "'%s' is no log with the columns %s", path, header);
    char *end = len > 0 ? text + n + 1 : text;
    for (char *next; code == BL_OK && (next = strchr(end, '\n')) && !is_later(end, keep_epochs);)
        end = next + 1;
    if (code == BL_OK)
        code = bl_fs_replace(path, text, (size_t)(end - text), err);
    free(text);
    return code;
}

int bl_train_log_open(const char *path, const char *header, int64_t keep_epochs, FILE **out, bl_error *err)
{
    bool lengthen = keep_epochs >= 0 && bl_fs_is_file(path);
    int code = lengthen ? cut(path, header, keep_epochs, err) : BL_OK;
    if (code != BL_OK)
        return code;
    *out = fopen(path, lengthen ? "a" : "w");
    if (!*out)
        return BL_FAIL(err, BL_ERR_IO, "'%s' cannot be written: %s", path, strerror(errno));
    fseek(*out, 0, SEEK_END);
    if (!lengthen || ftell(*out) == 0)
        fprintf(*out, "%s\n", header);
    return BL_OK;
}
