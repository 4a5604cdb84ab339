/* A command in one text, split into words as a shell would, but with nothing expanded: blanks separate, 'single' and
 * "double" quotes keep them, a backslash takes the next character as it is (inside double quotes only before ", \ and
 * $ and `). */
#ifndef BL_PLAN_WORDS_H
#define BL_PLAN_WORDS_H

#include "base/error.h"
#include "base/str.h"

/* `out` is initialised here, and left empty on an error. BL_ERR_USAGE: a quote that is not closed, a backslash at the
 * end, or no word at all. */
int bl_words_split(const char *text, bl_strv *out, bl_error *err);

#endif
