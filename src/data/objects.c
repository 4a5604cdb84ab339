#include <stdlib.h>

#include "base/alloc.h"
#include "data/dataset.h"

int bl_objects_push(bl_objects *boxes, const bl_object *box, bl_error *err)
{
    if (boxes->len == boxes->cap) {
        size_t cap = boxes->cap ? boxes->cap * 2 : 16;
        bl_object *items = bl_realloc(boxes->items, cap, sizeof *items);
        if (!items)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu boxes", cap);
        boxes->items = items;
        boxes->cap = cap;
    }
    boxes->items[boxes->len++] = *box;
    return BL_OK;
}

void bl_objects_clear(bl_objects *boxes)
{
    free(boxes->items);
    *boxes = (bl_objects){0};
}
