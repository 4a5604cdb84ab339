/* Memory that one thread uses again for each image, so that making batches allocates nothing once it has seen the
 * largest image. What libjpeg and libpng keep for themselves while they decode is theirs. Of use inside this room. */
#ifndef BL_DATA_SCRATCH_H
#define BL_DATA_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

typedef enum bl_scratch_use {
    BL_SCRATCH_FILE,   /* an image file's bytes */
    BL_SCRATCH_PIXELS, /* the image, or its part that is wanted */
    BL_SCRATCH_CODES,  /* a JPEG's, */
    BL_SCRATCH_PLANES, /* and its components */
    BL_SCRATCH_ROW,    /* a line of floats */
    BL_SCRATCH_RING,   /* several */
    BL_SCRATCH_ACROSS, /* an axis' taps */
    BL_SCRATCH_DOWN,
    BL_SCRATCH_CANVAS, /* a second canvas */
    BL_SCRATCH_USES
} bl_scratch_use;

typedef struct bl_scratch {
    void *block[BL_SCRATCH_USES];
    size_t bytes[BL_SCRATCH_USES];
    size_t n_grown; /* allocations so far */
} bl_scratch;

/* At least `bytes` (at a multiple of 64) until the same use is asked for again; what was there is lost. NULL: no
 * memory. All zero is an empty scratch. */
void *bl_scratch_room(bl_scratch *scratch, bl_scratch_use use, size_t bytes);
/* `block`, of so many bytes and from malloc, takes the place of that use's memory. */
void bl_scratch_adopt(bl_scratch *scratch, bl_scratch_use use, void *block, size_t bytes);
void bl_scratch_clear(bl_scratch *scratch);

#endif
