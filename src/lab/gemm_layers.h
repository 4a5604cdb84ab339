/* The layers that `batchlab gemm` times: each distinct one in each of its roles, with how often it occurs. */
#ifndef BL_LAB_GEMM_LAYERS_H
#define BL_LAB_GEMM_LAYERS_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "shapes/layer.h"

typedef struct bl_gemm_layer {
    bl_layer layer;
    bl_role role;
    char *text; /* "conv:64x56x56:o64:k3x3:s1:p1@forward", as batchlab-train time takes it */
    int count;  /* how often it occurs */
} bl_gemm_layer;

typedef struct bl_gemm_layers {
    bl_gemm_layer *items; /* in the order of their first occurrence */
    size_t len;
} bl_gemm_layers;

/* Appends the layers of `texts` (LAYER or LAYER@ROLE; without a role, each that it has). */
int bl_gemm_layers_from_words(const bl_strv *texts, bl_gemm_layers *layers, bl_error *err);
/* Appends every layer of a built-in model, as bl_model_layers prints them. */
int bl_gemm_layers_from_model(const char *program, const char *model, int64_t image_size, bl_gemm_layers *layers,
                              bl_error *err);
void bl_gemm_layers_clear(bl_gemm_layers *layers);

/* Operations and elements of one run at a batch size, all products of the role together. */
void bl_gemm_layer_work(const bl_gemm_layer *layer, double batch, double *flop, double *elements);

#endif
