/* Metrics read from what a program prints: the first line is the pattern, the rest the output. However that is cut into
 * pieces, the same values must come out. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "trial/metric_lines.h"

typedef struct sums {
    int64_t n, steps;
    double values;
    size_t names;
} sums;

static void take(void *context, const char *name, double value, int64_t step)
{
    sums *s = context;
    FUZZ_CHECK(isfinite(value) && step >= -1 && name[0] && strcmp(name, "step") != 0);
    s->n++;
    s->steps ^= step * (s->n | 1);
    s->values = value;
    s->names += strlen(name);
}

static sums read_all(const bl_metric_patterns *patterns, const uint8_t *data, size_t size, bool pieces)
{
    sums s = {0};
    bl_metric_lines lines;
    bl_metric_lines_init(&lines, patterns);
    size_t piece = 1;
    for (size_t at = 0; at < size; at += piece) {
        piece = pieces ? 1 + (piece * 7 + data[at]) % 23 : size;
        piece = piece < size - at ? piece : size - at;
        bl_metric_lines_feed(&lines, (const char *)data + at, piece, take, &s);
    }
    bl_metric_lines_end(&lines, take, &s);
    FUZZ_CHECK(lines.n_values == s.n && lines.line.len == 0);
    bl_metric_lines_clear(&lines);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char regex[200];
    const uint8_t *end = memchr(data, '\n', size);
    size_t n = end ? (size_t)(end - data) : 0;
    if (n == 0 || n >= sizeof regex || memchr(data, 0, n))
        return 0;
    memcpy(regex, data, n);
    regex[n] = '\0';
    bl_strv regexes;
    bl_strv_init(&regexes);
    bl_metric_patterns *patterns = NULL;
    if (bl_strv_push(&regexes, regex) == BL_OK && bl_metric_patterns_new(&regexes, &patterns, NULL) == BL_OK) {
        sums whole = read_all(patterns, end + 1, size - n - 1, false);
        sums cut = read_all(patterns, end + 1, size - n - 1, true);
        FUZZ_CHECK(whole.n == cut.n && whole.steps == cut.steps && whole.names == cut.names &&
                   (whole.n == 0 || whole.values == cut.values));
    }
    bl_metric_patterns_free(patterns);
    bl_strv_clear(&regexes);
    return 0;
}
