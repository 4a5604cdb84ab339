/* A text that lists images, and where their labels would be. */
#include "fuzz.h"

#include <string.h>

#include "data/image_list.h"
#include "data/yolo_places.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_strv list;
    bl_error err = {0};
    bl_strv_init(&list);
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    int code = bl_image_list_parse((const char *)data, size, "input.txt", &list, &err);
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_NOMEM ||
               (code == BL_ERR_FORMAT && strstr(err.message, "input.txt', line ")));
    FUZZ_CHECK(list.len <= lines);
    for (size_t i = 0; i < list.len; i++) {
        const char *path = list.items[i];
        size_t n = strlen(path);
        FUZZ_CHECK(n > 0 && n <= BL_IMAGE_LIST_LINE_MAX && !strchr(path, '\n') && path[n - 1] != ' ');
        char labels[BL_YOLO_PATH_MAX];
        FUZZ_CHECK(bl_yolo_labels_of(path, labels, NULL) == BL_OK);
        FUZZ_CHECK(strlen(labels) >= 4 && strcmp(labels + strlen(labels) - 4, ".txt") == 0);
    }
    bl_strv_clear(&list);
    return 0;
}
