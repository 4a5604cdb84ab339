/* In what numbers products of matrices and dense convolutions take their factors. Everything is stored in float32, sums
 * are taken in float32, and all else is computed in it. */
#ifndef BL_GRAPH_PRECISION_H
#define BL_GRAPH_PRECISION_H

#include <stdbool.h>

typedef enum bl_precision {
    BL_PRECISION_FLOAT32,
    /* Factors are rounded to bfloat16 (8 bits of significand, float32's range), to nearest, ties to even; the processor
     * multiplies them as such. */
    BL_PRECISION_BFLOAT16,
    /* The same roundings, then float32 products, which hold those of two bfloat16 exactly: what a processor with
     * bfloat16 computes, but for the order of sums, on one without. */
    BL_PRECISION_BFLOAT16_EMULATED
} bl_precision;

bool bl_precision_from_name(const char *name, bl_precision *out); /* "float32", "bfloat16", "bfloat16-emulated" */
const char *bl_precision_name(bl_precision precision);

#endif
