/* Element types. */
#ifndef BL_TENSOR_DTYPE_H
#define BL_TENSOR_DTYPE_H

#include <stddef.h>

typedef enum bl_dtype {
    BL_F32, /* activations, parameters, gradients */
    BL_I32, /* class labels */
    BL_U8   /* opaque bytes: scratch, masks */
} bl_dtype;

/* Bytes of one element. */
size_t bl_dtype_size(bl_dtype dtype);
const char *bl_dtype_name(bl_dtype dtype);

#endif
