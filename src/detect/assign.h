/* Which predictions answer for which boxes: YOLOv7's assignment (Wang et al. 2022, as its public code has it), which is
 * YOLOv5's choice of candidates with the dynamic k of simOTA (Ge et al. 2021, "YOLOX", 2.2) on top. */
#ifndef BL_DETECT_ASSIGN_H
#define BL_DETECT_ASSIGN_H

#include <stddef.h>

#include "detect/batch.h"
#include "detect/box.h"

typedef struct bl_detect_truth {
    int image, cls, order;
    bl_box box; /* in fractions of the image */
} bl_detect_truth;

typedef struct bl_detect_match {
    int level, image, anchor, row, column;
    int truth; /* index into the truths */
} bl_detect_match;

/* A prediction that may answer for a box. One that lies near two boxes is there twice, and both may be taken. */
typedef struct bl_detect_candidate {
    bl_detect_match at; /* truth is not set */
    bl_box box;         /* predicted, in input pixels */
    int64_t index;      /* of its first channel */
    double off;         /* the classification's cost if every class were wrong */
} bl_detect_candidate;

/* Memory of one assignment; carved by bl_detect_assign_carve. */
typedef struct bl_detect_assign {
    bl_detect_truth *truths; /* sorted by image, and there in the order of the rows */
    int n_truths;
    bl_detect_match *matches; /* sorted by image, level, candidate */
    int n_matches;
    bl_detect_candidate *candidates;
    double *iou, *cost; /* of one box with each candidate */
    int *owner, *n_owners;
} bl_detect_assign;

/* Bytes of memory for n_targets rows; `memory` (aligned to 8 bytes) may be NULL to ask for the size alone. False where
 * it overflows. */
bool bl_detect_assign_carve(const bl_detect_spec *spec, int64_t n_targets, bl_detect_assign *assign, void *memory,
                            size_t *bytes);
/* Reads the rows that are boxes. */
void bl_detect_read_targets(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_detect_assign *assign);
/* Fills `matches` from the lead heads' predictions. `wide`: the auxiliary heads' assignment, whose candidates reach a
 * whole pixel further instead of half a one. */
void bl_detect_assign_run(const bl_detect_spec *spec, const bl_detect_batch *batch, bool wide,
                          bl_detect_assign *assign);
/* What channels 0 to 3 say, in grid units, relative to the pixel; and the derivatives by these channels. */
bl_box bl_detect_decode_box(const double raw[4], float anchor_w, float anchor_h, double slope[4]);

double bl_detect_sigmoid(double x);
/* log(1 + exp(x)) */
double bl_detect_softplus(double x);

#endif
