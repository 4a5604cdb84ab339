/* CIFAR's binary files (Krizhevsky 2009): records of one label byte, or for CIFAR-100 two (the coarse class, then the
 * fine one), and 32 x 32 pixels as a plane of red, one of green, one of blue. Of use inside this room. */
#ifndef BL_DATA_CIFAR_H
#define BL_DATA_CIFAR_H

#include "data/blob.h"

enum { BL_CIFAR_SIDE = 32, BL_CIFAR_PIXELS = 1024, BL_CIFAR_RECORD_MAX = 2 + 3 * BL_CIFAR_PIXELS };

typedef struct bl_cifar_format {
    int n_labels;    /* bytes before the pixels */
    int n_values[2]; /* each one is below */
} bl_cifar_format;

extern const bl_cifar_format bl_cifar10, bl_cifar100;

/* Whole records, at least one, and labels in range: *n of them. Else BL_ERR_FORMAT, with the record's number. */
int bl_cifar_check(const bl_blob *blob, const bl_cifar_format *format, int64_t *n, bl_error *err);
/* One record: pixels [32][32][3]; *label is the fine one. */
int bl_cifar_read(const bl_blob *blob, const bl_cifar_format *format, int64_t index, uint8_t *pixels, int32_t *label,
                  bl_error *err);

#endif
