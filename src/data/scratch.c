#include "data/scratch.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { ALIGN_B = 64 };

void *bl_scratch_room(bl_scratch *scratch, bl_scratch_use use, size_t bytes)
{
    if (scratch->block[use] && bytes <= scratch->bytes[use])
        return scratch->block[use];
    /* Somewhat more: the next image is often a little larger. */
    size_t slack = bytes / 8 + ALIGN_B, room = bytes <= SIZE_MAX - slack ? bytes + slack : bytes;
    free(scratch->block[use]);
    scratch->block[use] = bl_aligned_alloc(ALIGN_B, room);
    scratch->bytes[use] = scratch->block[use] ? room : 0;
    scratch->n_grown++;
    return scratch->block[use];
}

void bl_scratch_adopt(bl_scratch *scratch, bl_scratch_use use, void *block, size_t bytes)
{
    free(scratch->block[use]);
    scratch->block[use] = block;
    scratch->bytes[use] = bytes;
    scratch->n_grown++;
}

void bl_scratch_clear(bl_scratch *scratch)
{
    for (int i = 0; i < BL_SCRATCH_USES; i++)
        free(scratch->block[i]);
    *scratch = (bl_scratch){0};
}
