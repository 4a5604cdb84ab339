#include "data/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void bl_canvas_fill(bl_canvas *canvas, float value)
{
    size_t n = 3 * (size_t)canvas->size * (size_t)canvas->size;
    for (size_t i = 0; i < n; i++)
        canvas->planes[i] = value;
}

/* One axis: canvas pixels [from, from + len), and for each the source pixels that it averages over. */
typedef struct axis {
    int from, len;
    int n;         /* taps at most */
    int *first;    /* (len) source pixel of the first tap */
    int *count;    /* (len) */
    float *weight; /* (len, n), each row's sum is 1 */
} axis;

static void clear_axis(axis *a)
{
    free(a->first);
    free(a->count);
    free(a->weight);
}

/* The taps of one pixel: a triangle as wide as max(1, scale) around the middle, cut off at the image's edges. */
static void fill_taps(axis *a, int i, double middle, double support, int source)
{
    int first = (int)fmax(0, ceil(middle - support - 0.5)), last = (int)fmin(source - 1, floor(middle + support - 0.5));
    float *weight = a->weight + (size_t)i * (size_t)a->n;
    double sum = 0;
    a->first[i] = first;
    a->count[i] = 0;
    for (int k = first; k <= last && a->count[i] < a->n; k++) {
        double w = 1 - fabs(k + 0.5 - middle) / support;
        weight[a->count[i]++] = (float)fmax(w, 0);
        sum += fmax(w, 0);
    }
    if (sum <= 0) { /* only where rounding leaves a middle on the very edge */
        a->first[i] = middle < 0 ? 0 : middle >= source ? source - 1 : (int)middle;
        a->count[i] = 1;
        weight[0] = 1;
        return;
    }
    for (int k = 0; k < a->count[i]; k++)
        weight[k] = (float)((double)weight[k] / sum);
}

/* Pixels of [0, size) whose middle lies in both intervals; len 0: none. */
static int make_axis(double low, double high, double window_low, double window_high, int size, int source, axis *a,
                     bl_error *err)
{
    double first = ceil(fmax(fmax(low, window_low), 0) - 0.5), end = ceil(fmin(fmin(high, window_high), size) - 0.5);
    *a = (axis){0};
    if (!(end > first) || !(high > low))
        return BL_OK;
    double scale = source / (high - low), support = scale > 1 ? scale : 1;
    a->from = (int)first;
    a->len = (int)(end - first);
    a->n = (int)fmin(ceil(2 * support) + 1, source);
    a->first = bl_calloc((size_t)a->len, sizeof *a->first);
    a->count = bl_calloc((size_t)a->len, sizeof *a->count);
    a->weight = bl_calloc((size_t)a->len * (size_t)a->n, sizeof *a->weight);
    if (!a->first || !a->count || !a->weight)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    for (int i = 0; i < a->len; i++)
        fill_taps(a, i, (a->from + i + 0.5 - low) * scale, support, source);
    return BL_OK;
}

/* One source row, resampled across: (3, across.len). */
static void resample_row(const bl_image *image, int y, const axis *across, float *out)
{
    const uint8_t *row = image->pixels + (size_t)y * (size_t)image->width * 3;
    size_t len = (size_t)across->len;
    for (size_t i = 0; i < len; i++) {
        const uint8_t *p = row + 3 * (size_t)across->first[i];
        const float *weight = across->weight + i * (size_t)across->n;
        float r = 0, g = 0, b = 0;
        for (int k = 0; k < across->count[i]; k++, p += 3) {
            r += weight[k] * (float)p[0];
            g += weight[k] * (float)p[1];
            b += weight[k] * (float)p[2];
        }
        out[i] = r;
        out[len + i] = g;
        out[2 * len + i] = b;
    }
}

/* rows: a ring of down.n resampled rows; held: the source row that each holds. */
static void draw_rows(bl_canvas *canvas, const bl_image *image, const axis *across, const axis *down, float *rows,
                      int *held)
{
    size_t side = (size_t)canvas->size, len = (size_t)across->len;
    for (int i = 0; i < down->n; i++)
        held[i] = -1;
    for (int y = 0; y < down->len; y++)
        for (int k = 0; k < down->count[y]; k++) {
            int source = down->first[y] + k, slot = source % down->n;
            float *row = rows + (size_t)slot * 3 * len, weight = down->weight[(size_t)y * (size_t)down->n + (size_t)k];
            if (held[slot] != source)
                resample_row(image, source, across, row);
            held[slot] = source;
            for (size_t c = 0; c < 3; c++) {
                float *out = canvas->planes + (c * side + (size_t)(down->from + y)) * side + (size_t)across->from;
                for (size_t x = 0; x < len; x++)
                    out[x] = (k == 0 ? 0 : out[x]) + weight * row[c * len + x];
            }
        }
}

int bl_canvas_draw(bl_canvas *canvas, const bl_image *image, const bl_rect *where, const bl_rect *window, bl_error *err)
{
    axis across, down = {0};
    float *rows = NULL;
    int *held = NULL;
    int code =
        make_axis(where->left, where->right, window->left, window->right, canvas->size, image->width, &across, err);
    if (code == BL_OK)
        code =
            make_axis(where->top, where->bottom, window->top, window->bottom, canvas->size, image->height, &down, err);
    if (code == BL_OK && across.len > 0 && down.len > 0) {
        rows = bl_calloc((size_t)down.n * (size_t)across.len, 3 * sizeof *rows);
        held = bl_calloc((size_t)down.n, sizeof *held);
        if (rows && held)
            draw_rows(canvas, image, &across, &down, rows, held);
        else
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    }
    clear_axis(&across);
    clear_axis(&down);
    free(rows);
    free(held);
    return code;
}

void bl_canvas_blend(bl_canvas *canvas, const bl_canvas *other, float share)
{
    size_t n = 3 * (size_t)canvas->size * (size_t)canvas->size;
    for (size_t i = 0; i < n; i++)
        canvas->planes[i] = share * canvas->planes[i] + (1 - share) * other->planes[i];
}

/* Hue in [0, 6): 0 red, 2 green, 4 blue (Smith 1978). */
static void recolor_pixel(float *r, float *g, float *b, const float gains[3])
{
    float value = fmaxf(*r, fmaxf(*g, *b)), least = fminf(*r, fminf(*g, *b)), range = value - least, hue = 0;
    if (range > 0)
        hue = value == *r ? (*g - *b) / range : value == *g ? 2 + (*b - *r) / range : 4 + (*r - *g) / range;
    hue = fmodf((hue < 0 ? hue + 6 : hue) * gains[0], 6);
    float saturation = value > 0 ? fminf(1, range / value * gains[1]) : 0;
    value = fminf(255, value * gains[2]);
    int sector = (int)hue;
    float part = hue - (float)sector, low = value * (1 - saturation);
    float falling = value * (1 - saturation * part), rising = value * (1 - saturation * (1 - part));
    const float rgb[6][3] = {{value, rising, low},  {falling, value, low}, {low, value, rising},
                             {low, falling, value}, {rising, low, value},  {value, low, falling}};
    *r = rgb[sector][0];
    *g = rgb[sector][1];
    *b = rgb[sector][2];
}

void bl_canvas_recolor(bl_canvas *canvas, const float gains[3])
{
    size_t plane = (size_t)canvas->size * (size_t)canvas->size;
    float *p = canvas->planes;
    for (size_t i = 0; i < plane; i++)
        recolor_pixel(&p[i], &p[plane + i], &p[2 * plane + i], gains);
}

void bl_canvas_mirror(bl_canvas *canvas)
{
    size_t side = (size_t)canvas->size;
    for (size_t row = 0; row < 3 * side; row++) {
        float *line = canvas->planes + row * side;
        for (size_t x = 0; x < side / 2; x++) {
            float held = line[x];
            line[x] = line[side - 1 - x];
            line[side - 1 - x] = held;
        }
    }
}
