/* A model's layers in words that other programs read. */
#ifndef BL_TRAIN_LAYERS_H
#define BL_TRAIN_LAYERS_H

#include <stdio.h>

#include "train/train_options.h"

/* Prints a line for each convolution, linear layer and attention of the model at --image-size and --classes (1000, or
 * 80 for detectors, where not given): the layer as `batchlab explain --layers` reads it, a blank, its name. */
int bl_layers_print(const bl_train_options *options, FILE *out, bl_error *err);

#endif
