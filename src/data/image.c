#include "data/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/attributes.h"
#include "tensor/shape.h"

const float bl_image_mean[3] = {0.485f, 0.456f, 0.406f}, bl_image_deviation[3] = {0.229f, 0.224f, 0.225f};

bool bl_augment_from_name(const char *name, bl_augment *out)
{
    static const char *const names[] = {"none", "flip", "crop", "mosaic"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (bl_augment)i;
            return true;
        }
    return false;
}

void bl_image_clear(bl_image *image)
{
    free(image->pixels);
    *image = (bl_image){0};
}

int bl_image_decode(const uint8_t *data, size_t len, int least, const char *name, bl_image *out, bl_error *err)
{
    static const uint8_t png[] = {0x89, 'P', 'N', 'G'};
    *out = (bl_image){0};
    if (len >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF)
        return bl_jpeg_decode(data, len, least, name, out, err);
    if (len >= sizeof png && memcmp(data, png, sizeof png) == 0)
        return bl_png_decode(data, len, name, out, err);
    BL_FAIL(err, BL_ERR_FORMAT, "'%s' is neither a JPEG nor a PNG image", name);
    bl_error_remedy(err, "remove or replace the file");
    return BL_ERR_FORMAT;
}

/* splitmix64 */
double bl_draw_uniform(bl_draws *draws)
{
    uint64_t z = (draws->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The largest square in the middle. */
static bl_region middle(int width, int height)
{
    double side = width < height ? width : height;
    return (bl_region){.x = (width - side) / 2, .y = (height - side) / 2, .width = side, .height = side};
}

static bl_region random_part(bl_draws *draws, int width, int height)
{
    for (int attempt = 0; attempt < 10; attempt++) {
        double area = (double)width * height * (0.08 + 0.92 * bl_draw_uniform(draws));
        double ratio = exp(log(3.0 / 4) + (log(4.0 / 3) - log(3.0 / 4)) * bl_draw_uniform(draws));
        double w = sqrt(area * ratio), h = sqrt(area / ratio);
        double u = bl_draw_uniform(draws), v = bl_draw_uniform(draws);
        if (w <= width && h <= height)
            return (bl_region){.x = u * (width - w), .y = v * (height - h), .width = w, .height = h};
    }
    return middle(width, height);
}

bl_region bl_view_region(const bl_view *view, int width, int height)
{
    bl_draws draws = {.state = view->draw};
    bl_region region = middle(width, height);
    if (view->augment == BL_AUGMENT_NONE)
        return region;
    if (view->augment == BL_AUGMENT_CROP)
        region = random_part(&draws, width, height);
    else {
        double reach = region.width / 8;
        region.x += reach * (2 * bl_draw_uniform(&draws) - 1);
        region.y += reach * (2 * bl_draw_uniform(&draws) - 1);
    }
    region.mirror = bl_draw_uniform(&draws) < 0.5;
    return region;
}

/* For each output pixel of one axis: the first source pixel and the weights of those from there on. */
typedef struct axis_taps {
    int *first;
    float *weight; /* [size][n] */
    int n;
} axis_taps;

static void clear_taps(axis_taps *taps)
{
    free(taps->first);
    free(taps->weight);
}

static int make_taps(double start, double length, int size, axis_taps *taps, bl_error *err)
{
    double scale = length / size, support = scale > 1 ? scale : 1;
    taps->n = (int)ceil(2 * support) + 1;
    taps->first = bl_calloc((size_t)size, sizeof *taps->first);
    taps->weight = bl_calloc((size_t)size * (size_t)taps->n, sizeof *taps->weight);
    if (!taps->first || !taps->weight)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    for (int i = 0; i < size; i++) {
        double center = start + (i + 0.5) * scale, sum = 0;
        int first = (int)floor(center - support);
        taps->first[i] = first;
        float *weight = taps->weight + (size_t)i * (size_t)taps->n;
        for (int k = 0; k < taps->n; k++) {
            double off = fabs((first + k + 0.5 - center) / support), w = off < 1 ? 1 - off : 0;
            weight[k] = (float)w;
            sum += w;
        }
        for (int k = 0; k < taps->n; k++)
            weight[k] = (float)((double)weight[k] / sum);
    }
    return BL_OK;
}

/* Beyond the image: at its very edge the edge pixel goes on (half a pixel of the filter lies outside always), farther
 * off there are zeros. */
static const uint8_t *source_pixel(const bl_image *image, int x, int y, int slack)
{
    if (x < -slack || y < -slack || x >= image->width + slack || y >= image->height + slack)
        return NULL;
    x = x < 0 ? 0 : x >= image->width ? image->width - 1 : x;
    y = y < 0 ? 0 : y >= image->height ? image->height - 1 : y;
    return image->pixels + ((size_t)y * (size_t)image->width + (size_t)x) * 3;
}

/* One source row, resampled across: [size][3]; zeros where there is no such row. */
static void resample_row(const bl_image *image, int y, const axis_taps *taps, int size, bool mirror, float *out)
{
    for (int i = 0; i < size; i++) {
        float sum[3] = {0, 0, 0};
        const float *weight = taps->weight + (size_t)i * (size_t)taps->n;
        for (int k = 0; k < taps->n; k++) {
            const uint8_t *p = weight[k] != 0 ? source_pixel(image, taps->first[i] + k, y, 1) : NULL;
            for (int c = 0; p && c < 3; c++)
                sum[c] += weight[k] * (float)p[c];
        }
        memcpy(out + 3 * (mirror ? size - 1 - i : i), sum, sizeof sum);
    }
}

typedef struct resampler {
    const bl_image *image;
    const bl_region *region;
    int size;
    axis_taps across, down;
    float *rows; /* the last resampled rows, a ring of down.n */
    int *row_at; /* which source row each holds */
} resampler;

static const float *row_of(resampler *r, int y)
{
    int slot = ((y % r->down.n) + r->down.n) % r->down.n;
    float *row = r->rows + (size_t)slot * (size_t)r->size * 3;
    if (r->row_at[slot] != y) {
        resample_row(r->image, y, &r->across, r->size, r->region->mirror, row);
        r->row_at[slot] = y;
    }
    return row;
}

static void resample_all(resampler *r, float *out)
{
    size_t plane = (size_t)r->size * (size_t)r->size;
    for (int i = 0; i < r->down.n; i++)
        r->row_at[i] = INT32_MIN;
    for (int y = 0; y < r->size; y++) {
        float *line = out + (size_t)y * (size_t)r->size;
        for (int c = 0; c < 3; c++)
            memset(line + (size_t)c * plane, 0, (size_t)r->size * sizeof *line);
        for (int k = 0; k < r->down.n; k++) {
            float weight = r->down.weight[(size_t)y * (size_t)r->down.n + (size_t)k];
            if (weight == 0)
                continue;
            const float *row = row_of(r, r->down.first[y] + k);
            for (int c = 0; c < 3; c++)
                for (int x = 0; x < r->size; x++)
                    line[(size_t)c * plane + (size_t)x] += weight * row[3 * x + c];
        }
        for (int c = 0; c < 3; c++)
            for (int x = 0; x < r->size; x++) {
                float *value = &line[(size_t)c * plane + (size_t)x];
                *value = (*value / 255 - bl_image_mean[c]) / bl_image_deviation[c];
            }
    }
}

int bl_image_resample(const bl_image *image, const bl_region *region, int size, float *out, bl_error *err)
{
    resampler r = {.image = image, .region = region, .size = size};
    int code = make_taps(region->x, region->width, size, &r.across, err);
    if (code == BL_OK)
        code = make_taps(region->y, region->height, size, &r.down, err);
    if (code == BL_OK) {
        r.rows = bl_calloc((size_t)r.down.n * (size_t)size, 3 * sizeof *r.rows);
        r.row_at = bl_calloc((size_t)r.down.n, sizeof *r.row_at);
        code = r.rows && r.row_at ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to resize an image");
    }
    if (code == BL_OK)
        resample_all(&r, out);
    clear_taps(&r.across);
    clear_taps(&r.down);
    free(r.rows);
    free(r.row_at);
    return code;
}
