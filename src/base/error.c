#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void BL_PRINTF(3, 0) format_into(char *out, size_t size, const char *format, va_list args)
{
    if (vsnprintf(out, size, format, args) < 0)
        out[0] = '\0';
}

int bl_error_set(bl_error *err, bl_code code, const char *file, int line, const char *format, ...)
{
    if (!err)
        return code;
    if (err->code != BL_OK)
        return err->code;
    err->code = code;
    err->file = file;
    err->line = line;
    err->remedy[0] = '\0';
    va_list args;
    va_start(args, format);
    format_into(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

void bl_error_remedy(bl_error *err, const char *format, ...)
{
    if (!err || err->code == BL_OK || err->remedy[0])
        return;
    va_list args;
    va_start(args, format);
    format_into(err->remedy, sizeof err->remedy, format, args);
    va_end(args);
}

void bl_error_context(bl_error *err, const char *format, ...)
{
    if (!err || err->code == BL_OK)
        return;
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    format_into(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t len = strlen(err->message);
    /* The cause matters more than its context: a long context gives way, to half of the room. */
    size_t room = sizeof err->message - 1;
    if (len + 2 + strlen(old) > room && len > room / 2)
        len = room / 2;
    snprintf(err->message + len, sizeof err->message - len, ": %.*s", (int)(room - len - 2), old);
}

void bl_error_clear(bl_error *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}

int bl_error_exit_status(bl_code code)
{
    switch (code) {
    case BL_OK:
        return 0;
    case BL_ERR_FAILED:
    case BL_ERR_INTERRUPTED:
        return 1;
    case BL_ERR_USAGE:
    case BL_ERR_FORMAT:
        return 2;
    case BL_ERR_ENV:
    case BL_ERR_IO:
    case BL_ERR_NOMEM:
    case BL_ERR_BUSY:
    case BL_ERR_INTERNAL:
        break;
    }
    return 3;
}
