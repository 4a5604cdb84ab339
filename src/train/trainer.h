/* One network with all that training it takes: data, parameters, executor, optimizer. */
#ifndef BL_TRAIN_TRAINER_H
#define BL_TRAIN_TRAINER_H

#include "data/cache.h"
#include "data/loader.h"
#include "data/mix.h"
#include "detect/loss.h"
#include "graph/exec.h"
#include "optim/ema.h"
#include "train/nominal.h"
#include "train/ranks.h"
#include "train/train_options.h"

typedef struct bl_trainer {
    const bl_train_options *options;
    bl_dataset *dataset;
    int n_classes;
    bl_params *params;
    bl_exec *exec; /* in training mode */
    bl_optim *optim;
    bl_ema *ema;        /* NULL without --ema */
    bl_mix_options mix; /* zeros: none */
    int32_t *others;    /* what samples are mixed with, and the share that remains theirs; NULL where none are */
    float share;
    bl_ranks *ranks; /* NULL: one, and no trace */
    bl_joint joint;  /* without a sum: none */
    bl_ranks_joint joint_ranks;
    bl_loader *loader;
    bl_schedule schedule;
    bl_nominal nominal;          /* where the options ask for one */
    bl_detect_loss_setup detect; /* detectors only; graphs point to it */
    int64_t batches_per_epoch;   /* that steps use */
    int64_t steps_per_epoch, total_steps;
    const volatile int *stop; /* NULL, or not 0 where the training is to end: several ranks agree on it */
    int64_t step;             /* done */
    int64_t epoch, batch;     /* the epoch at hand, and how many of its batches are done */
} bl_trainer;

/* Of all ranks, but for the wait. */
typedef struct bl_train_step {
    int n; /* samples, of all its batches */
    double loss;
    double parts[3]; /* detectors: of the loss, for boxes, objectness and classes */
    int n_dropped;   /* boxes that found no room in the batch */
    int64_t wait_ns; /* for data */
    bool stopped;    /* trainer->stop, of any rank */
} bl_train_step;

typedef struct bl_evaluation {
    int64_t n;
    double loss;
    double top1;       /* classifiers */
    double map50, map; /* detectors: mean average precision at IoU 0.5, and over 0.5, 0.55, ..., 0.95 */
} bl_evaluation;

/* To be cleared in any case. BL_ERR_NOMEM: the batch is too large for this machine. */
int bl_trainer_init(bl_trainer *trainer, const bl_train_options *options, bl_error *err);
void bl_trainer_clear(bl_trainer *trainer);
/* Reads the images that are to be kept between epochs, before the first is wanted. stop: as below. */
int bl_trainer_fill_cache(bl_trainer *trainer, const volatile int *stop, bl_cache_report *report, bl_error *err);
/* Another executor of the trainer's network, for batches of another size; the table of parameters is shared. */
int bl_trainer_make_exec(bl_trainer *trainer, bl_mode mode, int batch, bl_exec **out, bl_error *err);
/* Before the first step, and after each change of `epoch` or `batch`. */
void bl_trainer_start_epoch(bl_trainer *trainer);
/* The next step of the epoch at hand; false at its end or with *err set. */
bool bl_trainer_step(bl_trainer *trainer, bl_train_step *out, bl_error *err);
/* All ranks get rank 0's weights, once they are loaded. BL_ERR_USAGE where they do not stand at the same step. */
int bl_trainer_align(bl_trainer *trainer, bl_error *err);
/* The test split in evaluation mode, with the averaged weights where there are any. stop, unless NULL, is polled: where
 * it is not 0 the evaluation ends early and BL_ERR_INTERRUPTED is returned, by all ranks. Running statistics become
 * rank 0's. */
int bl_trainer_evaluate(bl_trainer *trainer, const volatile int *stop, bl_evaluation *out, bl_error *err);

#endif
