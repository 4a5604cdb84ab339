/* A training's whole state in one safetensors file: the parameter table under its own names (so that a checkpoint
 * serves as weights too), arrays beside it as "batchlab/ARRAY/NAME", numbers and facts as metadata. Nothing is rounded.
 */
#ifndef BL_TRAIN_CHECKPOINT_H
#define BL_TRAIN_CHECKPOINT_H

#include "base/str.h"
#include "graph/params.h"

#define BL_CHECKPOINT_VERSION "1"
#define BL_CHECKPOINT_PARTS   16

/* Laid out like the table's value slab, or its beginning: `count` floats. */
typedef struct bl_checkpoint_array {
    const char *name; /* "momentum_buffer" */
    float *slab;
    int64_t count;
} bl_checkpoint_array;

/* Written from where it points, read back to there: one of the two. */
typedef struct bl_checkpoint_number {
    const char *name;
    int64_t *whole;
    double *real; /* finite */
} bl_checkpoint_number;

/* What the run is: "--batch-size", "64". */
typedef struct bl_checkpoint_fact {
    const char *name, *value;
    bool fixed; /* without the same value the state means nothing */
} bl_checkpoint_fact;

typedef struct bl_checkpoint {
    bl_params *params;
    bl_checkpoint_array arrays[BL_CHECKPOINT_PARTS];
    int n_arrays;
    bl_checkpoint_number numbers[BL_CHECKPOINT_PARTS];
    int n_numbers;
    const bl_checkpoint_fact *facts;
    int n_facts;
} bl_checkpoint;

/* Replaces the file as a whole. */
int bl_checkpoint_write(const bl_checkpoint *checkpoint, const char *path, bl_error *err);
/* Reads all of it. A fixed fact that differs is BL_ERR_USAGE; another one is told in *differences ("--lr was 0.1, is
 * 0.05;
 * ..."), else empty. BL_ERR_FORMAT: no checkpoint, or not the same tensors, arrays and numbers. */
int bl_checkpoint_read(const bl_checkpoint *checkpoint, const char *path, bl_str *differences, bl_error *err);

#endif
