/* The file with a line an epoch. */
#ifndef BL_TRAIN_TRAIN_LOG_H
#define BL_TRAIN_TRAIN_LOG_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A new file that begins with the line `header`. keep_epochs of 0 and more: an existing one is lengthened behind its
 * first keep_epochs epochs, and must begin with the same header (BL_ERR_USAGE). The caller closes it. */
int bl_train_log_open(const char *path, const char *header, int64_t keep_epochs, FILE **out, bl_error *err);

#endif
