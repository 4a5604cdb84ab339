#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void bl_str_init(bl_str *s)
{
    memset(s, 0, sizeof *s);
}

void bl_str_clear(bl_str *s)
{
    free(s->data);
    bl_str_init(s);
}

void bl_str_reset(bl_str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->data)
        s->data[0] = '\0';
}

/* Room for n more bytes and the NUL. */
static bool reserve(bl_str *s, size_t n)
{
    if (s->failed)
        return false;
    size_t need;
    if (__builtin_add_overflow(s->len, n, &need) || __builtin_add_overflow(need, (size_t)1, &need)) {
        s->failed = true;
        return false;
    }
    if (need <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap : 32;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *data = bl_realloc(s->data, cap, 1);
    if (!data) {
        s->failed = true;
        return false;
    }
    s->data = data;
    s->cap = cap;
    return true;
}

void bl_str_append_n(bl_str *s, const char *bytes, size_t n)
{
    if (!reserve(s, n))
        return;
    if (n)
        memcpy(s->data + s->len, bytes, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void bl_str_append(bl_str *s, const char *text)
{
    bl_str_append_n(s, text, strlen(text));
}

void bl_str_append_c(bl_str *s, char c)
{
    bl_str_append_n(s, &c, 1);
}

void bl_str_vprintf(bl_str *s, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        s->failed = true;
    else if (reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, format, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void bl_str_printf(bl_str *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bl_str_vprintf(s, format, args);
    va_end(args);
}

const char *bl_str_text(const bl_str *s)
{
    return s->data ? s->data : "";
}

char *bl_str_take(bl_str *s)
{
    char *out = s->failed ? NULL : s->data;
    if (!s->failed && !out)
        out = bl_strdup("");
    if (s->failed)
        free(s->data);
    bl_str_init(s);
    return out;
}

char *bl_strndup(const char *text, size_t n)
{
    size_t len = strnlen(text, n);
    char *out = malloc(len + 1);
    if (!out)
        return NULL;
    memcpy(out, text, len);
    out[len] = '\0';
    return out;
}

char *bl_strdup(const char *text)
{
    return bl_strndup(text, strlen(text));
}

void bl_strv_init(bl_strv *v)
{
    memset(v, 0, sizeof *v);
}

void bl_strv_clear(bl_strv *v)
{
    for (size_t i = 0; i < v->len; i++)
        free(v->items[i]);
    free(v->items);
    bl_strv_init(v);
}

int bl_strv_push(bl_strv *v, const char *text)
{
    if (v->len + 2 > v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 8;
        char **items = bl_realloc(v->items, cap, sizeof *items);
        if (!items)
            return BL_ERR_NOMEM;
        v->items = items;
        v->cap = cap;
    }
    char *copy = bl_strdup(text);
    if (!copy)
        return BL_ERR_NOMEM;
    v->items[v->len++] = copy;
    v->items[v->len] = NULL;
    return BL_OK;
}

int bl_str_distance(const char *a, const char *b)
{
    enum { MAX = 63 };
    int row[MAX + 1];
    int na = (int)strnlen(a, MAX), nb = (int)strnlen(b, MAX);
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
            row[j] = replace < best ? replace : best;
        }
    }
    return row[nb];
}
