#include "model/model.h"

#include <string.h>

const bl_model *const bl_models[] = {
    &bl_model_convnext_tiny,
    &bl_model_deit_small,
    &bl_model_deit_tiny,
    &bl_model_mlp,
    &bl_model_mobilenet_v3_large,
    &bl_model_mobilenet_v3_small,
    &bl_model_resnet18,
    &bl_model_resnet50,
    &bl_model_tiny_cnn,
    &bl_model_vit_b_16,
    &bl_model_yolov7,
    &bl_model_yolov7_tiny,
    &bl_model_yolov7_w6,
    NULL,
};

const bl_model *bl_model_find(const char *name)
{
    for (size_t i = 0; bl_models[i]; i++)
        if (strcmp(bl_models[i]->name, name) == 0)
            return bl_models[i];
    return NULL;
}
