/* Mean average precision as COCO's public evaluator computes it (Lin et al. 2014; pycocotools, boxes, area "all", 100
 * detections a class and image): for each class and each IoU threshold from 0.5 to 0.95, detections from the highest
 * score down take the free box that they overlap most; precision is made monotone and averaged at 101 recalls. */
#ifndef BL_DETECT_MAP_H
#define BL_DETECT_MAP_H

#include <stdint.h>

#include "base/error.h"
#include "detect/nms.h"

#define BL_MAP_THRESHOLDS 10 /* 0.5, 0.55, ..., 0.95 */

typedef struct bl_truth {
    float x1, y1, x2, y2; /* corners, in the pixels that the detections are in */
    int cls;
    bool crowd; /* stands for several: whatever lies in it is neither right nor wrong, and it need not be found */
} bl_truth;

typedef struct bl_map bl_map;

int bl_map_new(int n_classes, bl_map **out, bl_error *err);
void bl_map_free(bl_map *map);
/* One image. BL_ERR_INTERNAL for a class that does not exist or a number that is not finite; nothing is counted then.
 * Boxes of equal score count in the order of the calls, and of the list. */
int bl_map_add(bl_map *map, const bl_truth *truths, int n_truths, const bl_detection *detections, int n_detections,
               bl_error *err);

typedef struct bl_map_class {
    int64_t n_truths; /* crowds not counted */
    double ap50, ap;  /* at IoU 0.5; the mean over the thresholds. NaN without truths */
} bl_map_class;

typedef struct bl_map_result {
    int64_t n_images, n_truths;
    double map50, map;            /* means over the classes that have truths; NaN where none has */
    double at[BL_MAP_THRESHOLDS]; /* at each threshold */
} bl_map_result;

/* Of all images so far; more may follow. `classes` (n_classes entries) may be NULL. */
int bl_map_compute(const bl_map *map, bl_map_result *out, bl_map_class *classes, bl_error *err);

#endif
