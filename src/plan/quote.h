/* What the user typed, made fit for one line of an error message. Of use inside this room. */
#ifndef BL_PLAN_QUOTE_H
#define BL_PLAN_QUOTE_H

#include <stddef.h>

#define BL_QUOTE_MAX 72

typedef struct bl_quote {
    char text[BL_QUOTE_MAX + 8];
} bl_quote;

/* The first n bytes of text in single quotes, control characters as '?', cut with "..." where long. */
bl_quote bl_quote_n(const char *text, size_t n);

#endif
