/* Which way up a camera held a photograph. Of use inside this room. */
#ifndef BL_DATA_EXIF_H
#define BL_DATA_EXIF_H

#include "data/image.h"

/* The orientation that a JPEG file's first Exif segment gives, 1 to 8 as Exif numbers them (tag 0x0112, CIPA DC-008);
 * 1, upright, where there is none or it makes no sense. */
int bl_exif_orientation(const uint8_t *jpeg, size_t len);
/* Turns and mirrors the image so that it is upright; 5 to 8 exchange its sides. BL_ERR_NOMEM leaves it as it was. */
int bl_image_upright(bl_image *image, int orientation, bl_error *err);

#endif
