#include "train/list_models.h"

#include <stdio.h>

#include "graph/builder.h"
#include "graph/cost.h"
#include "model/model.h"

/* Parameters and multiply-adds at ImageNet's or COCO's number of classes and the customary size, counted in a graph
 * that never runs. */
static int describe_model(const bl_model *model, bl_error *err)
{
    bl_params *params = NULL;
    bl_graph *graph = NULL;
    int code = bl_params_new(&params, err);
    if (code == BL_OK)
        code = bl_graph_new(params, BL_MODE_EVAL, &graph, err);
    if (code == BL_OK) {
        bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(1, 3, model->image_size, model->image_size));
        bl_detector_heads heads;
        if (model->task == BL_TASK_DETECT)
            model->build_detector(graph, x, 80, &heads);
        else
            model->build(graph, x, 1000);
        code = bl_graph_finish(graph, err);
    }
    if (code == BL_OK)
        printf("%-20s %12lld %8.3f %6d  %s\n", model->name, (long long)bl_params_learnt(params),
               2e-9 * (double)bl_graph_multiply_adds(graph), model->image_size, model->summary);
    bl_graph_free(graph);
    bl_params_free(params);
    return code;
}

int bl_train_list_models(bl_error *err)
{
    int code = BL_OK;
    printf("%-20s %12s %8s %6s\n", "model", "parameters", "GFLOPs", "pixels");
    for (size_t i = 0; code == BL_OK && bl_models[i]; i++)
        code = describe_model(bl_models[i], err);
    if (code == BL_OK)
        printf("At 1000 classes, detectors at 80; GFLOPs of one image forward, a multiply-add counted as two.\n");
    return code;
}
