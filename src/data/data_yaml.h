/* data.yaml, which describes a YOLO data set. Of use inside this room. */
#ifndef BL_DATA_DATA_YAML_H
#define BL_DATA_DATA_YAML_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

typedef struct bl_data_yaml {
    char *path;               /* what the entries below are relative to; NULL: the file's own folder */
    bl_strv train, val, test; /* folders, or files that list images */
    int64_t nc;               /* number of classes; 0: not said */
    bl_strv names;            /* of the classes; may be empty. As many as nc where both are there */
} bl_data_yaml;

/* Takes path, train, val, test (a text or a list of texts), nc, and names (a list, or a mapping from 0, 1, ... to
 * names); passes over all else. `name` is for errors: BL_ERR_FORMAT, with the line. To be cleared in any case. */
int bl_data_yaml_parse(const char *text, size_t len, const char *name, bl_data_yaml *out, bl_error *err);
void bl_data_yaml_clear(bl_data_yaml *yaml);

#endif
