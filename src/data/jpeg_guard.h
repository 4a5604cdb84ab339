/* How libjpeg is run: its errors become ours. Of use to the JPEG files of this room, after jpeglib.h. */
#ifndef BL_DATA_JPEG_GUARD_H
#define BL_DATA_JPEG_GUARD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

#include "base/error.h"

typedef struct bl_jpeg_guard {
    struct jpeg_error_mgr base; /* first: libjpeg hands it back */
    jmp_buf out;
    char message[JMSG_LENGTH_MAX];
    struct jpeg_decompress_struct info;
    bool too_large, no_memory; /* for `decode` to set before it returns */
} bl_jpeg_guard;

/* Makes guard->info and runs decode(context), from which libjpeg may leap out. What the two change must not lie in
 * `decode`'s frame. The info is to be destroyed by the caller, in any case, with jpeg_destroy_decompress.
 * BL_ERR_FORMAT: a damaged image, which for libjpeg may be a mere warning; or one that claims too much. */
int bl_jpeg_run(bl_jpeg_guard *guard, void (*decode)(void *context), void *context, const char *name, bl_error *err);

#endif
