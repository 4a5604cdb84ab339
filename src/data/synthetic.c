#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "data/dataset.h"
#include "data/image.h"

/* Stripes of two colours; a class is a direction, a width and the colours. */
typedef struct pattern {
    double fx, fy; /* periods over the image, along each axis */
    float colors[2][3];
} pattern;

typedef struct synthetic {
    bl_dataset base; /* first */
    pattern *patterns;
    uint64_t seed;
} synthetic;

static void free_synthetic(bl_dataset *dataset)
{
    free(((synthetic *)dataset)->patterns);
    free((char *)dataset->description);
    free(dataset);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    bl_draws draws = {.state = a ^ (b * 0xD1342543DE82EF95u)};
    return (uint64_t)(bl_draw_uniform(&draws) * 0x1p53);
}

/* The part of a square image that a pattern fills, in pixels, from `left` to before `right`. */
typedef struct area {
    int left, top, right, bottom;
} area;

/* In [0, 1], about: noise goes beyond. sin(ax + by + phase) is a sum of two products of what depends on x and on y
 * alone: two sines a row and column, not one a pixel. */
static void draw_pattern(const pattern *p, bl_draws *draws, int size, area part, float *out)
{
    float wave_sin[BL_VIEW_SIZE_MAX], wave_cos[BL_VIEW_SIZE_MAX];
    size_t plane = (size_t)size * (size_t)size;
    double phase = 2 * M_PI * bl_draw_uniform(draws), zoom = 0.8 + 0.4 * bl_draw_uniform(draws);
    float contrast = (float)(0.5 + 0.5 * bl_draw_uniform(draws)), light = (float)(0.3 * bl_draw_uniform(draws) - 0.15);
    uint32_t noise = (uint32_t)(bl_draw_uniform(draws) * 4294967296.0) | 1;
    for (int x = 0; x < size; x++) {
        double at = 2 * M_PI * p->fx * zoom * x / size + phase;
        wave_sin[x] = (float)sin(at);
        wave_cos[x] = (float)cos(at);
    }
    for (int y = part.top; y < part.bottom; y++) {
        double at = 2 * M_PI * p->fy * zoom * y / size;
        float s = (float)sin(at), c = (float)cos(at);
        for (int x = part.left; x < part.right; x++) {
            float wave = 0.5f + 0.5f * contrast * (wave_sin[x] * c + wave_cos[x] * s);
            for (size_t k = 0; k < 3; k++) {
                noise = noise * 1664525u + 1013904223u;
                float grain = ((float)(noise >> 8) * 0x1p-24f - 0.5f) * 0.6f;
                float value = p->colors[0][k] + (p->colors[1][k] - p->colors[0][k]) * wave + light + grain;
                out[k * plane + (size_t)y * (size_t)size + (size_t)x] = value;
            }
        }
    }
}

static int read_image(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      int32_t *label, bl_error *err)
{
    const synthetic *s = (const synthetic *)dataset;
    /* Labels go round, so that every class is there equally often; all else is drawn from the index. */
    *label = (int32_t)(index % s->base.n_classes);
    bl_draws draws = {.state = mix(s->seed + (uint64_t)split, (uint64_t)index + 1)};
    draw_pattern(&s->patterns[*label], &draws, view->size, (area){0, 0, view->size, view->size}, out);
    size_t plane = (size_t)view->size * (size_t)view->size;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = c * plane; i < (c + 1) * plane; i++)
            out[i] = (out[i] - bl_image_mean[c]) / bl_image_deviation[c];
    return BL_OK;
}

/* One more rectangle where it hides nothing: half the attempts fail on a crowded image, and then it is left out. */
static int add_rectangle(const synthetic *s, bl_draws *draws, int size, float *out, bl_objects *boxes, size_t from,
                         bl_error *err)
{
    float w = (float)(0.1 + 0.35 * bl_draw_uniform(draws)), h = (float)(0.1 + 0.35 * bl_draw_uniform(draws));
    float left = (1 - w) * (float)bl_draw_uniform(draws), top = (1 - h) * (float)bl_draw_uniform(draws);
    int label = (int)(bl_draw_uniform(draws) * s->base.n_classes);
    const float side = (float)size;
    area part = {(int)(left * side), (int)(top * side), (int)((left + w) * side), (int)((top + h) * side)};
    if (part.right <= part.left || part.bottom <= part.top)
        return BL_OK;
    bl_object box = {.label = label,
                     .x = (float)(part.left + part.right) / (2 * side),
                     .y = (float)(part.top + part.bottom) / (2 * side),
                     .width = (float)(part.right - part.left) / side,
                     .height = (float)(part.bottom - part.top) / side};
    for (size_t i = from; i < boxes->len; i++) {
        const bl_object *b = &boxes->items[i];
        if (2 * fabsf(b->x - box.x) < b->width + box.width && 2 * fabsf(b->y - box.y) < b->height + box.height)
            return BL_OK;
    }
    draw_pattern(&s->patterns[label], draws, size, part, out);
    return bl_objects_push(boxes, &box, err);
}

static int read_boxes(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      bl_objects *boxes, float frame[4], bl_error *err)
{
    const synthetic *s = (const synthetic *)dataset;
    bl_draws draws = {.state = mix(s->seed + (uint64_t)split, (uint64_t)index + 1)};
    size_t n = 3 * (size_t)view->size * (size_t)view->size, from = boxes->len;
    uint32_t noise = (uint32_t)(bl_draw_uniform(&draws) * 4294967296.0) | 1;
    for (size_t i = 0; i < n; i++) {
        noise = noise * 1664525u + 1013904223u;
        out[i] = 0.2f + 0.6f * (float)(noise >> 8) * 0x1p-24f;
    }
    frame[0] = frame[1] = 0;
    frame[2] = frame[3] = (float)view->size;
    int code = BL_OK, wanted = 1 + (int)(8 * bl_draw_uniform(&draws));
    for (int i = 0; i < wanted && code == BL_OK; i++)
        code = add_rectangle(s, &draws, view->size, out, boxes, from, err);
    for (size_t i = 0; i < n; i++)
        out[i] = out[i] < 0 ? 0 : out[i] > 1 ? 1 : out[i];
    return code;
}

static const bl_dataset_kind synthetic_kind = {.name = "synthetic", .read = read_image, .free = free_synthetic};
static const bl_dataset_kind boxes_kind = {.name = "synthetic boxes", .read_boxes = read_boxes, .free = free_synthetic};

static int open_kind(const bl_dataset_kind *kind, int n_classes, int64_t n_train, int64_t n_test, uint64_t seed,
                     bl_dataset **out, bl_error *err)
{
    synthetic *s = bl_calloc(1, sizeof *s);
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "%s: %lld images to train on, %lld to test on, %d classes", kind->name, (long long)n_train,
                  (long long)n_test, n_classes);
    char *description = bl_str_take(&text);
    pattern *patterns = bl_calloc((size_t)n_classes, sizeof *patterns);
    if (!s || !patterns || !description) {
        free(s);
        free(patterns);
        free(description);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    }
    *s = (synthetic){
        .base = {.kind = kind, .count = {n_train, n_test}, .n_classes = n_classes, .description = description},
        .patterns = patterns,
        .seed = seed};
    for (int k = 0; k < n_classes; k++) {
        bl_draws draws = {.state = 0x5EED + (uint64_t)k}; /* the classes are the same whatever the seed */
        double angle = M_PI * (k + 0.5) / n_classes, periods = 2 + 4 * bl_draw_uniform(&draws);
        patterns[k].fx = periods * cos(angle);
        patterns[k].fy = periods * sin(angle);
        for (int c = 0; c < 6; c++)
            patterns[k].colors[c / 3][c % 3] = (float)bl_draw_uniform(&draws);
    }
    *out = &s->base;
    return BL_OK;
}

int bl_synthetic_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out, bl_error *err)
{
    return open_kind(&synthetic_kind, n_classes, n_train, n_test, seed, out, err);
}

int bl_synthetic_boxes_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out,
                            bl_error *err)
{
    return open_kind(&boxes_kind, n_classes, n_train, n_test, seed, out, err);
}
