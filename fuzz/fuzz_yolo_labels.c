/* The text of a label file. */
#include "fuzz.h"

#include <string.h>

#include "data/yolo_labels.h"

enum { CLASSES = 80 };

static void check(const bl_objects *boxes)
{
    for (size_t i = 0; i < boxes->len; i++) {
        const bl_object *b = &boxes->items[i];
        FUZZ_CHECK(b->label >= 0 && b->label < CLASSES);
        FUZZ_CHECK(b->width >= 0 && b->width <= 1 && b->height >= 0 && b->height <= 1);
        FUZZ_CHECK(b->x >= 0 && b->x <= 1 && b->y >= 0 && b->y <= 1);
        FUZZ_CHECK(b->x - b->width / 2 > -1e-6f && b->x + b->width / 2 < 1 + 1e-6f);
        FUZZ_CHECK(b->y - b->height / 2 > -1e-6f && b->y + b->height / 2 < 1 + 1e-6f);
        for (size_t k = 0; k < i; k++)
            FUZZ_CHECK(memcmp(b, &boxes->items[k], sizeof *b) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    bl_objects boxes = {0};
    bl_error err = {0};
    int64_t lines = 1, n_duplicates = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    int code = bl_yolo_parse_labels(text, size, "input.txt", CLASSES, &boxes, &n_duplicates, &err);
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_FORMAT || code == BL_ERR_NOMEM);
    FUZZ_CHECK(code == BL_OK || strstr(err.message, "input.txt") || code == BL_ERR_NOMEM);
    FUZZ_CHECK(code != BL_ERR_FORMAT || (strstr(err.message, "line ") && err.remedy[0]));
    FUZZ_CHECK((int64_t)boxes.len + n_duplicates <= lines);
    check(&boxes);
    bl_objects_clear(&boxes);
    free(text);
    return 0;
}
