/* Decoded images and what is done to them. Of use inside this room. */
#ifndef BL_DATA_IMAGE_H
#define BL_DATA_IMAGE_H

#include "data/dataset.h"
#include "data/resample.h"

typedef struct bl_image {
    uint8_t *pixels; /* [height][width][3], RGB */
    int width, height;
} bl_image;

void bl_image_clear(bl_image *image);
bl_picture bl_picture_whole(const bl_image *image); /* borrows it */
/* Whether an image of these sides is refused before memory is asked for: a file of a few bytes may claim any. */
bool bl_image_too_large(uint64_t width, uint64_t height);
int bl_image_refuse_size(const char *name, uint64_t width, uint64_t height, bl_error *err); /* BL_ERR_FORMAT */
/* Any JPEG or PNG, told apart by their first bytes, to RGB: grey ones three times the same, CMYK as Adobe's programs
 * store it, 16 bits without a gamma as sRGB, transparency laid over black, JPEGs turned upright as their Exif data say.
 * JPEGs far larger than wanted are decoded at a fraction of their size, with neither side below `least`; 0: in full.
 * `name` is for errors, which are BL_ERR_FORMAT. */
int bl_image_decode(const uint8_t *data, size_t len, int least, const char *name, bl_image *out, bl_error *err);
int bl_jpeg_decode(const uint8_t *data, size_t len, int least, const char *name, bl_image *out, bl_error *err);
/* The largest of 1, 1/2, 1/4, 1/8, as its denominator, that leaves both sides at least `least`; 1 where that is 0. */
unsigned bl_jpeg_denominator(unsigned width, unsigned height, int least);
int bl_png_decode(const uint8_t *data, size_t len, const char *name, bl_image *out, bl_error *err);

/* The part of an image that becomes the view, in pixels; may reach beyond it, where zeros are. */
typedef struct bl_region {
    double x, y, width, height;
    bool mirror;
} bl_region;

bl_region bl_view_region(const bl_view *view, int width, int height);
/* Resamples the region (data/resample.h) and normalises it: out (3, size, size). Pixels whose middle lies beyond the
 * image are black. */
int bl_image_resample(const bl_image *image, const bl_region *region, int size, float *out, bl_error *err);

/* As whose decoding such views take a JPEG: a training view's part has `size` pixels at least. Crops, of which most are
 * far smaller than the image, want twice as many, and so do tests: there, decoding in full would hardly give another
 * result. */
int bl_view_least(const bl_view *view);
/* The pixels that a view of an image of these sides looks at. */
bl_part bl_view_part(const bl_view *view, int width, int height);
/* The view of a picture which holds that part: out (3, size, size). */
int bl_view_make(const bl_view *view, const bl_picture *picture, bl_scratch *scratch, float *out, bl_error *err);

/* The numbers of one view. */
typedef struct bl_draws {
    uint64_t state;
} bl_draws;
double bl_draw_uniform(bl_draws *draws); /* in [0, 1) */

extern const float bl_image_mean[3], bl_image_deviation[3]; /* of ImageNet, in [0, 1] units */

#endif
