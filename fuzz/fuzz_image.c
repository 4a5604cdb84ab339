/* Bytes as a JPEG or PNG file, then a view of what was decoded. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "data/picture.h"

enum { SIDE_TO_RESAMPLE = 512 };

static void check_view(const bl_image *image, uint64_t draw)
{
    float out[3 * 8 * 8];
    for (int augment = BL_AUGMENT_NONE; augment <= BL_AUGMENT_CROP; augment++) {
        bl_view view = {.size = 8, .augment = (bl_augment)augment, .draw = draw};
        bl_region region = bl_view_region(&view, image->width, image->height);
        if (bl_image_resample(image, &region, 8, out, NULL) != BL_OK)
            continue;
        for (size_t i = 0; i < sizeof out / sizeof *out; i++)
            FUZZ_CHECK(isfinite(out[i]) && fabsf(out[i]) < 4);
    }
}

/* A part that the input decides. */
static bl_part some_part(void *context, int width, int height)
{
    unsigned draw = *(const unsigned *)context;
    int left = (int)(draw % 251) % width, top = (int)(draw / 251 % 241) % height;
    return (bl_part){left, top, 1 + (int)(draw / 7 % 97) % (width - left), 1 + (int)(draw / 11 % 89) % (height - top)};
}

/* What decodes as a whole decodes in part, to the same pixels. */
static void check_part(const bl_image *image, const uint8_t *data, size_t size, int least)
{
    unsigned draw = (unsigned)size * 2654435761u;
    bl_part part = some_part(&draw, image->width, image->height);
    bl_want want = {.least = least, .part = some_part, .context = &draw};
    bl_scratch scratch = {0};
    bl_picture p;
    FUZZ_CHECK(bl_picture_decode(data, size, &want, "input", &scratch, &p, NULL) == BL_OK);
    FUZZ_CHECK(p.width == image->width && p.height == image->height);
    for (int y = part.top; y < part.top + part.rows; y++) {
        size_t at = (size_t)(y - p.part.top) * (size_t)p.part.columns + (size_t)(part.left - p.part.left);
        const uint8_t *whole = image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)part.left);
        FUZZ_CHECK(memcmp(p.pixels + 3 * at, whole, 3 * (size_t)part.columns) == 0);
    }
    bl_scratch_clear(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A few bytes may claim hundreds of megapixels, which are allocated lawfully but slowly: such claims are left out
     * by a look at where both formats keep their sizes. */
    if (size >= 24 && data[0] == 0x89 && (data[16] | data[17] | data[20] | data[21]))
        return 0;
    for (size_t i = 2; size >= 10 && data[0] == 0xFF && i + 9 < size; i++)
        if (data[i] == 0xFF && data[i + 1] >= 0xC0 && data[i + 1] <= 0xCF && (data[i + 5] > 4 || data[i + 7] > 4))
            return 0;
    bl_error err = {0};
    bl_image image;
    int code = bl_image_decode(data, size, 16, "input", &image, &err);
    if (code == BL_OK) {
        FUZZ_CHECK(image.pixels && image.width > 0 && image.height > 0);
        if (image.width <= SIDE_TO_RESAMPLE && image.height <= SIDE_TO_RESAMPLE)
            check_view(&image, size);
        check_part(&image, data, size, 16);
    } else {
        FUZZ_CHECK(code == BL_ERR_FORMAT || code == BL_ERR_NOMEM);
        FUZZ_CHECK(strstr(err.message, "input") && !image.pixels);
    }
    bl_image_clear(&image);
    return 0;
}
