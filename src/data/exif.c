#include "data/exif.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { APP1 = 0xE1, SOS = 0xDA, EOI = 0xD9, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, ENTRY_B = 12 };

static uint32_t number(const uint8_t *p, size_t n, bool little)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | p[little ? n - 1 - i : i];
    return value;
}

/* In a TIFF header and its first directory. */
static int orientation_in(const uint8_t *tiff, size_t len)
{
    bool little = len >= 8 && memcmp(tiff, "II*\0", 4) == 0;
    if (len < 8 || (!little && memcmp(tiff, "MM\0*", 4) != 0))
        return 1;
    size_t at = number(tiff + 4, 4, little);
    if (at > len - 2)
        return 1;
    size_t n = number(tiff + at, 2, little);
    for (at += 2; n > 0 && at + ENTRY_B <= len; n--, at += ENTRY_B) {
        const uint8_t *entry = tiff + at;
        if (number(entry, 2, little) != TAG_ORIENTATION)
            continue;
        uint32_t value = number(entry + 8, 2, little);
        return number(entry + 2, 2, little) == TYPE_SHORT && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

int bl_exif_orientation(const uint8_t *jpeg, size_t len)
{
    for (size_t at = 2; at + 4 <= len && jpeg[at] == 0xFF;) {
        uint8_t marker = jpeg[at + 1];
        if (marker == 0xFF) { /* filling */
            at++;
            continue;
        }
        size_t segment = number(jpeg + at + 2, 2, false);
        if (marker == SOS || marker == EOI || segment < 2 || segment > len - at - 2)
            return 1;
        if (marker == APP1 && segment >= 8 && memcmp(jpeg + at + 4, "Exif\0\0", 6) == 0)
            return orientation_in(jpeg + at + 10, segment - 8);
        at += 2 + segment;
    }
    return 1;
}

int bl_image_upright(bl_image *image, int orientation, bl_error *err)
{
    if (orientation <= 1 || orientation > 8)
        return BL_OK;
    size_t w = (size_t)image->width, h = (size_t)image->height;
    size_t columns = orientation >= 5 ? h : w, rows = orientation >= 5 ? w : h;
    uint8_t *pixels = bl_calloc(w * h, 3), *to = pixels;
    if (!pixels)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to turn an image of %zu x %zu pixels", w, h);
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < columns; x++, to += 3) {
            /* Where the pixel stood: 2 to 4 mirror and turn by half, 5 to 8 exchange columns and rows before. */
            size_t from_x = orientation >= 5 ? y : x, from_y = orientation >= 5 ? x : y;
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
                from_x = w - 1 - from_x;
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
                from_y = h - 1 - from_y;
            memcpy(to, image->pixels + 3 * (from_y * w + from_x), 3);
        }
    free(image->pixels);
    *image = (bl_image){.pixels = pixels, .width = (int)columns, .height = (int)rows};
    return BL_OK;
}
