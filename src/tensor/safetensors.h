/* Files of named tensors in the safetensors format (https://huggingface.co/docs/safetensors/index#format): eight bytes
 * with the header's length (little-endian), a header in JSON, the tensors' bytes one after another.
 *
 *     {"__metadata__": {"key": "text"}, "conv.weight": {"dtype": "F32", "shape": [8, 3, 3, 3], "data_offsets": [0,
 * 864]}}
 *
 * A file may come from anybody: all that its header claims is checked before anything is used. Refused as
 * BL_ERR_FORMAT, with what and where: a length beyond the file or BL_SAFETENSORS_HEADER_MAX_B, JSON that is none or
 * names something twice, unknown types and fields, negative or overflowing extents, bytes that differ from shape and
 * type, and any gap, overlap or rest in the data. */
#ifndef BL_TENSOR_SAFETENSORS_H
#define BL_TENSOR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/shape.h"

#define BL_SAFETENSORS_HEADER_MAX_B (16 << 20) /* some 100 000 tensors; parsed JSON takes many times its text */
#define BL_SAFETENSORS_DIMS_MAX     8
#define BL_SAFETENSORS_NAME_MAX_B   1024

/* In the order of the format's list; each has a size. What can be read here as numbers: F16 to F64, I32, I64. */
typedef enum bl_st_type {
    BL_ST_BOOL,
    BL_ST_U8,
    BL_ST_I8,
    BL_ST_F8_E5M2,
    BL_ST_F8_E4M3,
    BL_ST_I16,
    BL_ST_U16,
    BL_ST_F16,
    BL_ST_BF16,
    BL_ST_I32,
    BL_ST_U32,
    BL_ST_F32,
    BL_ST_F64,
    BL_ST_I64,
    BL_ST_U64
} bl_st_type;

typedef struct bl_st_tensor {
    const char *name; /* UTF-8 without control characters */
    bl_st_type type;
    int n_dims;
    int64_t dim[BL_SAFETENSORS_DIMS_MAX]; /* an extent may be 0 */
    int64_t count;                        /* elements */
    uint64_t begin_b;                     /* from the end of the header; of any alignment */
    uint64_t size_b;
} bl_st_tensor;

typedef struct bl_st_text {
    const char *key, *value;
} bl_st_text;

typedef struct bl_safetensors bl_safetensors;

/* Reads and checks the header; the data are read when they are asked for, so memory is the header's. The file is read,
 * not mapped: one that is cut while it is in use gives an error, not a signal. */
int bl_safetensors_open(const char *path, bl_safetensors **out, bl_error *err);
/* The same of bytes in memory, which are borrowed; `name` stands in messages. */
int bl_safetensors_open_memory(const void *data, size_t size, const char *name, bl_safetensors **out, bl_error *err);
void bl_safetensors_close(bl_safetensors *file); /* NULL is fine */

int bl_safetensors_count(const bl_safetensors *file);
const bl_st_tensor *bl_safetensors_at(const bl_safetensors *file, int index);          /* as the data lie in the file */
const bl_st_tensor *bl_safetensors_find(const bl_safetensors *file, const char *name); /* NULL where there is none */
int bl_safetensors_text_count(const bl_safetensors *file);
const bl_st_text *bl_safetensors_text_at(const bl_safetensors *file, int index); /* as in the header */
const char *bl_safetensors_text(const bl_safetensors *file, const char *key);    /* NULL where there is none */

bool bl_st_has_shape(const bl_st_tensor *tensor, const bl_shape *shape);
/* "F32 (64, 3, 7, 7)" into out; returns out. */
const char *bl_st_format(const bl_st_tensor *tensor, char *out, size_t out_size);

/* All elements as floats: F32 as it is, F16 and BF16 exactly, F64, I64 and I32 rounded to nearest. */
int bl_safetensors_read_f32(const bl_safetensors *file, const bl_st_tensor *tensor, float *out, bl_error *err);
/* All elements of an I64 or I32 tensor. */
int bl_safetensors_read_i64(const bl_safetensors *file, const bl_st_tensor *tensor, int64_t *out, bl_error *err);

/* What is written: `data` in the machine's memory, of the type's size for each element of the shape. */
typedef struct bl_st_item {
    const char *name;
    bl_st_type type;
    bl_shape shape;
    const void *data;
} bl_st_item;

/* Replaces PATH as a whole (bl_fs_replace_pieces), without a copy of the data. Tensors with larger elements come first,
 * else in the order given: every one is aligned. BL_ERR_INTERNAL for a name that is given twice or is no name. */
int bl_safetensors_write(const char *path, const bl_st_item *items, int n_items, const bl_st_text *texts, int n_texts,
                         bl_error *err);

#endif
