/* The models. Each is one file that only builds a graph, and one line in models.c. */
#ifndef BL_MODEL_MODEL_H
#define BL_MODEL_MODEL_H

#include <stddef.h>

#include "detect/spec.h"
#include "graph/builder.h"

typedef enum bl_task { BL_TASK_CLASSIFY, BL_TASK_DETECT } bl_task;

/* What a detector predicts for a batch: for each of spec.n_levels levels, the finest first, the raw (N, 3 (5 +
 * n_classes), H, W) of detect/spec.h, H = S / spec.stride[level]. aux: the same once more where spec.auxiliary, else
 * BL_NO_VALUE; in both modes, so that the parameters are the same, and what nobody reads is not computed. */
typedef struct bl_detector_heads {
    bl_detect_spec spec;
    bl_value head[BL_DETECT_MAX_LEVELS], aux[BL_DETECT_MAX_LEVELS];
} bl_detector_heads;

typedef struct bl_model {
    const char *name;
    const char *summary; /* one line */
    bl_task task;
    int image_size;     /* the customary one */
    int min_image_size; /* below it nothing is left to pool */
    int image_step;     /* sides are multiples of it; 0: any */
    /* Exactly one of the two builders, as the task says. Failures stay in the graph (graph/builder.h).
     * Classifiers: x (N, 3, S, S), normalised images -> logits (N, n_classes). */
    bl_value (*build)(bl_graph *graph, bl_value x, int n_classes);
    /* Detectors: x (N, 3, S, S), RGB in [0, 1]. */
    void (*build_detector)(bl_graph *graph, bl_value x, int n_classes, bl_detector_heads *out);
} bl_model;

extern const bl_model bl_model_convnext_tiny;
extern const bl_model bl_model_deit_small;
extern const bl_model bl_model_deit_tiny;
extern const bl_model bl_model_mlp;
extern const bl_model bl_model_mobilenet_v3_large;
extern const bl_model bl_model_mobilenet_v3_small;
extern const bl_model bl_model_resnet18;
extern const bl_model bl_model_resnet50;
extern const bl_model bl_model_tiny_cnn;
extern const bl_model bl_model_vit_b_16;
extern const bl_model bl_model_yolov7;
extern const bl_model bl_model_yolov7_tiny;
extern const bl_model bl_model_yolov7_w6;

extern const bl_model *const bl_models[]; /* NULL ends it */
const bl_model *bl_model_find(const char *name);

#endif
