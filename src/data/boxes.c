#include <stdlib.h>

#include "base/alloc.h"
#include "data/dataset.h"

int bl_boxes_push(bl_boxes *boxes, const bl_box *box, bl_error *err)
{
    if (boxes->len == boxes->cap) {
        size_t cap = boxes->cap ? boxes->cap * 2 : 16;
        bl_box *items = bl_realloc(boxes->items, cap, sizeof *items);
        if (!items)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu boxes", cap);
        boxes->items = items;
        boxes->cap = cap;
    }
    boxes->items[boxes->len++] = *box;
    return BL_OK;
}

void bl_boxes_clear(bl_boxes *boxes)
{
    free(boxes->items);
    *boxes = (bl_boxes){0};
}
