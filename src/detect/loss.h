/* YOLOv7's training loss with its gradient (Wang et al. 2022; as its public code computes it).
 *
 * For each level: the mean of 1 - CIoU over the predictions that were assigned to a box, the mean binary cross-entropy
 * of their classes, and that of the objectness of every pixel and anchor, whose target is the CIoU where a box was
 * assigned (not below 0) and 0 elsewhere, weighted 4, 1, 0.4 (three levels) or 4, 1, 0.25, 0.06 from fine to coarse.
 * Auxiliary heads add the same with an assignment of their own, times 0.25. Each sum times its gain, then all times the
 * number of images. With one class there is no class term.
 *
 * As there, neither the assignment nor the objectness target nor CIoU's alpha is differentiated. */
#ifndef BL_DETECT_LOSS_H
#define BL_DETECT_LOSS_H

#include <stddef.h>

#include "detect/batch.h"

typedef struct bl_detect_gains {
    double box, objectness, classes;
} bl_detect_gains;

/* 0.05, 0.7 and 0.3, scaled to the levels, the classes and the side of a (square) image in pixels. */
bl_detect_gains bl_detect_default_gains(const bl_detect_spec *spec, int image_size);

typedef struct bl_detect_loss_setup {
    bl_detect_spec spec;
    bl_detect_gains gains;
    double label_smoothing; /* in [0, 1): the classes' targets are half of it from 0 and 1 */
} bl_detect_loss_setup;

typedef struct bl_detect_losses {
    double loss;
    double parts[3]; /* box, objectness, classes: with their gains, a mean over the images */
    int n_matches;   /* predictions of the lead heads that were assigned to a box */
} bl_detect_losses;

/* Bytes that bl_detect_loss works in; BL_ERR_NOMEM where it overflows. */
int bl_detect_loss_scratch_b(const bl_detect_loss_setup *setup, const bl_detect_batch *batch, size_t *bytes,
                             bl_error *err);
/* The loss, and into batch->grad its gradient. `scratch` is aligned to 8 bytes. Where an objectness, or a number of a
 * prediction that was assigned to a box, is not finite, the loss is NaN. BL_ERR_INTERNAL for sizes that do not fit
 * together. */
int bl_detect_loss(const bl_detect_loss_setup *setup, const bl_detect_batch *batch, void *scratch,
                   bl_detect_losses *out, bl_error *err);

#endif
