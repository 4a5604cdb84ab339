/* One image of a data set: from its file, or from where it is kept, as far as it is wanted. Of use inside this room. */
#ifndef BL_DATA_PICTURE_H
#define BL_DATA_PICTURE_H

#include "data/image.h"

/* What is wanted of an image. */
typedef struct bl_want {
    int least; /* as for bl_image_decode */
    /* Told the image's sides as it is decoded, once: the part that must be there. NULL: all of it. */
    bl_part (*part)(void *context, int width, int height);
    void *context;
} bl_want;

/* The part lies in the scratch, or in the cache, until the scratch is used for another one. Its pixels are those of
 * bl_image_decode with the same `least`, bit by bit; of a JPEG, what no part needs is not computed, and where the file
 * ends as it should, the lines below are not even read: damage there goes unnoticed. */
int bl_picture_decode(const uint8_t *data, size_t len, const bl_want *want, const char *name, bl_scratch *scratch,
                      bl_picture *out, bl_error *err);
/* An image of a data set whose kind has paths. */
int bl_picture_read(const bl_dataset *dataset, bl_split split, int64_t index, const bl_want *want, bl_scratch *scratch,
                    bl_picture *out, bl_error *err);
/* The same, made into a classifier's view: out (3, size, size). */
int bl_picture_view(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                    bl_error *err);

/* BL_OK and *taken false: a JPEG that must be decoded as a whole by bl_image_decode (progressive, CMYK, or not
 * upright). */
int bl_jpeg_decode_part(const uint8_t *data, size_t len, const bl_want *want, const char *name, bl_scratch *scratch,
                        bl_picture *out, bool *taken, bl_error *err);

#endif
