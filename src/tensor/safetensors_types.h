/* The types of safetensors files: what reader and writer share. */
#ifndef BL_TENSOR_SAFETENSORS_TYPES_H
#define BL_TENSOR_SAFETENSORS_TYPES_H

#include "tensor/safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian, and so must the machine be");

#define BL_ST_METADATA "__metadata__"

size_t bl_st_type_size(bl_st_type type); /* bytes */
const char *bl_st_type_name(bl_st_type type);
bool bl_st_type_from_name(const char *name, bl_st_type *out);
/* NULL where it may stand in a file, else what is wrong with it. */
const char *bl_st_name_fault(const char *name);
/* `count` elements at `from`, of any alignment; false for a type that is not read as numbers here. */
bool bl_st_to_f32(bl_st_type type, const void *from, size_t count, float *out);
bool bl_st_to_i64(bl_st_type type, const void *from, size_t count, int64_t *out);

#endif
