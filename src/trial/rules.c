#include "trial/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "trial/pattern.h"

/* A line is cut here before it is searched, so that no pattern can make much of a long one. */
#define LINE_SEARCHED_B 1000

static const char *const names[] = {
    [BL_MESSAGE_NONE] = "none",           [BL_MESSAGE_SHARED_OOM] = "shm", [BL_MESSAGE_DEVICE_OOM] = "device_oom",
    [BL_MESSAGE_HOST_OOM] = "host_oom",   [BL_MESSAGE_LIMIT] = "limit",    [BL_MESSAGE_CRASH] = "crash",
    [BL_MESSAGE_AMBIGUOUS] = "ambiguous", [BL_MESSAGE_TIMEOUT] = "timeout"};

const char *bl_message_name(bl_message message)
{
    return (size_t)message < BL_ARRAY_LEN(names) ? names[message] : "unknown";
}

typedef struct rule {
    bl_message message;
    char *source;
    bl_pattern *pattern;
} rule;

struct bl_rules {
    rule *items;
    size_t len, cap;
    size_t n_added; /* these stand first */
};

void bl_rules_free(bl_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->len; i++) {
        free(rules->items[i].source);
        bl_pattern_free(rules->items[i].pattern);
    }
    free(rules->items);
    free(rules);
}

static int insert(bl_rules *rules, size_t at, bl_message message, const char *source, const char *pattern,
                  const char *what, bl_error *err)
{
    if (rules->len == rules->cap) {
        size_t cap = rules->cap ? rules->cap * 2 : 64;
        rule *items = bl_realloc(rules->items, cap, sizeof *items);
        if (!items)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the rules");
        rules->items = items;
        rules->cap = cap;
    }
    rule new = {.message = message};
    int code = bl_pattern_new(pattern, what, &new.pattern, err);
    if (code == BL_OK && !(new.source = bl_strdup(source)))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the rules");
    if (code != BL_OK) {
        bl_pattern_free(new.pattern);
        return code;
    }
    memmove(rules->items + at + 1, rules->items + at, (rules->len - at) * sizeof *rules->items);
    rules->items[at] = new;
    rules->len++;
    return BL_OK;
}

int bl_rules_new(bool builtin, bl_rules **out, bl_error *err)
{
    bl_rules *rules = bl_calloc(1, sizeof *rules);
    int code = rules ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the rules");
    for (size_t i = 0; builtin && code == BL_OK && i < bl_n_builtin_rules; i++) {
        const bl_builtin_rule *b = &bl_builtin_rules[i];
        code = insert(rules, rules->len, b->message, b->source, b->pattern, "the built-in rule", err);
    }
    if (code != BL_OK) {
        bl_rules_free(rules);
        rules = NULL;
    }
    *out = rules;
    return code;
}

int bl_rules_add(bl_rules *rules, bl_message message, const char *pattern, const char *where, bl_error *err)
{
    if (pattern[0] == '\0') {
        BL_FAIL(err, BL_ERR_USAGE, "%s: the pattern is empty, which every output would match", where);
        return BL_ERR_USAGE;
    }
    int code = insert(rules, rules->n_added, message, where, pattern, where, err);
    rules->n_added += code == BL_OK;
    return code;
}

static int add_line(bl_rules *rules, const char *line, size_t n, const char *where, int number, bl_error *err)
{
    bl_str name, pattern, place;
    bl_str_init(&name);
    bl_str_init(&pattern);
    bl_str_init(&place);
    bl_str_printf(&place, "%s, line %d", where, number);
    size_t word = 0;
    while (word < n && line[word] != ' ' && line[word] != '\t')
        word++;
    bl_str_append_n(&name, line, word);
    size_t at = word;
    while (at < n && (line[at] == ' ' || line[at] == '\t'))
        at++;
    bl_str_append_n(&pattern, line + at, n - at);
    size_t class = 0;
    while (class < BL_ARRAY_LEN(names) && strcmp(names[class], bl_str_text(&name)) != 0)
        class ++;
    int code;
    if (name.failed || pattern.failed || place.failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the rules");
    else if (class < BL_ARRAY_LEN(names))
        code = bl_rules_add(rules, (bl_message) class, bl_str_text(&pattern), bl_str_text(&place), err);
    else {
        code =
            BL_FAIL(err, BL_ERR_USAGE, "%s: '%.60s' is no class of messages", bl_str_text(&place), bl_str_text(&name));
        bl_error_remedy(err, "begin the line with device_oom, host_oom, shm, limit, crash, ambiguous, timeout or none");
    }
    bl_str_clear(&name);
    bl_str_clear(&pattern);
    bl_str_clear(&place);
    return code;
}

int bl_rules_add_text(bl_rules *rules, const char *text, const char *where, bl_error *err)
{
    int code = BL_OK;
    for (int number = 1; code == BL_OK && *text; number++) {
        size_t n = strcspn(text, "\n");
        size_t from = strspn(text, " \t\r"), to = n;
        while (to > from && strchr(" \t\r", text[to - 1]))
            to--;
        if (to > from && text[from] != '#')
            code = add_line(rules, text + from, to - from, where, number, err);
        text += n + (text[n] == '\n');
    }
    return code;
}

/* Length of the terminal control sequence at text[0] = ESC, at least 1. */
static size_t escape_len(const char *text, size_t n)
{
    if (n < 2 || text[1] != '[')
        return n < 2 ? 1 : 2;
    size_t i = 2;
    while (i < n && (unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x40)
        i++;
    return i < n ? i + 1 : n;
}

/* Colours out, carriage returns as line ends, long lines cut. */
static void clean(const char *text, size_t n, bl_str *out)
{
    size_t line = 0;
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i];
        if (c == 0x1b) {
            i += escape_len(text + i, n - i);
            continue;
        }
        if (c == '\n' || c == '\r') {
            line = 0;
            if (out->len == 0 || out->data[out->len - 1] != '\n')
                bl_str_append_c(out, '\n');
        } else if (line++ < LINE_SEARCHED_B) {
            bl_str_append_c(out, c < ' ' || c == 0x7f ? ' ' : (char)c);
        }
        i++;
    }
}

typedef struct span {
    size_t start, end;
} span;

/* The line around the offset. */
static span line_at(const bl_str *text, size_t at)
{
    span line = {.start = at, .end = at};
    while (line.start > 0 && text->data[line.start - 1] != '\n')
        line.start--;
    while (line.end < text->len && text->data[line.end] != '\n')
        line.end++;
    return line;
}

static bool is_harmless(const bl_rules *rules, const bl_str *text, span line)
{
    for (size_t i = 0; i < rules->len; i++)
        if (rules->items[i].message == BL_MESSAGE_NONE &&
            bl_pattern_find(rules->items[i].pattern, text->data + line.start, line.end - line.start, 0) == BL_FOUND)
            return true;
    return false;
}

static void copy_line(const bl_str *text, span line, char *out, size_t size)
{
    while (line.start < line.end && text->data[line.start] == ' ')
        line.start++;
    size_t n = line.end - line.start;
    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)text->data[line.start + n] & 0xC0) == 0x80) /* not inside a character */
            n--;
    }
    memcpy(out, text->data + line.start, n);
    out[n] = '\0';
}

static bool try_rule(const bl_rules *rules, const rule *r, const bl_str *text, bl_rule_match *out)
{
    for (size_t from = 0; from < text->len;) {
        bl_found found = bl_pattern_find(r->pattern, text->data, text->len, from);
        if (found == BL_FOUND_GAVE_UP)
            out->gave_up_on = r->source;
        size_t start = 0, len = 0;
        if (found != BL_FOUND || !bl_pattern_span(r->pattern, 0, &start, &len))
            return false;
        span line = line_at(text, start);
        if (!is_harmless(rules, text, line)) {
            out->message = r->message;
            out->source = r->source;
            /* A message over two lines is told by the second. */
            copy_line(text, line_at(text, len > 0 ? start + len - 1 : start), out->line, sizeof out->line);
            return true;
        }
        from = line.end + 1;
    }
    return false;
}

int bl_rules_match(const bl_rules *rules, const char *output, size_t n, bl_rule_match *out, bl_error *err)
{
    *out = (bl_rule_match){.message = BL_MESSAGE_NONE};
    bl_str text;
    bl_str_init(&text);
    clean(output, n, &text);
    int code = text.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory to look through the output") : BL_OK;
    for (size_t i = 0; code == BL_OK && i < rules->len; i++)
        if (rules->items[i].message != BL_MESSAGE_NONE && try_rule(rules, &rules->items[i], &text, out))
            break;
    bl_str_clear(&text);
    return code;
}
