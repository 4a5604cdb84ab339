#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "base/alloc.h"
#include "data/exif.h"
#include "data/image.h"
#include "data/jpeg_guard.h"
#include "tensor/shape.h"

unsigned bl_jpeg_denominator(unsigned width, unsigned height, int least)
{
    unsigned side = width < height ? width : height, denominator = 1;
    while (least > 0 && denominator < 8 && side / (denominator * 2) >= (unsigned)least)
        denominator *= 2;
    return denominator;
}

/* CMYK of Adobe's files is inverted; black is a factor. */
static void convert_cmyk(const uint8_t *from, uint8_t *to, size_t width)
{
    for (size_t i = 0; i < width; i++)
        for (size_t c = 0; c < 3; c++)
            to[3 * i + c] = (uint8_t)(from[4 * i + c] * from[4 * i + 3] / 255);
}

static uint8_t *allocate_pixels(unsigned width, unsigned height)
{
    size_t bytes;
    if (!bl_size_mul(width, height, &bytes) || !bl_size_mul(bytes, 3, &bytes))
        return NULL;
    return bl_calloc(bytes, 1);
}

typedef struct decoding {
    bl_jpeg_guard guard;
    const uint8_t *data;
    size_t len;
    int least;
    uint8_t *pixels, *line; /* line: of CMYK */
} decoding;

static void read_lines(decoding *d)
{
    struct jpeg_decompress_struct *info = &d->guard.info;
    bool cmyk = info->out_color_space == JCS_CMYK;
    d->pixels = allocate_pixels(info->output_width, info->output_height);
    d->line = cmyk ? bl_calloc(info->output_width, 4) : NULL;
    d->guard.no_memory = !d->pixels || (cmyk && !d->line);
    while (!d->guard.no_memory && info->output_scanline < info->output_height) {
        uint8_t *row = d->pixels + (size_t)info->output_scanline * info->output_width * 3;
        JSAMPROW target = cmyk ? d->line : row;
        jpeg_read_scanlines(info, &target, 1);
        if (cmyk)
            convert_cmyk(d->line, row, info->output_width);
    }
}

static void decode(void *context)
{
    decoding *d = context;
    struct jpeg_decompress_struct *info = &d->guard.info;
    jpeg_mem_src(info, d->data, d->len);
    jpeg_read_header(info, TRUE);
    d->guard.too_large = bl_image_too_large(info->image_width, info->image_height);
    if (d->guard.too_large)
        return;
    info->scale_num = 1;
    info->scale_denom = bl_jpeg_denominator(info->image_width, info->image_height, d->least);
    info->out_color_space =
        info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(info);
    read_lines(d);
    if (!d->guard.no_memory)
        jpeg_finish_decompress(info);
}

int bl_jpeg_decode(const uint8_t *data, size_t len, int least, const char *name, bl_image *out, bl_error *err)
{
    decoding d = {.data = data, .len = len, .least = least};
    const struct jpeg_decompress_struct *info = &d.guard.info;
    int code = bl_jpeg_run(&d.guard, decode, &d, name, err);
    if (code == BL_OK) {
        *out = (bl_image){.pixels = d.pixels, .width = (int)info->output_width, .height = (int)info->output_height};
        d.pixels = NULL;
        code = bl_image_upright(out, bl_exif_orientation(data, len), err);
        if (code != BL_OK)
            bl_image_clear(out);
    }
    jpeg_destroy_decompress(&d.guard.info);
    free(d.pixels);
    free(d.line);
    return code;
}
