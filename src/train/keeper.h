/* What a training keeps on disk, and where it starts from: weights, the best ones, checkpoints. */
#ifndef BL_TRAIN_KEEPER_H
#define BL_TRAIN_KEEPER_H

#include "batchlab_marker.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

/* What a training counts besides its state: a resumed one goes on counting. */
typedef struct bl_tally {
    double loss_sum; /* of the epoch's steps */
    int64_t loss_steps;
    double parts_sum[3]; /* detectors: of the loss's parts */
    double seconds;      /* of training, before this process */
    double best_score;   /* of the tests so far; -1: none */
} bl_tally;

typedef struct bl_keeper {
    const bl_train_options *options;
    bl_trainer *trainer;
    bl_tally *tally;
    batchlab_marker *marker;
    bl_checkpoint checkpoint;                                /* only where the options ask for one */
    bl_arena arena;                                          /* facts */
    int64_t optim_steps, ema_updates, kept_step, kept_batch; /* of the last checkpoint; -1 */
    bool resumed;
} bl_keeper;

/* Before anything costly: files that could not be written in the end, a checkpoint that would be overwritten. */
int bl_keeper_check(const bl_train_options *options, bl_error *err);
/* Goes on from the checkpoint or starts from weights, as the options say, and says so. To be cleared in any case. */
int bl_keeper_start(bl_keeper *keeper, bl_trainer *trainer, bl_tally *tally, batchlab_marker *marker, bl_error *err);
void bl_keeper_clear(bl_keeper *keeper);
/* After each step. `seconds`: of training, in this process. */
int bl_keeper_after_step(bl_keeper *keeper, double seconds, bl_error *err);
/* After a test: keeps the weights where they are the best so far. */
int bl_keeper_after_test(bl_keeper *keeper, const bl_evaluation *test, bl_error *err);
/* After each epoch, when the trainer stands at the next one's start. */
int bl_keeper_after_epoch(bl_keeper *keeper, double seconds, bl_error *err);
/* At the end, also where it was `stopped` by a signal. */
int bl_keeper_end(bl_keeper *keeper, bool stopped, double seconds, bl_error *err);

#endif
