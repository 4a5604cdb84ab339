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
    if (code == BL_OK && bl_image_too_large(image.width, image.height))
        code = bl_image_refuse_size(name, image.width, image.height, err);
    image.format = PNG_FORMAT_RGB;
    /* libpng takes 16 bits without a gamma for light; those who write them mean what they mean with 8. */
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
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
