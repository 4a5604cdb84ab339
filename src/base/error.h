/* Errors as values: every library function that can fail returns an int (0 = done, otherwise a
 * bl_code) and takes a bl_error as its last argument. The first failure wins: a function that gets
 * an error from below passes it on unchanged, or adds context with bl_error_context.
 * No library function prints, exits or aborts. */
#ifndef BL_BASE_ERROR_H
#define BL_BASE_ERROR_H

#include "base/attributes.h"

typedef enum bl_code {
    BL_OK = 0,
    BL_ERR_USAGE,       /* the user asked for something that makes no sense          -> exit 2 */
    BL_ERR_ENV,         /* the environment lacks something (file, library, right)    -> exit 3 */
    BL_ERR_IO,          /* reading or writing failed (disk full, read-only, pipe)    -> exit 3 */
    BL_ERR_NOMEM,       /* an allocation failed or a size overflows                  -> exit 3 */
    BL_ERR_FORMAT,      /* data from outside are malformed                           -> exit 2 */
    BL_ERR_BUSY,        /* somebody else holds what is needed (database, lock)       -> exit 3 */
    BL_ERR_FAILED,      /* a trial failed or a check did not hold                    -> exit 1 */
    BL_ERR_INTERRUPTED, /* stopped by a signal; what was measured is kept            -> exit 1 */
    BL_ERR_INTERNAL     /* a broken invariant of ours                                -> exit 3 */
} bl_code;

typedef struct bl_error {
    bl_code code;
    char message[480]; /* what and where: "batch list '8x': 'x' is not a number"          */
    char remedy[240];  /* what to do about it, empty where nothing sensible can be said     */
    const char *file;  /* source position of the first failure, for --debug                 */
    int line;
} bl_error;

/* Sets the error unless one is set already; returns the code of the error that stands.
 * `err` may be NULL. Text that does not fit is cut, never overrun. */
int bl_error_set(bl_error *err, bl_code code, const char *file, int line, const char *format, ...) BL_PRINTF(5, 6);
/* Adds the remedy to an error that has none yet. */
void bl_error_remedy(bl_error *err, const char *format, ...) BL_PRINTF(2, 3);
/* Puts "context: " before the message of a set error. */
void bl_error_context(bl_error *err, const char *format, ...) BL_PRINTF(2, 3);
void bl_error_clear(bl_error *err);
/* The exit status (0, 1, 2, 3) that a program gives for a code. */
int bl_error_exit_status(bl_code code);

#define BL_FAIL(err, code, ...) bl_error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__)

#endif
