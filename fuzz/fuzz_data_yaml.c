/* The text of a data.yaml. */
#include "fuzz.h"

#include <string.h>

#include "data/data_yaml.h"
#include "data/dataset.h"

static void check_list(const bl_strv *list)
{
    for (size_t i = 0; i < list->len; i++)
        FUZZ_CHECK(list->items[i] != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_data_yaml yaml;
    bl_error err = {0};
    int code = bl_data_yaml_parse((const char *)data, size, "input.yaml", &yaml, &err);
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_NOMEM || code == BL_ERR_FORMAT);
    FUZZ_CHECK(code != BL_ERR_FORMAT || (strstr(err.message, "input.yaml") && err.remedy[0]));
    check_list(&yaml.train);
    check_list(&yaml.val);
    check_list(&yaml.test);
    check_list(&yaml.names);
    if (code == BL_OK) {
        FUZZ_CHECK(yaml.train.len > 0 && yaml.nc >= 0 && yaml.nc <= BL_CLASSES_MAX);
        FUZZ_CHECK(yaml.names.len <= BL_CLASSES_MAX);
        FUZZ_CHECK(yaml.nc == 0 || yaml.names.len == 0 || (size_t)yaml.nc == yaml.names.len);
    }
    bl_data_yaml_clear(&yaml);
    return 0;
}
