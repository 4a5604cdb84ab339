/* The data set that the command line asks for. */
#ifndef BL_TRAIN_DATA_SOURCE_H
#define BL_TRAIN_DATA_SOURCE_H

#include <stdio.h>

#include "data/dataset.h"
#include "train/train_options.h"

/* Finds out what kind of data --data is and scans it, with a bar on a terminal; without --data, draws images. */
int bl_train_open_data(const bl_train_options *options, bl_dataset **out, bl_error *err);
/* Says on stderr how many images are left out, where there are any, and why the first one is. */
void bl_train_warn_of_left_out(const bl_dataset *dataset);
/* --list-skipped: all of them, and what else is odd; to `out`. */
int bl_train_list_skipped(const bl_train_options *options, FILE *out, bl_error *err);

#endif
