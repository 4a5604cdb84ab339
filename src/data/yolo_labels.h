/* A label file of YOLO's format. Of use inside this room. */
#ifndef BL_DATA_YOLO_LABELS_H
#define BL_DATA_YOLO_LABELS_H

#include "data/dataset.h"

/* Lines "class x y width height", blanks between; empty lines are passed over. The class is a whole number from 0 on,
 * below n_classes; x, y (the middle) and the sides are fractions of the image in [0, 1], the sides above 0. What
 * reaches beyond the image is cut off; a line that says what one before it said is dropped and counted. `name` is for
 * errors, which are BL_ERR_FORMAT with the line's number. text[len] must be 0. */
int bl_yolo_parse_labels(const char *text, size_t len, const char *name, int n_classes, bl_objects *out,
                         int64_t *n_duplicates, bl_error *err);

#endif
