#include "fuzz.h"

#include <string.h>

#include "plan/batch_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    bl_batch_list list;
    bl_error err = {0};
    int rc = bl_batch_list_parse(text, &list, &err);
    if (rc == BL_OK) {
        FUZZ_CHECK(list.len > 0 && list.len <= BL_BATCH_LIST_MAX);
        FUZZ_CHECK(list.items[0] >= 1 && list.items[list.len - 1] <= BL_BATCH_MAX);
        for (size_t i = 1; i < list.len; i++)
            FUZZ_CHECK(list.items[i - 1] < list.items[i]);
    } else {
        FUZZ_CHECK(rc == BL_ERR_USAGE && err.message[0] != '\0' && err.remedy[0] != '\0');
        FUZZ_CHECK(strchr(err.message, '\n') == NULL);
        FUZZ_CHECK(list.items == NULL && list.len == 0);
    }
    bl_batch_list_clear(&list);
    free(text);
    return 0;
}
