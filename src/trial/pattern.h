/* Regular expressions (PCRE2) over what programs print: bytes, not characters, since output may be no UTF-8. What one
 * search may cost is bounded, whatever the pattern and the text. */
#ifndef BL_TRIAL_PATTERN_H
#define BL_TRIAL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct bl_pattern bl_pattern;

typedef enum bl_found {
    BL_FOUND_NOT,
    BL_FOUND,
    BL_FOUND_GAVE_UP /* the search was broken off at the bound */
} bl_found;

/* ^ and $ stand for the ends of lines. `what` names it in errors: "--oom-pattern". BL_ERR_USAGE where it is no
 * expression, with the place. */
int bl_pattern_new(const char *text, const char *what, bl_pattern **out, bl_error *err);
void bl_pattern_free(bl_pattern *pattern); /* NULL is fine */

/* Searches the n bytes of text, from the offset `from` on. Where found, the groups stand until the next search. */
bl_found bl_pattern_find(const bl_pattern *pattern, const char *text, size_t n, size_t from);
/* Named group i, from 0; NULL beyond the last. *group, where not NULL, gets its number. The text is the pattern's. */
const char *bl_pattern_name(const bl_pattern *pattern, size_t i, int *group);
/* The number of a named group, -1 where the pattern has none of that name. */
int bl_pattern_group(const bl_pattern *pattern, const char *name);
/* Where a group of the last search lies; group 0 is all of the match. False where it took no part, or is -1. */
bool bl_pattern_span(const bl_pattern *pattern, int group, size_t *start, size_t *len);

#endif
