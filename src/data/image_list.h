/* A text that lists images, as YOLO data sets have them. Of use inside this room. */
#ifndef BL_DATA_IMAGE_LIST_H
#define BL_DATA_IMAGE_LIST_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum { BL_IMAGE_LIST_LINE_MAX = 4000 };

/* A path a line, appended to out; blanks around it and a leading "./" are dropped, empty lines passed over. `name` is
 * for errors, which are BL_ERR_FORMAT with the line: a zero byte, a line longer than the limit. */
int bl_image_list_parse(const char *text, size_t len, const char *name, bl_strv *out, bl_error *err);

#endif
