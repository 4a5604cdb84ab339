/* The layers of a built-in model, asked of batchlab-train: the lab doesn't link the trainer. */
#ifndef BL_LAB_MODEL_LAYERS_H
#define BL_LAB_MODEL_LAYERS_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* Runs batchlab-train and takes what it prints; its error messages go where ours go. BL_ERR_USAGE where it fails. */
int bl_trainer_ask(char *const *argv, bl_str *out, bl_error *err);
/* What `batchlab-train MODEL --layers` prints; image_size 0: the model's own. `program` is the lab's argv[0]. */
int bl_model_layers(const char *program, const char *model, int64_t image_size, bl_str *out, bl_error *err);

#endif
