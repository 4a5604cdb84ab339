/* One input of a detector from one or several pictures, with their boxes. Of use inside this room.
 *
 * What is drawn and in which order follows YOLOv7 (Wang et al. 2022), whose numbers are the defaults:
 *   mosaic   4 pictures around a random point (Bochkovskiy et al. 2020), or 9, on a square of twice the side; of it a
 *            part is taken, at a random scale and place;
 *   mixup    a second one is blended in (Zhang et al. 2017), the share drawn from a beta distribution;
 *   colour   hue, saturation and value are multiplied;
 *   mirror   left and right change places.
 * A box of which too little is left goes: a side of 2 pixels or less, a tenth of its area or less, or a side 20 times
 * the other. */
#ifndef BL_DATA_SCENE_H
#define BL_DATA_SCENE_H

#include "data/picture.h"

/* Where pictures come from. */
typedef struct bl_scene_source {
    const void *context;
    int64_t count;
    int (*picture)(const void *context, int64_t index, const bl_want *want, bl_scratch *scratch, bl_picture *out,
                   bl_error *err);
    const bl_object *(*boxes)(const void *context, int64_t index, size_t *n); /* borrowed */
} bl_scene_source;

typedef struct bl_scene_style {
    double nine;  /* probability of 9 pictures rather than 4 */
    double mixup; /* probability */
    double scale_min, scale_max;
    double translate;              /* share of the side, to each direction */
    double hue, saturation, value; /* the gains lie in 1 - x to 1 + x */
    double mirror;                 /* probability */
} bl_scene_style;

extern const bl_scene_style bl_scene_yolov7; /* hyp.scratch.p5 of its authors */

/* Image `index` for the view: out (3, size, size) in [0, 1], its boxes appended, frame as in bl_dataset_kind. With
 * BL_AUGMENT_NONE and _FLIP (mirrored half the time, moved by up to an eighth) it is one picture, as large as fits, in
 * the middle of grey; with BL_AUGMENT_MOSAIC in the style given. Views of the same number are the same bits. */
int bl_scene_make(const bl_scene_source *source, int64_t index, const bl_view *view, const bl_scene_style *style,
                  float *out, bl_objects *boxes, float frame[4], bl_error *err);

/* As whose decoding such views take JPEGs: in training with the view's side at least, in tests in full (0), since a
 * fraction's sides are rounded. It does not depend on how small a mosaic shows them, so that caches can hold them. */
int bl_scene_least(const bl_view *view);

#endif
