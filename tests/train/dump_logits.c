/* Logits of a model in evaluation mode, for compare_weights.py. IMAGES are raw floats (N, 3, SIZE, SIZE); so are
 * LOGITS. usage: dump_logits MODEL WEIGHTS SIZE N CLASSES IMAGES LOGITS */
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "base/fs.h"
#include "base/log.h"
#include "graph/exec.h"
#include "model/model.h"
#include "train/weights.h"

static int build(bl_params *params, const char *model, int n, int size, int classes, bl_graph **out, bl_error *err)
{
    int code = bl_graph_new(params, BL_MODE_EVAL, out, err);
    if (code == BL_OK) {
        bl_value images = bl_build_input(*out, "images", BL_F32, BL_SHAPE4(n, 3, size, size));
        bl_build_output(*out, "logits", bl_model_find(model)->build(*out, images, classes));
    }
    return code;
}

int main(int argc, char **argv)
{
    bl_error err = {0};
    bl_params *params = NULL, *other = NULL;
    bl_graph *graph = NULL, *unused = NULL;
    bl_exec *exec = NULL;
    bl_strv fresh;
    char *images = NULL;
    bl_strv_init(&fresh);
    bl_log_init("dump_logits", BL_LOG_NORMAL);
    if (argc != 8 || !bl_model_find(argv[1]))
        return 2;
    int size = atoi(argv[3]), n = atoi(argv[4]), classes = atoi(argv[5]);
    float *logits = calloc((size_t)n * (size_t)classes, sizeof *logits);
    bl_exec_options options = {.n_threads = 2};
    int code = 0;
    if (!logits || bl_params_new(&params, &err) != BL_OK || bl_params_new(&other, &err) != BL_OK ||
        build(params, argv[1], n, size, classes, &graph, &err) != BL_OK ||
        build(other, argv[1], n, size, classes + 1, &unused, &err) != BL_OK ||
        bl_exec_new(&bl_backend_cpu, graph, &options, &exec, &err) != BL_OK ||
        bl_weights_load(argv[2], params, other, false, &fresh, &err) != BL_OK ||
        bl_fs_read(argv[6], (size_t)1 << 30, &images, NULL, &err) != BL_OK ||
        bl_exec_bind(exec, "images", images, &err) != BL_OK || bl_exec_run(exec, &err) != BL_OK ||
        bl_exec_read(exec, "logits", logits, (int64_t)n * classes, &err) != BL_OK ||
        bl_fs_replace(argv[7], logits, (size_t)n * (size_t)classes * sizeof *logits, &err) != BL_OK)
        code = bl_log_error(&err);
    bl_exec_free(exec);
    bl_graph_free(unused);
    bl_params_free(params);
    bl_params_free(other);
    bl_strv_clear(&fresh);
    free(images);
    free(logits);
    return code;
}
