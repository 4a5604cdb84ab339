/* JPEG images as far as they are wanted: libjpeg-turbo can leave out columns and lines, but for reading their codes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "data/exif.h"
#include "data/jpeg_guard.h"
#include "data/jpeg_quick.h"
#include "data/picture.h"
#include "tensor/shape.h"

typedef struct decoding {
    bl_jpeg_guard guard;
    const uint8_t *data;
    size_t len;
    const bl_want *want;
    bl_scratch *scratch;
    bl_picture picture;
    bool ends_well, other_way;
} decoding;

/* Chroma is interpolated between neighbours, and libjpeg takes the edge of a part for the image's. */
enum { MARGIN = 2 };

static bl_part with_margin(bl_part part, int width)
{
    int left = part.left > MARGIN ? part.left - MARGIN : 0, right = part.left + part.columns + MARGIN;
    part.left = left;
    part.columns = (right < width ? right : width) - left;
    return part;
}

static void read_lines(decoding *d, const bl_part *part)
{
    struct jpeg_decompress_struct *info = &d->guard.info;
    JDIMENSION left = (JDIMENSION)part->left, columns = (JDIMENSION)part->columns, top = (JDIMENSION)part->top;
    JDIMENSION bottom = top + (JDIMENSION)part->rows, height = info->output_height;
    size_t bytes;
    if (columns < info->output_width)
        jpeg_crop_scanline(info, &left, &columns); /* to whole blocks */
    uint8_t *pixels = NULL;
    if (bl_size_mul(3 * (size_t)columns, (size_t)part->rows, &bytes))
        pixels = bl_scratch_room(d->scratch, BL_SCRATCH_PIXELS, bytes);
    d->guard.no_memory = !pixels;
    if (!pixels)
        return;
    if (top > 0)
        jpeg_skip_scanlines(info, top);
    JSAMPROW row = pixels;
    while (info->output_scanline < bottom) {
        row = pixels + 3 * (size_t)columns * (info->output_scanline - top);
        jpeg_read_scanlines(info, &row, 1);
    }
    d->picture.pixels = pixels;
    d->picture.part = (bl_part){(int)left, part->top, (int)columns, part->rows};
    if (d->ends_well)
        return;
    /* To the end, where libjpeg will complain; but where it may skip the very last line, it looks no further. */
    if (info->output_scanline + 1 < height)
        jpeg_skip_scanlines(info, height - 1 - info->output_scanline);
    while (info->output_scanline < height)
        jpeg_read_scanlines(info, &row, 1);
    jpeg_finish_decompress(info);
}

bool bl_jpeg_quick_can(void)
{
#ifdef BL_DATA_X86
    const char *wanted = getenv("BATCHLAB_KERNELS");
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           !(wanted && strcmp(wanted, "portable") == 0);
#else
    return false;
#endif
}

static void decode(void *context)
{
    decoding *d = context;
    struct jpeg_decompress_struct *info = &d->guard.info;
    jpeg_mem_src(info, d->data, d->len);
    jpeg_read_header(info, TRUE);
    d->guard.too_large = bl_image_too_large(info->image_width, info->image_height);
    /* Progressive ones whose scans leave something out are smoothed from block to block, and at a part's edges
     * otherwise.
     */
    d->other_way = bl_exif_orientation(d->data, d->len) > 1 || info->progressive_mode ||
                   info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    if (d->guard.too_large || d->other_way)
        return;
    info->scale_num = 1;
    info->scale_denom = bl_jpeg_denominator(info->image_width, info->image_height, d->want->least);
    info->out_color_space = JCS_RGB;
    jpeg_calc_output_dimensions(info);
    int width = (int)info->output_width, height = (int)info->output_height;
    bl_part part = {0, 0, width, height};
    if (d->want->part)
        part = d->want->part(d->want->context, width, height);
    static const uint8_t nothing;
    d->picture = (bl_picture){.pixels = &nothing, .width = width, .height = height};
    if (part.columns <= 0 || part.rows <= 0)
        return;
#ifdef BL_DATA_X86
    /* Where the end must be looked at, libjpeg goes there. */
    if (info->scale_denom == 1 && d->ends_well && bl_jpeg_quick_can() &&
        bl_jpeg_quick(info, part, d->scratch, &d->picture))
        return;
#endif
    jpeg_start_decompress(info);
    part = with_margin(part, width);
    read_lines(d, &part);
}

int bl_jpeg_decode_part(const uint8_t *data, size_t len, const bl_want *want, const char *name, bl_scratch *scratch,
                        bl_picture *out, bool *taken, bl_error *err)
{
    decoding d = {.data = data, .len = len, .want = want, .scratch = scratch};
    d.ends_well = len >= 2 && data[len - 2] == 0xFF && data[len - 1] == JPEG_EOI;
    int code = bl_jpeg_run(&d.guard, decode, &d, name, err);
    jpeg_destroy_decompress(&d.guard.info);
    *taken = !d.other_way;
    *out = d.picture;
    return code;
}
