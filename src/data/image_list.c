#include "data/image_list.h"

#include <stdlib.h>
#include <string.h>

static int refuse(const char *name, size_t line, const char *what, bl_error *err)
{
    BL_FAIL(err, BL_ERR_FORMAT, "'%s', line %zu: %s", name, line, what);
    bl_error_remedy(err, "a line is the path of an image");
    return BL_ERR_FORMAT;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int push(const char *path, size_t len, bl_strv *out, bl_error *err)
{
    char *copy = bl_strndup(path, len);
    int code =
        copy && bl_strv_push(out, copy) == BL_OK ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a list of images");
    free(copy);
    return code;
}

int bl_image_list_parse(const char *text, size_t len, const char *name, bl_strv *out, bl_error *err)
{
    size_t line = 0;
    for (const char *p = text, *end = text + len; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end, *next = stop + 1;
        line++;
        while (p < stop && is_blank(*p))
            p++;
        while (stop > p && is_blank(stop[-1]))
            stop--;
        while (stop - p > 2 && p[0] == '.' && p[1] == '/')
            p += 2;
        size_t n = (size_t)(stop - p);
        if (n > BL_IMAGE_LIST_LINE_MAX)
            return refuse(name, line, "too long for a path", err);
        if (memchr(p, 0, n))
            return refuse(name, line, "there is a zero byte in it", err);
        int code = n > 0 ? push(p, n, out, err) : BL_OK;
        if (code != BL_OK)
            return code;
        if (!newline)
            break;
        p = next;
    }
    return BL_OK;
}
