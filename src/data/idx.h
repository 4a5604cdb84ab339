/* IDX files, as MNIST and its kin come in (LeCun and Cortes): a header of big-endian numbers, then the values; here
 * bytes in three dimensions (images, rows, columns) and in one (labels). Of use inside this room. */
#ifndef BL_DATA_IDX_H
#define BL_DATA_IDX_H

#include "data/blob.h"

typedef struct bl_idx_images {
    int64_t n;
    int rows, columns;
    int64_t start; /* of the first image, bytes */
} bl_idx_images;

typedef struct bl_idx_labels {
    int64_t n, start;
    int largest;
} bl_idx_labels;

#define BL_IDX_MAX_B ((int64_t)1 << 32) /* unpacked, of a file that gzip packed */

/* BL_ERR_FORMAT where the header is none, claims what the bytes do not hold, or none. */
int bl_idx_open_images(const bl_blob *blob, bl_idx_images *out, bl_error *err);
int bl_idx_open_labels(const bl_blob *blob, bl_idx_labels *out, bl_error *err);
/* Grey, as [rows][columns][3]. */
int bl_idx_read_image(const bl_blob *blob, const bl_idx_images *images, int64_t index, uint8_t *pixels, bl_error *err);

#endif
