/* What training and testing a detector is made of, where it differs from a classifier's. */
#ifndef BL_TRAIN_DETECT_H
#define BL_TRAIN_DETECT_H

#include "train/trainer.h"

/* Room in a batch for this many boxes times its images; one mosaic of COCO's has 15 on average, at most a few hundred.
 */
#define BL_BOXES_PER_IMAGE 100

bool bl_train_detects(const bl_trainer *trainer);
/* The trainer's network on `images`: in training its loss by targets (input "targets", as bl_batch has them), in
 * evaluation the outputs "head0", ... of the lead heads. Sets trainer->detect. */
void bl_train_build_detector(bl_trainer *trainer, bl_graph *graph, bl_value images, bl_mode mode, int batch);
/* Tests with an executor and a loader made for that: loss, map50 and map of *out. As bl_trainer_evaluate. */
int bl_train_evaluate_detector(bl_trainer *trainer, bl_exec *exec, bl_loader *loader, int batch,
                               const volatile int *stop, bl_evaluation *out, bl_error *err);

#endif
