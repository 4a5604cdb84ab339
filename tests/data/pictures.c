#include "pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#include "testing.h"

uint8_t picture_value(int x, int y, int width, int height, int channel)
{
    switch (channel) {
    case 0:
        return (uint8_t)(20 + 200 * x / width);
    case 1:
        return (uint8_t)(20 + 200 * y / height);
    default:
        return (uint8_t)(220 - 100 * x / width - 100 * y / height);
    }
}

static void fill_jpeg_row(picture_kind kind, int y, int width, int height, uint8_t *row)
{
    for (int x = 0; x < width; x++) {
        if (kind == PICTURE_GREY) {
            row[x] = picture_value(x, y, width, height, 0);
            continue;
        }
        int step = kind == PICTURE_CMYK ? 4 : 3;
        for (int c = 0; c < 3; c++)
            row[step * x + c] = picture_value(x, y, width, height, c);
        if (kind == PICTURE_CMYK)
            row[step * x + 3] = 255;
    }
}

picture_file picture_jpeg(picture_kind kind, int width, int height)
{
    struct jpeg_compress_struct info = {0};
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long len = 0;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &len);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = kind == PICTURE_GREY ? 1 : kind == PICTURE_CMYK ? 4 : 3;
    info.in_color_space = kind == PICTURE_GREY ? JCS_GRAYSCALE : kind == PICTURE_CMYK ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 97, TRUE);
    jpeg_start_compress(&info, TRUE);
    uint8_t *row = calloc((size_t)width, 4);
    assert_non_null(row);
    while (info.next_scanline < info.image_height) {
        fill_jpeg_row(kind, (int)info.next_scanline, width, height, row);
        JSAMPROW line = row;
        jpeg_write_scanlines(&info, &line, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(row);
    return (picture_file){data, len};
}

/* The pixels as the simplified interface of libpng wants them. */
static void *png_pixels(picture_kind kind, int width, int height)
{
    size_t n = (size_t)width * (size_t)height;
    uint8_t *bytes = calloc(n, 8);
    uint16_t *words = (uint16_t *)bytes;
    assert_non_null(bytes);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * (size_t)width + (size_t)x;
            if (kind == PICTURE_GREY)
                bytes[i] = picture_value(x, y, width, height, 0);
            else if (kind == PICTURE_PALETTE)
                bytes[i] = (uint8_t)((x + y) % 3);
            for (int c = 0; c < 3 && kind == PICTURE_RGB; c++)
                bytes[3 * i + (size_t)c] = picture_value(x, y, width, height, c);
            for (int c = 0; c < 3 && kind == PICTURE_RGBA; c++)
                bytes[4 * i + (size_t)c] = 200;
            if (kind == PICTURE_RGBA)
                bytes[4 * i + 3] = (uint8_t)(255 * x / (width - 1));
            for (int c = 0; c < 3 && kind == PICTURE_RGB16; c++)
                words[3 * i + (size_t)c] = (uint16_t)(65535 * (c + 1) / 3); /* linear light */
        }
    return bytes;
}

picture_file picture_png(picture_kind kind, int width, int height)
{
    static const uint8_t palette[3][3] = {{255, 0, 0}, {0, 255, 0}, {10, 20, 30}};
    static const png_uint_32 formats[] = {[PICTURE_RGB] = PNG_FORMAT_RGB,
                                          [PICTURE_GREY] = PNG_FORMAT_GRAY,
                                          [PICTURE_RGBA] = PNG_FORMAT_RGBA,
                                          [PICTURE_PALETTE] = PNG_FORMAT_RGB_COLORMAP,
                                          [PICTURE_RGB16] = PNG_FORMAT_LINEAR_Y | PNG_FORMAT_FLAG_COLOR};
    png_image image = {.version = PNG_IMAGE_VERSION, .width = (png_uint_32)width, .height = (png_uint_32)height};
    image.format = formats[kind];
    image.colormap_entries = kind == PICTURE_PALETTE ? 3 : 0;
    void *pixels = png_pixels(kind, width, height);
    png_alloc_size_t len = 0;
    assert_true(png_image_write_to_memory(&image, NULL, &len, 0, pixels, 0, palette));
    uint8_t *data = malloc(len);
    assert_non_null(data);
    assert_true(png_image_write_to_memory(&image, data, &len, 0, pixels, 0, palette));
    free(pixels);
    return (picture_file){data, len};
}

picture_file picture_png_of(const uint8_t *rgb, int width, int height)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = (png_uint_32)width, .height = (png_uint_32)height};
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t len = 0;
    assert_true(png_image_write_to_memory(&image, NULL, &len, 0, rgb, 0, NULL));
    uint8_t *data = malloc(len);
    assert_non_null(data);
    assert_true(png_image_write_to_memory(&image, data, &len, 0, rgb, 0, NULL));
    return (picture_file){data, len};
}

void picture_clear(picture_file *file)
{
    free(file->data);
    *file = (picture_file){0};
}

uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}
