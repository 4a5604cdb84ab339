/* The trainer's command line. */
#ifndef BL_TRAIN_TRAIN_OPTIONS_H
#define BL_TRAIN_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "data/cache.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "graph/precision.h"
#include "graph/recompute.h"
#include "model/model.h"
#include "optim/optim.h"
#include "optim/schedule.h"

#define BL_MILESTONES_MAX 64

typedef struct bl_train_options {
    const bl_model *model;
    int64_t batch, epochs, steps; /* batch: of this rank; steps 0: no limit */
    int64_t global_batch;         /* of all ranks; `batch` where there is one */
    struct bl_dist *dist;         /* NULL: alone. Borrowed */
    int ranks, rank;
    bool whole_given; /* --global-batch-size */
    bool sync_batch_norm;
    int64_t accumulate;                  /* batches a step */
    const char *data;                    /* NULL: synthetic images */
    bool verify_images, scan_cache;      /* of data: decode all while scanning; remember what a scan found */
    int64_t image_size, classes;         /* 0: the model's; the data's */
    int64_t train_samples, test_samples; /* synthetic */
    bl_augment augment;
    bool drop_last;
    int64_t workers, prefetch, threads, seed;
    bl_cache_mode cache;
    uint64_t cache_limit_b; /* 0: the cache's own choice */
    bl_optim_options optim;
    double lr, label_smoothing;
    int64_t lr_base_batch; /* samples a step that lr is meant for; 0: any */
    bl_rate_scaling lr_scaling;
    bl_schedule_kind schedule;
    int64_t warmup_steps, warmup_epochs; /* one of them is 0 */
    double warmup_factor, min_lr, lr_gamma;
    int64_t lr_step_epochs;
    int64_t milestones[BL_MILESTONES_MAX]; /* epochs */
    int n_milestones;
    double mixup, cutmix; /* alpha; 0: none */
    double ema_decay;     /* 0: no average */
    int64_t ema_ramp;
    int64_t nominal_batch;                               /* detectors; 0: none */
    int64_t noise_every, noise_samples, noise_batch;     /* steps, 0: never; samples a time, and a micro-batch */
    int64_t eval_every;                                  /* epochs; 0: never */
    const char *log;                                     /* CSV file, or NULL */
    const char *checkpoint, *save, *save_best, *weights; /* files, or NULL */
    int64_t checkpoint_every;                            /* steps; 0: epochs */
    bool resume, new_head;
    bl_recompute recompute;
    bl_precision precision;
    bool quiet, profile;
    const char *trace; /* file, or NULL */
    bool memory_plan, list_skipped;
    bool help, layers, list_models; /* nothing else is checked then */
    bl_strv said; /* names and values of all options by turns, defaults too: what a checkpoint compares */
} bl_train_options;

/* To be cleared in any case. For one rank; bl_train_options_share adapts them to more. */
int bl_train_options_parse(int argc, char **argv, bl_train_options *out, bl_error *err);
/* Makes them those of one of several ranks. `dist` is borrowed. BL_ERR_USAGE for what does not go with these. */
int bl_train_options_share(bl_train_options *options, struct bl_dist *dist, bl_error *err);
void bl_train_options_clear(bl_train_options *options);
void bl_train_options_print_help(FILE *out);
/* The schedule's peak: lr for as many samples as a step has. */
double bl_train_options_peak_rate(const bl_train_options *options);

#endif
