#include "data/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

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

bl_picture bl_picture_whole(const bl_image *image)
{
    return (bl_picture){.pixels = image->pixels,
                        .width = image->width,
                        .height = image->height,
                        .part = {0, 0, image->width, image->height}};
}

void bl_image_clear(bl_image *image)
{
    free(image->pixels);
    *image = (bl_image){0};
}

bool bl_image_too_large(uint64_t width, uint64_t height)
{
    return width > BL_IMAGE_SIDE_MAX || height > BL_IMAGE_SIDE_MAX || width * height > BL_IMAGE_PIXELS_MAX;
}

int bl_image_refuse_size(const char *name, uint64_t width, uint64_t height, bl_error *err)
{
    BL_FAIL(err, BL_ERR_FORMAT, "'%s' claims %llu x %llu pixels, more than %d a side or %d in all", name,
            (unsigned long long)width, (unsigned long long)height, BL_IMAGE_SIDE_MAX, BL_IMAGE_PIXELS_MAX);
    bl_error_remedy(err, "remove or replace the file");
    return BL_ERR_FORMAT;
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

int bl_view_least(const bl_view *view)
{
    return view->augment == BL_AUGMENT_FLIP ? view->size : 2 * view->size;
}

/* Where the whole image comes to lie, in pixels of the view. */
static void spans(const bl_region *r, int width, int height, int size, bl_span *across, bl_span *down)
{
    *across = (bl_span){-r->x * size / r->width, (width - r->x) * size / r->width};
    *down = (bl_span){-r->y * size / r->height, (height - r->y) * size / r->height};
}

bl_part bl_view_part(const bl_view *view, int width, int height)
{
    bl_region region = bl_view_region(view, width, height);
    bl_span across, down, all = {0, view->size};
    int left, right, top, bottom;
    spans(&region, width, height, view->size, &across, &down);
    bl_axis_reach(across, all, width, view->size, &left, &right);
    bl_axis_reach(down, all, height, view->size, &top, &bottom);
    return (bl_part){left, top, right - left, bottom - top};
}

static int resample(const bl_picture *picture, const bl_region *region, int size, bl_scratch *scratch, float *out,
                    bl_error *err)
{
    size_t side = (size_t)size, plane = side * side;
    bl_planes planes = {.at = out, .plane = plane, .stride = side, .mirror = region->mirror ? size : 0};
    for (int c = 0; c < 3; c++) {
        planes.scale[c] = 1 / (255 * bl_image_deviation[c]);
        planes.bias[c] = -bl_image_mean[c] / bl_image_deviation[c];
    }
    bl_span x, y, all = {0, size};
    bl_axis across, down;
    spans(region, picture->width, picture->height, size, &x, &y);
    int code = bl_axis_make(x, all, picture->width, size, scratch, BL_SCRATCH_ACROSS, &across, err);
    if (code == BL_OK)
        code = bl_axis_make(y, all, picture->height, size, scratch, BL_SCRATCH_DOWN, &down, err);
    if (code != BL_OK)
        return code;
    bool covered = across.len == size && down.len == size;
    for (size_t c = 0; c < 3 && !covered; c++)
        for (size_t i = 0; i < plane; i++)
            out[c * plane + i] = planes.bias[c];
    return bl_resample(picture, &across, &down, &planes, scratch, err);
}

int bl_view_make(const bl_view *view, const bl_picture *picture, bl_scratch *scratch, float *out, bl_error *err)
{
    bl_region region = bl_view_region(view, picture->width, picture->height);
    return resample(picture, &region, view->size, scratch, out, err);
}

int bl_image_resample(const bl_image *image, const bl_region *region, int size, float *out, bl_error *err)
{
    bl_picture picture = bl_picture_whole(image);
    bl_scratch scratch = {0};
    int code = resample(&picture, region, size, &scratch, out, err);
    bl_scratch_clear(&scratch);
    return code;
}
