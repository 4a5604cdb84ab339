/* The options that say how to learn: optimizer, rates, regularisation. Of use inside this room. */
#ifndef BL_TRAIN_LEARN_OPTIONS_H
#define BL_TRAIN_LEARN_OPTIONS_H

#include "base/options.h"
#include "train/train_options.h"

/* What is still text after parsing, or not yet decided. */
typedef struct bl_learn_raw {
    const char *optimizer, *schedule, *lr_scaling, *milestones;
    double lr_gamma; /* NaN, as all numbers here: not given */
    double momentum, clip_norm, min_lr, warmup_factor, mixup, cutmix, ema;
} bl_learn_raw;

enum { BL_LEARN_ROWS_MAX = 32 };

/* Everything at its default, to be called before parsing. */
void bl_learn_options_init(bl_train_options *options, bl_learn_raw *raw);
/* Writes the option table's rows, with the heading; returns how many. */
int bl_learn_options_rows(bl_train_options *options, bl_learn_raw *raw, bl_option *rows);
/* After parsing: takes the words, and refuses what makes no sense. */
int bl_learn_options_take(bl_train_options *options, bl_learn_raw *raw, bl_error *err);

/* A word that none of the known ones is: BL_ERR_USAGE. */
int bl_options_no_such(const char *option, const char *given, const char *known, bl_error *err);

#endif
