/* A growing string. After a failed allocation it keeps what it had and `failed` stays set, so that a
 * chain of appends needs one check at its end. */
#ifndef BL_BASE_STR_H
#define BL_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

typedef struct bl_str {
    char *data; /* NUL-terminated, or NULL while nothing was appended; read with bl_str_text */
    size_t len;
    size_t cap;
    bool failed;
} bl_str;

void bl_str_init(bl_str *s);
void bl_str_clear(bl_str *s); /* frees; the string is empty and usable again */
void bl_str_reset(bl_str *s); /* empties, keeps the memory */
void bl_str_append(bl_str *s, const char *text);
void bl_str_append_n(bl_str *s, const char *bytes, size_t n);
void bl_str_append_c(bl_str *s, char c);
void bl_str_printf(bl_str *s, const char *format, ...) BL_PRINTF(2, 3);
void bl_str_vprintf(bl_str *s, const char *format, va_list args) BL_PRINTF(2, 0);
/* Never NULL. */
const char *bl_str_text(const bl_str *s);
/* Gives the heap string to the caller (never NULL unless failed) and empties s. */
char *bl_str_take(bl_str *s);

/* malloc'd copies; NULL when memory is out. */
char *bl_strdup(const char *text) BL_MUST_CHECK;
char *bl_strndup(const char *text, size_t n) BL_MUST_CHECK;

/* Edits (insert, delete, replace) that lead from a to b, both cut at 63 characters: for "did you mean". */
int bl_str_distance(const char *a, const char *b);

/* A growing list of owned strings. */
typedef struct bl_strv {
    char **items; /* items[len] is NULL once anything was pushed: usable as an argv */
    size_t len;
    size_t cap;
} bl_strv;

void bl_strv_init(bl_strv *v);
void bl_strv_clear(bl_strv *v);
/* Copies text; 0 or BL_ERR_NOMEM. */
int bl_strv_push(bl_strv *v, const char *text) BL_MUST_CHECK;

#endif
