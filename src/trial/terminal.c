#include "trial/terminal.h"

#include <string.h>

/* States: text; after ESC; inside ESC [ ...; inside a string such as a window title; ESC inside that; after ESC ( . */
enum { TEXT, ESCAPE, CONTROL, STRING, STRING_ESCAPE, CHARSET };

#define PARAMETER_MAX 9999

void bl_terminal_init(bl_terminal *t)
{
    memset(t, 0, sizeof *t);
}

typedef struct out {
    bl_terminal_sink sink;
    void *context;
} out;

static void give_out(bl_terminal *t, const out *o)
{
    if (t->fresh && t->len > 0)
        o->sink(o->context, t->line, t->len, t->t_ns);
    t->fresh = false;
}

static void begin_line(bl_terminal *t, const out *o)
{
    give_out(t, o);
    t->len = t->cursor = 0;
    t->skipping = false;
}

static void go_back(bl_terminal *t, size_t columns, const out *o)
{
    give_out(t, o); /* what follows overwrites it */
    t->cursor -= columns < t->cursor ? columns : t->cursor;
}

static void put(bl_terminal *t, char c, int64_t now_ns, const out *o)
{
    if (t->skipping)
        return;
    if (t->cursor == sizeof t->line) {
        give_out(t, o);
        t->skipping = true;
        return;
    }
    t->line[t->cursor++] = c;
    if (t->cursor > t->len)
        t->len = t->cursor;
    if (c != ' ') {
        t->fresh = true;
        t->t_ns = now_ns;
    }
}

/* ESC [ parameters final */
static void control(bl_terminal *t, char final, int64_t now_ns, const out *o)
{
    size_t n = t->has_parameter && t->parameter > 0 ? t->parameter : 1;
    switch (final) {
    case 'K':
        if (t->has_parameter && t->parameter > 0) {
            begin_line(t, o);
        } else if (t->cursor < t->len) {
            give_out(t, o);
            t->len = t->cursor;
        }
        break;
    case 'D':
        go_back(t, n, o);
        break;
    case 'C': /* over what stands there, or over nothing: one blank is as good as many */
        if (t->cursor < t->len)
            t->cursor += n < t->len - t->cursor ? n : t->len - t->cursor;
        else
            put(t, ' ', now_ns, o);
        break;
    case 'A': /* elsewhere: up, down, a column, a place, the screen cleared, a saved place */
    case 'B':
    case 'E':
    case 'F':
    case 'G':
    case 'H':
    case 'J':
    case 'f':
    case 'd':
    case 'u':
        begin_line(t, o);
        break;
    default: /* colours and modes */
        break;
    }
}

static void take_parameter(bl_terminal *t, unsigned char c)
{
    if (c == ';')
        t->second_parameter = true;
    if (c < '0' || c > '9' || t->second_parameter)
        return;
    t->has_parameter = true;
    t->parameter = t->parameter * 10 + (unsigned)(c - '0');
    if (t->parameter > PARAMETER_MAX)
        t->parameter = PARAMETER_MAX;
}

static void in_text(bl_terminal *t, unsigned char c, int64_t now_ns, const out *o)
{
    if (c == 0x1b)
        t->state = ESCAPE;
    else if (c == '\n' || c == '\r' || c == '\f' || c == '\v')
        begin_line(t, o);
    else if (c == '\b')
        go_back(t, 1, o);
    else if (c == '\t')
        put(t, ' ', now_ns, o);
    else if (c >= ' ' && c != 0x7f)
        put(t, (char)c, now_ns, o);
}

static void after_escape(bl_terminal *t, unsigned char c, const out *o)
{
    t->state = TEXT;
    if (c == '[') {
        t->state = CONTROL;
        t->parameter = 0;
        t->has_parameter = t->second_parameter = false;
    } else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X') {
        t->state = STRING;
    } else if (c == '(' || c == ')') {
        t->state = CHARSET;
    } else if (c == 'M' || c == 'D' || c == 'E' || c == '8' || c == 'c') {
        begin_line(t, o);
    } else if (c == 0x1b) {
        t->state = ESCAPE;
    }
}

static void in_control(bl_terminal *t, unsigned char c, int64_t now_ns, const out *o)
{
    if (c >= 0x20 && c < 0x40) {
        take_parameter(t, c);
        return;
    }
    t->state = TEXT;
    if (c >= 0x40 && c < 0x7f)
        control(t, (char)c, now_ns, o);
    else
        in_text(t, c, now_ns, o); /* broken off: a line end still ends a line */
}

static void in_string(bl_terminal *t, unsigned char c, int64_t now_ns, const out *o)
{
    if (c == '\a' || c == 0x9c) {
        t->state = TEXT;
    } else if (c == 0x1b) {
        t->state = STRING_ESCAPE;
    } else if (c == '\n' || c == '\r') { /* one that was never closed must not swallow the rest */
        t->state = TEXT;
        in_text(t, c, now_ns, o);
    }
}

void bl_terminal_feed(bl_terminal *t, const char *bytes, size_t n, int64_t now_ns, bl_terminal_sink sink, void *context)
{
    const out o = {sink, context};
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        switch (t->state) {
        case ESCAPE:
            after_escape(t, c, &o);
            break;
        case CONTROL:
            in_control(t, c, now_ns, &o);
            break;
        case STRING:
            in_string(t, c, now_ns, &o);
            break;
        case STRING_ESCAPE:
            t->state = c == '\\' ? TEXT : STRING;
            break;
        case CHARSET:
            t->state = TEXT;
            break;
        default:
            in_text(t, c, now_ns, &o);
            break;
        }
    }
}

void bl_terminal_end(bl_terminal *t, bl_terminal_sink sink, void *context)
{
    const out o = {sink, context};
    begin_line(t, &o);
    t->state = TEXT;
}
