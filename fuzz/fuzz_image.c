/* Bytes as a JPEG or PNG file, then a view of what was decoded. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "data/image.h"

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
    } else {
        FUZZ_CHECK(code == BL_ERR_FORMAT || code == BL_ERR_NOMEM);
        FUZZ_CHECK(strstr(err.message, "input") && !image.pixels);
    }
    bl_image_clear(&image);
    return 0;
}
