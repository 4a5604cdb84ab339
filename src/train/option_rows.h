/* The table of the trainer's options. Of use inside this room. */
#ifndef BL_TRAIN_OPTION_ROWS_H
#define BL_TRAIN_OPTION_ROWS_H

#include "base/options.h"
#include "train/learn_options.h"
#include "train/train_options.h"

/* What is still text after parsing. */
typedef struct bl_train_raw {
    bl_learn_raw learn;
    const char *augment, *recompute, *precision, *cache;
    bool eval;
    int64_t global_batch;
} bl_train_raw;

enum { BL_TRAIN_ROWS_MAX = 96 };

/* Fills `table`, of BL_TRAIN_ROWS_MAX rows, with targets in both structs; returns how many rows it has. */
int bl_train_rows(bl_train_options *options, bl_train_raw *raw, bl_option *table);
/* `table` is borrowed. */
bl_command bl_train_command(const bl_option *table, int n);
/* Names and values of all options by turns, once they are parsed. */
int bl_train_options_write_down(const bl_option *table, int n, bl_strv *said, bl_error *err);

#endif
