/* The models. Each is one file that only builds a graph, and one line in models.c. */
#ifndef BL_MODEL_MODEL_H
#define BL_MODEL_MODEL_H

#include <stddef.h>

#include "graph/builder.h"

typedef struct bl_model {
    const char *name;
    const char *summary; /* one line */
    int image_size;      /* the customary one */
    int min_image_size;  /* below it nothing is left to pool */
    /* x (N, 3, S, S), normalised images -> logits (N, n_classes). Failures stay in the graph (graph/builder.h). */
    bl_value (*build)(bl_graph *graph, bl_value x, int n_classes);
} bl_model;

extern const bl_model bl_model_convnext_tiny;
extern const bl_model bl_model_mobilenet_v3_large;
extern const bl_model bl_model_mobilenet_v3_small;
extern const bl_model bl_model_resnet18;
extern const bl_model bl_model_resnet50;
extern const bl_model bl_model_tiny_cnn;

extern const bl_model *const bl_models[]; /* NULL ends it */
const bl_model *bl_model_find(const char *name);

#endif
