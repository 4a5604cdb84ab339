/* From a detector's raw maps to boxes: decoding, and suppression of boxes that show the same thing. */
#ifndef BL_DETECT_NMS_H
#define BL_DETECT_NMS_H

#include "base/error.h"
#include "detect/spec.h"

typedef struct bl_detection {
    float x1, y1, x2, y2; /* corners in pixels */
    float score;
    int cls;
} bl_detection;

/* {0} is an empty list; bl_detections_clear releases it. */
typedef struct bl_detections {
    bl_detection *at;
    int n, cap;
} bl_detections;

typedef struct bl_nms_options {
    double confidence;  /* objectness, and objectness times class, must be above this: 0.001 to evaluate */
    double iou;         /* boxes of one class overlap by at most this: 0.65 to evaluate */
    int max_detections; /* an image: 300 */
    int max_candidates; /* the best ones before suppression: 30000 */
} bl_nms_options;

extern const bl_nms_options bl_nms_evaluation; /* the numbers above, YOLOv7's */

void bl_detections_clear(bl_detections *list);
/* One image's boxes above the confidence, each class of a pixel on its own (with one class, by objectness alone), into
 * `out`, whose old content is overwritten: at most max_candidates, in no order. head[i] is level i's plain
 * (3 (5 + n_classes), h[i], w[i]). Predictions that are not finite give no boxes. */
int bl_detect_decode(const bl_detect_spec *spec, const float *const *head, const int *h, const int *w,
                     const bl_nms_options *options, bl_detections *out, bl_error *err);
/* Keeps, from the highest score down (among equals in the order of the list), each box that overlaps no kept one of its
 * class by more than options->iou; ends at max_detections. The list is sorted by score then. */
int bl_nms(bl_detections *list, const bl_nms_options *options, bl_error *err);

#endif
