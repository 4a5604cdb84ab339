#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "data/image.h"
#include "tensor/shape.h"

/* libpng's simplified interface does all conversions (palette, grey, 16 bits, gamma) and returns on errors. */
int bl_png_decode(const uint8_t *data, size_t len, const char *name, bl_image *out, bl_error *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color black = {0, 0, 0};
    uint8_t *pixels = NULL;
    int code = BL_OK;
    size_t bytes;
    if (!png_image_begin_read_from_memory(&image, data, len))
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' is a damaged PNG image: %s", name, image.message);
    if (code == BL_OK && (image.width > BL_IMAGE_SIDE_MAX || image.height > BL_IMAGE_SIDE_MAX))
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' is larger than %d pixels a side", name, BL_IMAGE_SIDE_MAX);
    image.format = PNG_FORMAT_RGB;
    if (code == BL_OK && (!bl_size_mul(image.width, image.height, &bytes) || !bl_size_mul(bytes, 3, &bytes) ||
                          !(pixels = bl_calloc(bytes, 1))))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to decode '%s'", name);
    if (code == BL_OK && (!png_image_finish_read(&image, &black, pixels, 0, NULL) || PNG_IMAGE_FAILED(image)))
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' is a damaged PNG image: %s", name, image.message);
    if (code == BL_ERR_FORMAT)
        bl_error_remedy(err, "remove or replace the file");
    if (code == BL_OK)
        *out = (bl_image){.pixels = pixels, .width = (int)image.width, .height = (int)image.height};
    else
        free(pixels);
    png_image_free(&image);
    return code;
}
