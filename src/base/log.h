/* Messages for people, on stderr. Only programs (lab, train) call these; libraries return errors. */
#ifndef BL_BASE_LOG_H
#define BL_BASE_LOG_H

#include "base/attributes.h"
#include "base/error.h"

typedef enum bl_log_level { BL_LOG_QUIET, BL_LOG_NORMAL, BL_LOG_VERBOSE, BL_LOG_DEBUG } bl_log_level;

/* `program` is borrowed and stands before each message. */
void bl_log_init(const char *program, bl_log_level level);
void bl_log_note(const char *format, ...) BL_PRINTF(1, 2);    /* from NORMAL up */
void bl_log_verbose(const char *format, ...) BL_PRINTF(1, 2); /* from VERBOSE up */
void bl_log_warn(const char *format, ...) BL_PRINTF(1, 2);    /* always */
/* Prints "program: error: message" and "  try: remedy"; returns the exit status for the code. */
int bl_log_error(const bl_error *err);

#endif
