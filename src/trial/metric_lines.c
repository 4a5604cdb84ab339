#include "trial/metric_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "trial/pattern.h"

#define NUMBER_MAX_B 64
#define STEP         "step"

struct bl_metric_patterns {
    bl_pattern **items;
    size_t n;
};

void bl_metric_patterns_free(bl_metric_patterns *patterns)
{
    if (!patterns)
        return;
    for (size_t i = 0; i < patterns->n; i++)
        bl_pattern_free(patterns->items[i]);
    free(patterns->items);
    free(patterns);
}

static int add_pattern(bl_metric_patterns *p, const char *regex, bl_error *err)
{
    int code = bl_pattern_new(regex, "--metric-regex", &p->items[p->n], err);
    if (code != BL_OK)
        return code;
    const char *name;
    bool any = false;
    bl_pattern *added = p->items[p->n++];
    for (size_t i = 0; (name = bl_pattern_name(added, i, NULL)) != NULL; i++)
        any = any || strcmp(name, STEP) != 0;
    if (any)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "--metric-regex '%s' names no metric", regex);
    bl_error_remedy(err, "a named group, such as 'accuracy: (?<top1>[0-9.]+)'");
    return BL_ERR_USAGE;
}

int bl_metric_patterns_new(const bl_strv *regexes, bl_metric_patterns **out, bl_error *err)
{
    *out = NULL;
    if (regexes->len == 0)
        return BL_OK;
    bl_metric_patterns *p = bl_calloc(1, sizeof *p);
    if (p)
        p->items = bl_calloc(regexes->len, sizeof *p->items);
    if (!p || !p->items) {
        bl_metric_patterns_free(p);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for --metric-regex");
    }
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < regexes->len; i++)
        code = add_pattern(p, regexes->items[i], err);
    if (code == BL_OK)
        *out = p;
    else
        bl_metric_patterns_free(p);
    return code;
}

void bl_metric_lines_init(bl_metric_lines *lines, const bl_metric_patterns *patterns)
{
    *lines = (bl_metric_lines){.patterns = patterns};
    bl_str_init(&lines->line);
}

void bl_metric_lines_clear(bl_metric_lines *lines)
{
    bl_str_clear(&lines->line);
}

/* The text of a group, as a C string: false where it took no part or is too long for a number. */
static bool group_text(const bl_pattern *pattern, int group, const char *line, char *out)
{
    size_t start, len;
    if (!bl_pattern_span(pattern, group, &start, &len) || len >= NUMBER_MAX_B || memchr(line + start, '\0', len))
        return false;
    memcpy(out, line + start, len);
    out[len] = '\0';
    return true;
}

static void take_match(bl_metric_lines *l, const bl_pattern *pattern, bl_metric_sink sink, void *context)
{
    char text[NUMBER_MAX_B];
    const char *name, *line = bl_str_text(&l->line);
    bl_error ignored = {0};
    int64_t step = -1;
    int group;
    double value;
    if (group_text(pattern, bl_pattern_group(pattern, STEP), line, text) &&
        bl_parse_i64(text, STEP, 0, INT64_MAX, &step, &ignored) != BL_OK)
        step = -1;
    for (size_t i = 0; (name = bl_pattern_name(pattern, i, &group)) != NULL; i++) {
        if (strcmp(name, STEP) == 0 || !group_text(pattern, group, line, text) ||
            bl_parse_f64(text, name, &value, &ignored) != BL_OK || !isfinite(value))
            continue;
        l->n_values++;
        sink(context, name, value, step);
    }
}

static void end_line(bl_metric_lines *l, bl_metric_sink sink, void *context)
{
    for (size_t i = 0; !l->skipping && l->line.len > 0 && i < l->patterns->n; i++) {
        bl_found found = bl_pattern_find(l->patterns->items[i], l->line.data, l->line.len, 0);
        if (found == BL_FOUND)
            take_match(l, l->patterns->items[i], sink, context);
        l->n_gave_up += found == BL_FOUND_GAVE_UP;
    }
    l->skipping = false;
    bl_str_reset(&l->line);
}

void bl_metric_lines_feed(bl_metric_lines *l, const char *bytes, size_t n, bl_metric_sink sink, void *context)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (end - i > BL_METRIC_LINE_MAX_B - l->line.len)
            l->skipping = true;
        if (!l->skipping)
            bl_str_append_n(&l->line, bytes + i, end - i);
        if (l->line.failed) {
            l->skipping = true;
            l->line.failed = false;
        }
        if (end < n)
            end_line(l, sink, context);
        i = end + 1;
    }
}

void bl_metric_lines_end(bl_metric_lines *l, bl_metric_sink sink, void *context)
{
    end_line(l, sink, context);
}
