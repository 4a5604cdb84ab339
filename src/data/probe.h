/* Whether a file looks like a whole image, without decoding it. Of use inside this room. */
#ifndef BL_DATA_PROBE_H
#define BL_DATA_PROBE_H

#include "data/blob.h"

/* Their numbers are stored (data/scan_cache.h). */
typedef enum bl_probe {
    BL_PROBE_GOOD,
    BL_PROBE_EMPTY,
    BL_PROBE_NO_IMAGE,
    BL_PROBE_HEADER,
    BL_PROBE_TOO_LARGE,
    BL_PROBE_CUT,
    BL_PROBE_DAMAGED, /* only decoding finds it */
    BL_PROBE_LARGE_FILE,
    BL_PROBE_STATES
} bl_probe;

const char *bl_probe_words(bl_probe state); /* "it ends too early" */
/* A JPEG's segments up to its data, its size, and that it has an end; a PNG's chunks, its size, and that it has an end.
 * Of a large file only a few KiB are read, but for JPEGs with something behind their end. *out where it returns BL_OK;
 * BL_ERR_IO, BL_ERR_FORMAT where the file cannot be read, or is just being changed. */
int bl_probe_image(const bl_blob *blob, bl_probe *out, bl_error *err);

#endif
