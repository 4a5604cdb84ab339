#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *program_name = "batchlab";
static bl_log_level current_level = BL_LOG_NORMAL;

void bl_log_init(const char *program, bl_log_level level)
{
    program_name = program;
    current_level = level;
}

static void BL_PRINTF(2, 0) say(const char *kind, const char *format, va_list args)
{
    /* One write for one message: lines of several processes do not mix. */
    char line[1024];
    int head = snprintf(line, sizeof line, "%s: %s", program_name, kind);
    size_t len = head < 0 ? 0 : (size_t)head;
    if (len >= sizeof line)
        len = sizeof line - 1;
    vsnprintf(line + len, sizeof line - len, format, args);
    fprintf(stderr, "%s\n", line);
}

#define BL_SAY(kind, least)                                                                                            \
    do {                                                                                                               \
        if (current_level >= (least)) {                                                                                \
            va_list args;                                                                                              \
            va_start(args, format);                                                                                    \
            say((kind), format, args);                                                                                 \
            va_end(args);                                                                                              \
        }                                                                                                              \
    } while (0)

void bl_log_note(const char *format, ...)
{
    BL_SAY("", BL_LOG_NORMAL);
}

void bl_log_verbose(const char *format, ...)
{
    BL_SAY("", BL_LOG_VERBOSE);
}

void bl_log_warn(const char *format, ...)
{
    BL_SAY("warning: ", BL_LOG_QUIET);
}

int bl_log_error(const bl_error *err)
{
    if (err->code == BL_OK)
        return 0;
    fprintf(stderr, "%s: error: %s\n", program_name, err->message);
    if (err->remedy[0])
        fprintf(stderr, "  try: %s\n", err->remedy);
    if (current_level >= BL_LOG_DEBUG && err->file)
        fprintf(stderr, "  (from %s:%d)\n", err->file, err->line);
    return bl_error_exit_status(err->code);
}
