/* Small pictures that tests make: JPEG and PNG files in memory. */
#ifndef BL_TESTS_DATA_PICTURES_H
#define BL_TESTS_DATA_PICTURES_H

#include <stddef.h>
#include <stdint.h>

typedef enum picture_kind {
    PICTURE_RGB,
    PICTURE_GREY,
    PICTURE_CMYK,    /* JPEG only; as Adobe's programs store it: inverted */
    PICTURE_RGBA,    /* PNG only; alpha rises from left to right */
    PICTURE_PALETTE, /* PNG only */
    PICTURE_RGB16    /* PNG only */
} picture_kind;

typedef struct picture_file {
    uint8_t *data;
    size_t len;
} picture_file;

/* What the pictures show at (x, y): smooth, and different in all channels; grey ones show the first channel. */
uint8_t picture_value(int x, int y, int width, int height, int channel);
picture_file picture_jpeg(picture_kind kind, int width, int height);
picture_file picture_png(picture_kind kind, int width, int height);
picture_file picture_png_of(const uint8_t *rgb, int width, int height);
void picture_clear(picture_file *file);

/* FNV-1a going on from `hash`: whether two sequences of batches are the same to the bit. */
uint64_t hash_bytes(uint64_t hash, const void *data, size_t len);

#endif
