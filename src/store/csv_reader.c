#include "store/csv_reader.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

typedef struct cursor {
    char *at; /* in a copy that is cut into fields in place */
    size_t line;
    bool row_ended, end, bad;
} cursor;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Of a field in quotes; the end of its text is returned, and c->at stands behind it. */
static char *quoted(cursor *c, char **begin)
{
    char *to = *begin = c->at;
    for (c->at++; *c->at; c->at++) {
        if (*c->at == '"' && c->at[1] != '"')
            break;
        c->at += *c->at == '"';
        c->line += *c->at == '\n';
        *to++ = *c->at;
    }
    c->bad = *c->at != '"';
    c->at += *c->at == '"';
    while (is_blank(*c->at))
        c->at++;
    c->bad = c->bad || (*c->at && !strchr(",\r\n", *c->at));
    return to;
}

static char *next_field(cursor *c)
{
    char *begin, *end;
    while (is_blank(*c->at))
        c->at++;
    if (*c->at == '"') {
        end = quoted(c, &begin);
    } else {
        begin = c->at;
        c->at += strcspn(c->at, ",\r\n");
        end = c->at;
        while (end > begin && is_blank(end[-1]))
            end--;
    }
    char stop = *c->at;
    c->row_ended = stop != ',';
    if (stop == '\r' && c->at[1] == '\n')
        c->at++;
    c->line += stop == '\r' || stop == '\n';
    c->at += *c->at != '\0';
    *end = '\0';
    return begin;
}

static void skip_blank_lines(cursor *c)
{
    for (char *p = c->at;; p++) {
        if (*p == '\n' || *p == '\r') {
            c->line += *p == '\n';
            c->at = p + 1;
        } else if (!is_blank(*p)) {
            break;
        }
    }
    c->end = c->at[strspn(c->at, " \t")] == '\0';
}

/* The rows after the first one. */
static int read_rows(cursor *c, bl_csv *out, size_t room, bl_error *err)
{
    for (skip_blank_lines(c); !c->end; skip_blank_lines(c)) {
        size_t column = 0, line = c->line;
        do {
            char *field = next_field(c);
            if (c->bad)
                return BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: a quote does not end where its field does", out->file,
                               line);
            if (column < out->n_columns && out->n_rows * out->n_columns + column < room)
                out->fields[out->n_rows * out->n_columns + column] = field;
            column++;
        } while (!c->row_ended);
        if (column != out->n_columns)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: %zu fields under %zu names", out->file, line, column,
                           out->n_columns);
        out->lines[out->n_rows++] = line;
    }
    return BL_OK;
}

int bl_csv_parse(const char *file, const char *text, bl_arena *arena, bl_csv *out, bl_error *err)
{
    *out = (bl_csv){.file = file};
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    size_t fields = 2, rows = 2; /* no more than commas and line ends part */
    for (const char *p = text; *p; p++) {
        rows += *p == '\n' || *p == '\r';
        fields += *p == ',' || *p == '\n' || *p == '\r';
    }
    cursor c = {.at = bl_arena_strdup(arena, text), .line = 1};
    out->names = bl_arena_alloc(arena, fields, sizeof *out->names);
    out->fields = bl_arena_alloc(arena, fields, sizeof *out->fields);
    out->lines = bl_arena_alloc(arena, rows, sizeof *out->lines);
    if (!c.at || !out->names || !out->fields || !out->lines)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for what '%s' holds", file);
    skip_blank_lines(&c);
    do {
        out->names[out->n_columns++] = next_field(&c);
    } while (!c.row_ended && !c.bad);
    return c.bad ? BL_FAIL(err, BL_ERR_FORMAT, "%s:1: a quote does not end where its field does", file)
                 : read_rows(&c, out, fields, err);
}

size_t bl_csv_find(const bl_csv *csv, const char *name)
{
    size_t column = 0;
    while (column < csv->n_columns && strcmp(csv->names[column], name) != 0)
        column++;
    return column;
}

const char *bl_csv_at(const bl_csv *csv, size_t row, size_t column)
{
    return column < csv->n_columns ? csv->fields[row * csv->n_columns + column] : "";
}

int bl_csv_real(const bl_csv *csv, size_t row, size_t column, double *out, bl_error *err)
{
    const char *text = bl_csv_at(csv, row, column);
    *out = NAN;
    if (!text[0] || strcasecmp(text, "nan") == 0)
        return BL_OK;
    if (bl_parse_f64(text, csv->names[column], out, NULL) == BL_OK)
        return BL_OK;
    return BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: %.60s: '%.60s' is no number", csv->file, csv->lines[row],
                   csv->names[column], text);
}

int bl_csv_int(const bl_csv *csv, size_t row, size_t column, int64_t least, int64_t most, int64_t missing, int64_t *out,
               bl_error *err)
{
    const char *text = bl_csv_at(csv, row, column);
    *out = missing;
    if (!text[0] || bl_parse_i64(text, csv->names[column], least, most, out, NULL) == BL_OK)
        return BL_OK;
    return BL_FAIL(err, BL_ERR_FORMAT, "%s:%zu: %.60s: '%.60s' is no whole number, or out of range", csv->file,
                   csv->lines[row], csv->names[column], text);
}
