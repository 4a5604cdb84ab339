/* The table of `batchlab-train list`, on standard output. */
#ifndef BL_TRAIN_LIST_MODELS_H
#define BL_TRAIN_LIST_MODELS_H

#include "base/error.h"

int bl_train_list_models(bl_error *err);

#endif
