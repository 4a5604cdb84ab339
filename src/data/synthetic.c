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

/* sin(ax + by + phase) is a sum of two products of what depends on x and on y alone: two sines a row and column, not
 * one a pixel. */
static void draw_pattern(const pattern *p, bl_draws *draws, int size, float *out)
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
    for (int y = 0; y < size; y++) {
        double at = 2 * M_PI * p->fy * zoom * y / size;
        float s = (float)sin(at), c = (float)cos(at);
        for (int x = 0; x < size; x++) {
            float wave = 0.5f + 0.5f * contrast * (wave_sin[x] * c + wave_cos[x] * s);
            for (size_t k = 0; k < 3; k++) {
                noise = noise * 1664525u + 1013904223u;
                float grain = ((float)(noise >> 8) * 0x1p-24f - 0.5f) * 0.6f;
                float value = p->colors[0][k] + (p->colors[1][k] - p->colors[0][k]) * wave + light + grain;
                out[k * plane + (size_t)y * (size_t)size + (size_t)x] =
                    (value - bl_image_mean[k]) / bl_image_deviation[k];
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
    draw_pattern(&s->patterns[*label], &draws, view->size, out);
    return BL_OK;
}

static const bl_dataset_kind synthetic_kind = {.name = "synthetic", .read = read_image, .free = free_synthetic};

int bl_synthetic_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out, bl_error *err)
{
    synthetic *s = bl_calloc(1, sizeof *s);
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "synthetic: %lld images to train on, %lld to test on, %d classes", (long long)n_train,
                  (long long)n_test, n_classes);
    char *description = bl_str_take(&text);
    pattern *patterns = bl_calloc((size_t)n_classes, sizeof *patterns);
    if (!s || !patterns || !description) {
        free(s);
        free(patterns);
        free(description);
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a data set");
    }
    *s = (synthetic){.base = {.kind = &synthetic_kind,
                              .count = {n_train, n_test},
                              .n_classes = n_classes,
                              .description = description},
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
