#include "lab/max_report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/max.h"
#include "report/format.h"

typedef struct found {
    bl_arena arena;
    bl_largest_limits limits;
    bl_probe *probes;
    size_t n;
    bl_largest_step step;
    int64_t steps; /* of a probe; 0: to its own end */
} found;

static int look(const bl_experiment *e, found *f, bl_error *err)
{
    bl_arena_init(&f->arena);
    f->steps = e->steps;
    int code = bl_max_probes(e, &f->arena, &f->limits, &f->probes, &f->n, err);
    return code == BL_OK ? bl_largest_next(&f->limits, f->probes, f->n, &f->step, err) : code;
}

static const char *kind_name(bl_largest_kind kind)
{
    static const char *const names[] = {"unfinished", "unfinished", "found", "cap", "nothing"};
    return names[kind];
}

/* ---- sentences ---- */

static void append_answer(const found *f, bl_str *out)
{
    const bl_largest_step *s = &f->step;
    switch (s->kind) {
    case BL_LARGEST_FOUND:
        bl_str_printf(
            out, "The largest batch size that does is %lld: it ran, and ran again. %lld, the next one, does not: %s.\n",
            (long long)s->batch, (long long)s->above, bl_size_verdict_words(s->why_above));
        break;
    case BL_LARGEST_CAP:
        bl_str_printf(
            out,
            "All sizes that were allowed fit: %lld, the largest of them, ran, and ran again. No limit was met; "
            "--max raises the cap.\n",
            (long long)s->batch);
        break;
    case BL_LARGEST_NOTHING:
        bl_str_printf(out, "No batch size does: %lld: %s.\n", (long long)s->batch, bl_size_verdict_words(s->why_above));
        break;
    default:
        bl_str_append(out, "The search has not come to its end: batchlab max --resume goes on with it.\n");
        break;
    }
}

static void append_oddities(const found *f, bl_str *out)
{
    const bl_largest_step *s = &f->step;
    const bl_memory_line *line = &s->line;
    char text[32], worst[32];
    if (s->hole > 0)
        bl_str_printf(out, "%lld, which is smaller, does not: a hole, or a size that the program refuses.\n",
                      (long long)s->hole);
    if (s->why_above == BL_SIZE_FAILED)
        bl_str_append(out,
                      "That failure was not recognised as one of memory: batchlab show --all tells what is known of "
                      "it.\n");
    if (s->failed_longer > 0)
        bl_str_printf(
            out,
            "%lld ran %lld steps but not twice as many: memory grows over the steps, and longer trainings may "
            "fail at this answer too.\n",
            (long long)s->failed_longer, (long long)f->steps);
    else if (s->growth > BL_LARGEST_GROWTH)
        bl_str_printf(
            out,
            "From %lld steps to twice as many its memory grew by %.1f %%: longer trainings may need more than "
            "there is.\n",
            (long long)f->steps, 100 * s->growth);
    if (!line->known) {
        bl_str_append(out, "Memory: too few sizes ran to fit a line.\n");
        return;
    }
    bl_format_bytes(line->fixed_b, text, sizeof text);
    bl_format_bytes(fabs(line->worst_b), worst, sizeof worst);
    bl_str_printf(out, "Memory: %s + %.3g MiB a sample. ", text, line->per_sample_b / (1 << 20));
    bl_str_printf(out, "The farthest from this line is %lld, by %s%s (%+.1f %%).\n", (long long)line->worst_at,
                  line->worst_b < 0 ? "-" : "+", worst, 100 * line->worst_share);
    if (line->per_sample_b <= 0)
        bl_str_append(out, "It does not grow with the batch size: what was measured is not what limits it.\n");
}

/* ---- the curve ---- */

static int by_batch(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The sizes tried, ascending, each once; in the arena. NULL without memory. */
static int64_t *sizes_of(found *f, size_t *n)
{
    int64_t *sizes = bl_arena_alloc(&f->arena, f->n, sizeof *sizes);
    *n = 0;
    for (size_t i = 0; sizes && i < f->n; i++)
        sizes[i] = f->probes[i].batch;
    if (sizes && f->n > 0)
        qsort(sizes, f->n, sizeof *sizes, by_batch);
    for (size_t i = 0; sizes && i < f->n; i++)
        if (*n == 0 || sizes[*n - 1] != sizes[i])
            sizes[(*n)++] = sizes[i];
    return sizes;
}

typedef struct point {
    size_t runs;
    double memory_b, fitted_b; /* NaN where not known */
    bl_size_verdict verdict;
} point;

static point point_of(const found *f, int64_t batch)
{
    const bl_memory_line *line = &f->step.line;
    point p = {.memory_b = NAN, .verdict = bl_largest_verdict(&f->limits, f->probes, f->n, batch)};
    for (size_t i = 0; i < f->n; i++)
        if (f->probes[i].batch == batch) {
            p.runs++;
            if (f->probes[i].verdict == BL_SIZE_FITS && !(f->probes[i].memory_b <= p.memory_b))
                p.memory_b = f->probes[i].memory_b;
        }
    p.fitted_b = line->known ? line->fixed_b + line->per_sample_b * (double)batch : NAN;
    return p;
}

static void append_curve(found *f, const bl_report_style *style, bl_str *out)
{
    static const char *const heading[] = {"batch", "runs", "peak memory", "line", "off", "what"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(heading), "rrrrrl");
    for (size_t i = 0; i < BL_ARRAY_LEN(heading); i++)
        bl_grid_add(&grid, heading[i]);
    size_t n, mark = 0;
    int64_t *sizes = sizes_of(f, &n);
    for (size_t i = 0; sizes && i < n; i++) {
        char cell[64];
        point p = point_of(f, sizes[i]);
        if (sizes[i] == f->step.batch && f->step.kind != BL_LARGEST_NOTHING)
            mark = i + 1;
        snprintf(cell, sizeof cell, "%lld", (long long)sizes[i]);
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%zu", p.runs);
        bl_grid_add(&grid, cell);
        bl_format_bytes(p.memory_b, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_format_bytes(p.fitted_b, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%+.1f %%", 100 * (p.memory_b / p.fitted_b - 1));
        bl_grid_add(&grid, isfinite(p.memory_b / p.fitted_b) ? cell : "-");
        bl_grid_add(&grid, bl_size_verdict_words(p.verdict));
    }
    bl_grid_print(&grid, style, mark, out);
    bl_grid_clear(&grid);
}

/* ---- JSON ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *make_curve(found *f)
{
    json_t *array = json_array();
    size_t n;
    int64_t *sizes = sizes_of(f, &n);
    for (size_t i = 0; sizes && i < n; i++) {
        point p = point_of(f, sizes[i]);
        json_array_append_new(array, json_pack("{s:I, s:I, s:o, s:o, s:s}", "batch", (json_int_t)sizes[i], "runs",
                                               (json_int_t)p.runs, "peak_memory_b", number(p.memory_b), "line_b",
                                               number(p.fitted_b), "verdict", bl_size_verdict_words(p.verdict)));
    }
    return array;
}

static int append_json(const bl_experiment *e, found *f, bl_str *out, bl_error *err)
{
    const bl_largest_step *s = &f->step;
    bool answered = s->kind == BL_LARGEST_FOUND || s->kind == BL_LARGEST_CAP;
    json_t *line = s->line.known ? json_pack("{s:o, s:o, s:o, s:I}", "fixed_b", number(s->line.fixed_b), "per_sample_b",
                                             number(s->line.per_sample_b), "worst_b", number(s->line.worst_b),
                                             "worst_at", (json_int_t)s->line.worst_at)
                                 : json_null();
    json_t *object = json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "experiment", (json_int_t)e->id, "result",
        kind_name(s->kind), "largest", answered ? json_integer(s->batch) : json_null(), "above",
        s->above ? json_integer(s->above) : json_null(), "why_above",
        s->kind == BL_LARGEST_FOUND || s->kind == BL_LARGEST_NOTHING ? json_string(bl_size_verdict_words(s->why_above))
                                                                     : json_null(),
        "hole", s->hole ? json_integer(s->hole) : json_null(), "growth", number(s->growth), "budget_b",
        number(f->limits.budget_b), "line", line, "probes", (json_int_t)f->n, "curve", make_curve(f));
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    json_decref(object);
    if (text)
        bl_str_printf(out, "%s\n", text);
    free(text);
    return text && !out->failed ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the report");
}

int bl_max_report(const bl_experiment *e, bool json, const bl_report_style *style, bl_str *out, bl_error *err)
{
    found f = {.n = 0};
    int code = look(e, &f, err);
    if (code == BL_OK && json) {
        code = append_json(e, &f, out, err);
    } else if (code == BL_OK) {
        append_curve(&f, style, out);
        bl_str_append(out, "\n");
        append_answer(&f, out);
        append_oddities(&f, out);
    }
    bl_arena_clear(&f.arena);
    return code;
}

int bl_max_answered(const bl_experiment *e, bool *answered, bl_error *err)
{
    found f = {.n = 0};
    int code = look(e, &f, err);
    *answered = code == BL_OK && (f.step.kind == BL_LARGEST_FOUND || f.step.kind == BL_LARGEST_CAP);
    bl_arena_clear(&f.arena);
    return code;
}
