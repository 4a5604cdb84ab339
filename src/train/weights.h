/* The values of a parameter table, and arrays beside it, as named tensors in safetensors files. */
#ifndef BL_TRAIN_WEIGHTS_H
#define BL_TRAIN_WEIGHTS_H

#include "base/alloc.h"
#include "base/str.h"
#include "graph/params.h"
#include "tensor/safetensors.h"

/* Tensors whose names begin so are state of a checkpoint, not weights. */
#define BL_STATE_PREFIX "batchlab/"

/* Tensors that are to be written. Floats are borrowed, names and counters (I64 in files, floats in the table) held. */
typedef struct bl_tensor_list {
    bl_st_item *items;
    int n, cap;
    bl_arena arena;
} bl_tensor_list;

void bl_tensor_list_init(bl_tensor_list *list);
void bl_tensor_list_clear(bl_tensor_list *list);
/* Adds PREFIX + NAME for every entry of the table that lies within `count` floats of the slab, laid out like the
 * table's value slab. */
int bl_tensor_list_add(bl_tensor_list *list, const bl_params *params, const char *prefix, const float *slab,
                       int64_t count, bl_error *err);

/* Reads one entry into out (entry->count floats). BL_ERR_FORMAT for another shape, type, or a counter that is no
 * natural number. */
int bl_weights_read(const bl_safetensors *file, const bl_st_tensor *tensor, const bl_param *entry, float *out,
                    bl_error *err);

/* All values under their own names: what other programs read, too. `model` goes to the metadata. */
int bl_weights_save(const char *path, bl_params *params, const char *model, bl_error *err);

/* Takes all values from a file whose names and shapes are the table's; a checkpoint's state is passed over, and
 * counters may be missing. `other` is the table of the same network with another number of classes: what has another
 * shape there is the head. With new_head the head's values stay as they are, and the names of its entries are pushed to
 * `fresh`. BL_ERR_FORMAT lists what is missing, not wanted, or shaped otherwise; the table is unchanged then. */
int bl_weights_load(const char *path, bl_params *params, const bl_params *other, bool new_head, bl_strv *fresh,
                    bl_error *err);

#endif
