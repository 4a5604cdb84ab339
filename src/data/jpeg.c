#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "base/alloc.h"
#include "data/exif.h"
#include "data/image.h"
#include "tensor/shape.h"

/* libjpeg ends in error_exit, which must not come back. */
typedef struct failing {
    struct jpeg_error_mgr base; /* first */
    jmp_buf out;
    char message[JMSG_LENGTH_MAX];
} failing;

static void leave(j_common_ptr info)
{
    failing *f = (failing *)info->err;
    f->base.format_message(info, f->message);
    longjmp(f->out, 1);
}

/* A truncated or damaged file is only a warning to libjpeg, which fills in grey: no image to learn from. */
static void note(j_common_ptr info, int level)
{
    if (level < 0)
        leave(info);
}

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
    struct jpeg_decompress_struct info;
    failing error;
    uint8_t *pixels, *line; /* line: of CMYK */
    bool too_large, no_memory;
} decoding;

static void read_lines(decoding *d)
{
    struct jpeg_decompress_struct *info = &d->info;
    bool cmyk = info->out_color_space == JCS_CMYK;
    d->pixels = allocate_pixels(info->output_width, info->output_height);
    d->line = cmyk ? bl_calloc(info->output_width, 4) : NULL;
    d->no_memory = !d->pixels || (cmyk && !d->line);
    while (!d->no_memory && info->output_scanline < info->output_height) {
        uint8_t *row = d->pixels + (size_t)info->output_scanline * info->output_width * 3;
        JSAMPROW target = cmyk ? d->line : row;
        jpeg_read_scanlines(info, &target, 1);
        if (cmyk)
            convert_cmyk(d->line, row, info->output_width);
    }
}

static void decode(decoding *d, const uint8_t *data, size_t len, int least)
{
    struct jpeg_decompress_struct *info = &d->info;
    jpeg_create_decompress(info);
    jpeg_mem_src(info, data, len);
    jpeg_read_header(info, TRUE);
    d->too_large = bl_image_too_large(info->image_width, info->image_height);
    if (d->too_large)
        return;
    info->scale_num = 1;
    info->scale_denom = bl_jpeg_denominator(info->image_width, info->image_height, least);
    info->out_color_space =
        info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(info);
    read_lines(d);
    if (!d->no_memory)
        jpeg_finish_decompress(info);
}

int bl_jpeg_decode(const uint8_t *data, size_t len, int least, const char *name, bl_image *out, bl_error *err)
{
    decoding *d = bl_calloc(1, sizeof *d); /* not on the stack: longjmp would leave its members undefined */
    if (!d)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to decode '%s'", name);
    d->info.err = jpeg_std_error(&d->error.base);
    d->error.base.error_exit = leave;
    d->error.base.emit_message = note;
    int code = BL_OK;
    if (setjmp(d->error.out) == 0)
        decode(d, data, len, least);
    if (d->error.message[0])
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s' is a damaged JPEG image: %s", name, d->error.message);
    else if (d->too_large)
        code = bl_image_refuse_size(name, d->info.image_width, d->info.image_height, err);
    else if (d->no_memory)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to decode '%s'", name);
    if (code == BL_ERR_FORMAT)
        bl_error_remedy(err, "remove or replace the file");
    if (code == BL_OK) {
        *out =
            (bl_image){.pixels = d->pixels, .width = (int)d->info.output_width, .height = (int)d->info.output_height};
        d->pixels = NULL;
        code = bl_image_upright(out, bl_exif_orientation(data, len), err);
        if (code != BL_OK)
            bl_image_clear(out);
    }
    jpeg_destroy_decompress(&d->info);
    free(d->pixels);
    free(d->line);
    free(d);
    return code;
}
