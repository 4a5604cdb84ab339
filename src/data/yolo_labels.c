#include "data/yolo_labels.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"

enum { WORDS = 5, WORD_MAX = 63 };

/* Where a line lies in which file, for errors. */
typedef struct place {
    const char *name;
    int64_t line;
    int n_classes;
} place;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* An error without a cause further down. */
static int refuse(const place *at, const char *what, const char *remedy, bl_error *err)
{
    BL_FAIL(err, BL_ERR_FORMAT, "'%s', line %lld: %s", at->name, (long long)at->line, what);
    bl_error_remedy(err, "%s", remedy);
    return BL_ERR_FORMAT;
}

/* Passes on what a number's parser said, as an error of the file. */
static int bad_number(const place *at, const bl_error *cause, bl_error *err)
{
    return refuse(at, cause->message, "correct or remove the line", err);
}

/* Cuts a line into its words; how many there are, counted up to one too many. */
static int split(const char *line, size_t len, char words[WORDS][WORD_MAX + 1], bool *too_long)
{
    int n = 0;
    *too_long = false;
    for (size_t i = 0; i < len;) {
        while (i < len && is_blank(line[i]))
            i++;
        size_t start = i;
        while (i < len && !is_blank(line[i]))
            i++;
        if (i == start)
            break;
        if (n == WORDS)
            return WORDS + 1;
        size_t size = i - start;
        *too_long = *too_long || size > WORD_MAX;
        size = size > WORD_MAX ? WORD_MAX : size;
        memcpy(words[n], line + start, size);
        words[n++][size] = '\0';
    }
    return n;
}

/* Cuts off what reaches beyond [0, 1]. */
static void clip(double middle, double side, float *out_middle, float *out_side)
{
    double low = fmax(0, middle - side / 2), high = fmin(1, middle + side / 2);
    *out_middle = (float)((low + high) / 2);
    *out_side = (float)(high - low);
}

static int parse_line(const place *at, const char *line, size_t len, bl_object *out, bl_error *err)
{
    static const char *const what[WORDS] = {"the class", "x", "y", "the width", "the height"};
    char words[WORDS][WORD_MAX + 1];
    bool too_long;
    int n = split(line, len, words, &too_long);
    if (n != WORDS)
        return refuse(at, n < WORDS ? "fewer than 5 numbers" : "more than 5 numbers",
                      "a line is: class x y width height (outlines are not read)", err);
    if (too_long || memchr(line, 0, len))
        return refuse(at, "a word is no number", "correct or remove the line", err);
    bl_error cause = {0};
    int64_t label;
    double values[WORDS];
    if (bl_parse_i64(words[0], what[0], 0, at->n_classes - 1, &label, &cause) != BL_OK)
        return bad_number(at, &cause, err);
    for (int k = 1; k < WORDS; k++) {
        if (bl_parse_f64(words[k], what[k], &values[k], &cause) != BL_OK)
            return bad_number(at, &cause, err);
        if (!(values[k] >= 0 && values[k] <= 1) || (k >= 3 && (float)values[k] == 0)) {
            BL_FAIL(&cause, BL_ERR_FORMAT, "%s %s is no %sfraction of the image", what[k], words[k],
                    k >= 3 ? "positive " : "");
            return bad_number(at, &cause, err);
        }
    }
    out->label = (int32_t)label;
    clip(values[1], values[3], &out->x, &out->width);
    clip(values[2], values[4], &out->y, &out->height);
    return BL_OK;
}

static bool is_there(const bl_objects *boxes, size_t from, const bl_object *box)
{
    for (size_t i = from; i < boxes->len; i++) {
        const bl_object *b = &boxes->items[i];
        if (b->label == box->label && b->x == box->x && b->y == box->y && b->width == box->width &&
            b->height == box->height)
            return true;
    }
    return false;
}

int bl_yolo_parse_labels(const char *text, size_t len, const char *name, int n_classes, bl_objects *out,
                         int64_t *n_duplicates, bl_error *err)
{
    place at = {.name = name, .n_classes = n_classes};
    size_t before = out->len;
    for (size_t start = 0; start < len;) {
        const char *line = text + start, *newline = memchr(line, '\n', len - start);
        size_t n = newline ? (size_t)(newline - line) : len - start;
        start += n + 1;
        at.line++;
        size_t blank = 0;
        while (blank < n && is_blank(line[blank]))
            blank++;
        if (blank == n)
            continue;
        bl_object box;
        int code = parse_line(&at, line, n, &box, err);
        if (code == BL_OK && is_there(out, before, &box))
            ++*n_duplicates;
        else if (code == BL_OK)
            code = bl_objects_push(out, &box, err);
        if (code != BL_OK)
            return code;
    }
    return BL_OK;
}
