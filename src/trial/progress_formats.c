#include "trial/progress_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "trial/pattern.h"

#define NUMBER_MAX 1e15

enum { DONE, TOTAL, LABEL, SAMPLES, RATE, UNIT, SECONDS, MILLISECONDS, N_GROUPS };
static const char *const group_names[N_GROUPS] = {"done", "total", "label", "samples", "rate", "unit", "s", "ms"};

typedef struct format {
    const char *name, *hint; /* borrowed from the table, or static */
    bool weak, counts_samples;
    bl_pattern *pattern;
    int groups[N_GROUPS];
} format;

/* Words of labels. Earlier rows win. */
enum { N_KINDS = 3 };
static const struct {
    bl_progress_kind kind;
    const char *pattern;
} kind_words[N_KINDS] = {
    {BL_PROGRESS_SETUP,
     "(?i)^\\W*(?:download|cach|scan|load|read|extract|prepar|map\\b|tokeni|filter|generat|build|fetch|"
     "resolv|sav|writ|copy|unpack|collect|index|verif|import|compil|autotun|warm)"},
    {BL_PROGRESS_TRAIN, "(?i)(?<![a-z])(?:train|fit)"},
    {BL_PROGRESS_EVAL,
     "(?i)(?<![a-z])(?:val|valid\\w*|test\\w*|eval\\w*|predict\\w*|infer\\w*|sanity|dev)(?![a-z]|[_ -]?"
     "(?:loss|acc|f1|err|top))|\\bclass +images\\b"},
};

struct bl_progress_formats {
    format *items;
    size_t len;
    bl_pattern *kinds[N_KINDS];
};

void bl_progress_formats_free(bl_progress_formats *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->len; i++)
        bl_pattern_free(f->items[i].pattern);
    for (size_t i = 0; i < N_KINDS; i++)
        bl_pattern_free(f->kinds[i]);
    free(f->items);
    free(f);
}

static int compile(format *f, const char *pattern, const char *what, bl_error *err)
{
    int code = bl_pattern_new(pattern, what, &f->pattern, err);
    for (size_t g = 0; code == BL_OK && g < N_GROUPS; g++)
        f->groups[g] = bl_pattern_group(f->pattern, group_names[g]);
    return code;
}

static int compile_user(format *f, const char *regex, bl_error *err)
{
    *f = (format){.name = "--progress-regex", .hint = ""};
    int code = compile(f, regex, "--progress-regex", err);
    if (code == BL_OK && f->groups[DONE] < 0) {
        code = BL_FAIL(err, BL_ERR_USAGE, "--progress-regex '%s' has no group named done", regex);
        bl_error_remedy(err, "name the counter: --progress-regex 'step (?<done>\\d+)/(?<total>\\d+)'");
    }
    return code;
}

int bl_progress_formats_new(const bl_strv *regexes, bool all_samples, bl_progress_formats **out, bl_error *err)
{
    bool given = regexes && regexes->len > 0;
    size_t n = given ? regexes->len : bl_n_progress_table;
    *out = NULL;
    bl_progress_formats *f = bl_calloc(1, sizeof *f);
    if (f)
        f->items = bl_calloc(n, sizeof *f->items);
    int code = f && f->items ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the progress formats");
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        format *item = &f->items[f->len++];
        const bl_progress_format *row = &bl_progress_table[given ? 0 : i];
        if (given) {
            code = compile_user(item, regexes->items[i], err);
        } else {
            *item = (format){row->name, row->hint, row->weak, row->counts_samples, NULL, {0}};
            code = compile(item, row->pattern, "the built-in progress format", err);
        }
        item->counts_samples |= all_samples;
    }
    for (size_t i = 0; code == BL_OK && i < N_KINDS; i++)
        code = bl_pattern_new(kind_words[i].pattern, "the built-in label words", &f->kinds[i], err);
    if (code == BL_OK)
        *out = f;
    else
        bl_progress_formats_free(f);
    return code;
}

/* ---- numbers ---- */

static bool is_mark(char c)
{
    return c == '.' || c == ',' || c == '_' || c == '\'';
}

static double suffix_factor(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1e3;
    case 'M':
        return 1e6;
    case 'G':
        return 1e9;
    case 'T':
        return 1e12;
    default:
        return 1;
    }
}

/* Whether every mark has three digits behind it, and one to three stand before the first. */
static bool is_grouped(const char *text, size_t n)
{
    size_t digits = 0;
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        if (!is_mark(text[i])) {
            digits++;
            continue;
        }
        if (first ? digits < 1 || digits > 3 : digits != 3)
            return false;
        first = false;
        digits = 0;
    }
    return first || digits == 3;
}

bool bl_progress_number(const char *text, size_t n, bool counter, double *out, int64_t *granule)
{
    double factor = n > 0 ? suffix_factor(text[n - 1]) : 1;
    bool scaled = factor > 1;
    n -= scaled;
    size_t marks = 0, last = n, digits = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_mark(text[i])) {
            marks++;
            last = i;
        } else if (text[i] < '0' || text[i] > '9') {
            return false;
        } else {
            digits++;
        }
    }
    if (digits == 0 || digits > 15)
        return false;
    /* In a counter marks group digits. Elsewhere several do so; a single one begins the fraction. */
    bool whole = marks == 0 || (is_grouped(text, n) && ((counter && !scaled) || marks > 1));
    double value = 0, unit = 1;
    for (size_t i = 0; i < n; i++) {
        if (is_mark(text[i]))
            continue;
        value = value * 10 + (text[i] - '0');
        if (!whole && i > last)
            unit /= 10;
    }
    *out = value * unit * factor;
    if (granule)
        *granule = unit * factor > 1 ? (int64_t)llround(unit * factor) : 1;
    return *out <= NUMBER_MAX;
}

/* ---- one line ---- */

static bool take_number(const format *f, int group, const char *line, bool counter, double *out, int64_t *granule)
{
    size_t start, len;
    return bl_pattern_span(f->pattern, f->groups[group], &start, &len) &&
           bl_progress_number(line + start, len, counter, out, granule);
}

/* "12.5" and "kit/s", "s/it", "ms/step" -> steps a second; NaN where it counts something else. */
static double printed_rate(const format *f, const char *line)
{
    double value;
    size_t start, len;
    if (take_number(f, SECONDS, line, false, &value, NULL))
        return value > 0 ? 1 / value : NAN;
    if (take_number(f, MILLISECONDS, line, false, &value, NULL))
        return value > 0 ? 1000 / value : NAN;
    if (!take_number(f, RATE, line, false, &value, NULL) || !(value > 0))
        return NAN;
    if (!bl_pattern_span(f->pattern, f->groups[UNIT], &start, &len))
        return value;
    const char *unit = line + start, *slash = memchr(unit, '/', len);
    if (!slash)
        return value;
    bool inverted = slash > unit && slash[-1] == 's' && !(unit + len - slash == 2 && slash[1] == 's');
    const char *noun = inverted ? slash + 1 : unit;
    size_t noun_n = inverted ? (size_t)(unit + len - noun) : (size_t)(slash - unit);
    double factor = 1;
    if (inverted) {
        factor = slash - unit == 1 ? 1 : unit[0] == 'm' ? 1e3 : 1e6;
    } else if (noun_n > 1 && suffix_factor(noun[0]) > 1) {
        factor = suffix_factor(noun[0]);
        noun++;
        noun_n--;
    }
    static const char *const nouns[] = {"it", "iter", "iters", "step", "steps", "batch", "batches"};
    for (size_t i = 0; i < BL_ARRAY_LEN(nouns); i++)
        if (noun_n == strlen(nouns[i]) && memcmp(noun, nouns[i], noun_n) == 0)
            return inverted ? factor / value : value * factor;
    return NAN;
}

/* Bytes a second: something is downloaded or written. */
static bool counts_bytes(const format *f, const char *line)
{
    size_t start, len;
    return bl_pattern_span(f->pattern, f->groups[UNIT], &start, &len) && len >= 3 &&
           memcmp(line + start + len - 3, "B/s", 3) == 0;
}

static bl_progress_kind kind_of(const bl_progress_formats *all, const format *f, const char *line)
{
    size_t start, len;
    if (counts_bytes(f, line))
        return BL_PROGRESS_SETUP;
    if (!bl_pattern_span(f->pattern, f->groups[LABEL], &start, &len))
        return BL_PROGRESS_UNKNOWN;
    for (size_t i = 0; i < N_KINDS; i++)
        if (bl_pattern_find(all->kinds[i], line + start, len, 0) == BL_FOUND)
            return kind_words[i].kind;
    return BL_PROGRESS_UNKNOWN;
}

static bool parse_by(const bl_progress_formats *all, size_t index, const char *line, size_t n, bl_progress_line *out)
{
    const format *f = &all->items[index];
    if (f->hint[0] && !memmem(line, n, f->hint, strlen(f->hint)))
        return false;
    if (bl_pattern_find(f->pattern, line, n, 0) != BL_FOUND)
        return false;
    *out = (bl_progress_line){.format = index,
                              .name = f->name,
                              .weak = f->weak,
                              .counts_samples = f->counts_samples,
                              .done = -1,
                              .granule = 1,
                              .samples = -1};
    double number;
    if (take_number(f, DONE, line, true, &number, &out->granule))
        out->done = (int64_t)number;
    else if (f->groups[DONE] >= 0)
        return false;
    if (take_number(f, TOTAL, line, true, &number, NULL))
        out->total = (int64_t)number;
    if (out->total > 0 && out->done > out->total)
        return false;
    if (take_number(f, SAMPLES, line, true, &number, NULL))
        out->samples = (int64_t)number;
    out->steps_per_s = printed_rate(f, line);
    out->kind = kind_of(all, f, line);
    return true;
}

bool bl_progress_parse(const bl_progress_formats *formats, const char *line, size_t n, bl_progress_line *out)
{
    for (size_t i = 0; i < formats->len; i++)
        if (parse_by(formats, i, line, n, out))
            return true;
    return false;
}
