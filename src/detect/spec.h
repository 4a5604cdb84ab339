/* What a detector predicts and how it is laid out, shared by the models, the loss and the evaluation. */
#ifndef BL_DETECT_SPEC_H
#define BL_DETECT_SPEC_H

#include <stdbool.h>

#define BL_DETECT_MAX_LEVELS 4
#define BL_DETECT_ANCHORS    3 /* a level */

/* One level predicts, raw (before any sigmoid), (N, 3 (5 + n_classes), H, W): channel a (5 + n_classes) + k is, for
 * anchor a, x, y, w, h, objectness, then the classes. A pixel (i, j) is decoded as in YOLOv7 (Wang et al. 2022, as in
 * YOLOv5): centre ((2 sigmoid(x) - 0.5 + j) stride, ...), size (2 sigmoid(w))^2 anchor_w, ..., in input pixels. */
typedef struct bl_detect_spec {
    int n_classes;
    int n_levels;   /* 3 or 4, the finest first */
    bool auxiliary; /* training predicts each level a second time, by the auxiliary heads */
    int stride[BL_DETECT_MAX_LEVELS];
    float anchor[BL_DETECT_MAX_LEVELS][BL_DETECT_ANCHORS][2]; /* width, height in input pixels */
} bl_detect_spec;

#endif
