/* What running and testing a classifier is made of. */
#ifndef BL_TRAIN_CLASSIFY_H
#define BL_TRAIN_CLASSIFY_H

#include "train/trainer.h"

/* One batch, of a classifier or in training a detector, and its loss. */
int bl_train_run_batch(bl_exec *exec, const bl_batch *batch, float *loss, bl_error *err);
/* Tests with an executor and a loader made for that, each rank its share: loss and top1 of *out, of all ranks. As
 * bl_trainer_evaluate. */
int bl_train_evaluate_classifier(const bl_trainer *trainer, bl_exec *exec, bl_loader *loader, int batch,
                                 const volatile int *stop, bl_evaluation *out, bl_error *err);

#endif
