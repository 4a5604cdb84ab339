/* The numbers that the scripts in tools/ know too, and CIoU written another way. */
#ifndef BL_TESTS_DETECT_FORMULA_H
#define BL_TESTS_DETECT_FORMULA_H

#include <stdint.h>

#include "detect/box.h"
#include "detect/loss.h"

/* 24 bits: splitmix64 of (stream << 32) + index. */
uint32_t formula_bits(uint64_t stream, uint64_t index);
/* The same in [-1, 1). */
double formula_uniform(uint64_t stream, uint64_t index);

/* CIoU with this alpha, or its own where it is NaN. */
double formula_ciou(const bl_box *box, const bl_box *truth, double alpha);

/* A case of tools/reference_yolo_loss.py: the same predictions and targets, which are floats in `wide` too. */
typedef struct formula_case {
    bl_detect_loss_setup setup;
    bl_detect_batch batch; /* doubles */
    int64_t count[BL_DETECT_MAX_HEADS];
    double *head[BL_DETECT_MAX_HEADS], *grad[BL_DETECT_MAX_HEADS], *targets;
    void *scratch;
} formula_case;

typedef struct formula_sizes {
    int number, n_images, n_classes, auxiliary, size, n_rows;
    double smoothing;
} formula_sizes;

/* Fails the test where memory is out. */
void formula_case_init(formula_case *c, const formula_sizes *sizes);
void formula_case_clear(formula_case *c);

#endif
