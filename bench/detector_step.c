/* Trains a detector on a linear probe of its predictions (Probed of tools/reference_yolov7.py), on the same random
 * images again and again, and marks each step: what bench/compare holds against bench/pytorch_step.py. usage:
 * detector_step MODEL --batch-size N --steps N --threads N --image-size N --classes N [--profile] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "batchlab_marker.h"
#include "graph/exec.h"
#include "model/model.h"
#include "optim/optim.h"

enum { LOGITS = 2 };

typedef struct options {
    const bl_model *model;
    int batch, steps, threads, size, classes;
    bl_recompute recompute;
    bool profile;
} options;

static bool parse(int argc, char **argv, options *o)
{
    *o = (options){
        .model = argc > 1 ? bl_model_find(argv[1]) : NULL, .size = 640, .classes = 14, .recompute = BL_RECOMPUTE_CHEAP};
    for (int i = 2; i < argc; i++) {
        const char *const names[] = {"--batch-size", "--steps", "--threads", "--image-size", "--classes"};
        int *const into[] = {&o->batch, &o->steps, &o->threads, &o->size, &o->classes};
        if (strcmp(argv[i], "--recompute") == 0 &&
            (i + 1 == argc || !bl_recompute_from_name(argv[i + 1], &o->recompute)))
            return false;
        o->profile = o->profile || strcmp(argv[i], "--profile") == 0;
        for (size_t k = 0; k < BL_ARRAY_LEN(names) && i + 1 < argc; k++)
            if (strcmp(argv[i], names[k]) == 0)
                *into[k] = (int)strtol(argv[i + 1], NULL, 10);
    }
    return o->model && o->model->task == BL_TASK_DETECT && o->batch > 0 && o->steps >= 0;
}

static void build(bl_graph *graph, const options *o)
{
    bl_detector_heads heads;
    bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(o->batch, 3, o->size, o->size));
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(o->batch)), sum = BL_NO_VALUE;
    o->model->build_detector(graph, x, o->classes, &heads);
    for (int i = 0; i < heads.spec.n_levels * (heads.spec.auxiliary ? 2 : 1); i++) {
        char name[24];
        bl_value head = i < heads.spec.n_levels ? heads.head[i] : heads.aux[i - heads.spec.n_levels];
        snprintf(name, sizeof name, "probe.%d", i);
        head = bl_build_linear(graph, name, bl_build_flatten(graph, head), (bl_linear_args){.outputs = LOGITS});
        sum = i == 0 ? head : bl_build_add(graph, sum, head);
    }
    bl_build_softmax_cross_entropy(graph, sum, labels, 0);
}

static void print_profile(const bl_exec *exec, int steps)
{
    const bl_exec_profile_row *rows;
    int n = bl_exec_profile(exec, &rows);
    for (int i = 0; i < n; i++)
        printf("%10.3f ms  %-22s %-24s %s\n", (double)rows[i].total_ns / 1e6 / steps, rows[i].op, rows[i].kernel,
               rows[i].name ? rows[i].name : "");
}

static int train(const options *o, bl_params *params, bl_exec *exec, bl_error *err)
{
    size_t n = (size_t)o->batch * 3 * (size_t)o->size * (size_t)o->size;
    float *images = bl_calloc(n, sizeof *images), loss;
    int32_t *labels = bl_calloc((size_t)o->batch, sizeof *labels);
    bl_optim *optim = NULL;
    batchlab_marker marker;
    int code = images && labels ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the images");
    if (code == BL_OK)
        code = bl_optim_new(params, &(bl_optim_options){.momentum = 0.9}, &optim, err);
    for (size_t i = 0; code == BL_OK && i < n; i++)
        images[i] = (float)(i * 2654435761u % 1000) / 1000;
    if (code == BL_OK)
        code = bl_exec_bind(exec, "images", images, err);
    if (code == BL_OK)
        code = bl_exec_bind(exec, "labels", labels, err);
    bl_optim_rates rates = bl_optim_rates_of(1e-4);
    batchlab_marker_open(&marker);
    batchlab_marker_hello(&marker, "detector_step", BATCHLAB_VERSION, "f32", 1, o->batch);
    batchlab_marker_ready(&marker);
    for (int step = 0; code == BL_OK && step < o->steps; step++) {
        code = bl_exec_run(exec, err);
        if (code == BL_OK)
            code = bl_exec_read(exec, "loss", &loss, 1, err);
        if (code != BL_OK)
            break;
        bl_optim_step(optim, &rates);
        batchlab_marker_step(&marker, o->batch, (double)loss, 0);
    }
    batchlab_marker_done(&marker);
    bl_optim_free(optim);
    free(images);
    free(labels);
    return code;
}

int main(int argc, char **argv)
{
    options o;
    bl_error err = {0};
    bl_params *params = NULL;
    bl_graph *graph = NULL;
    bl_exec *exec = NULL;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: detector_step MODEL --batch-size N --steps N [--threads N] [--image-size N] "
                        "[--classes N] [--recompute none|cheap|all] [--profile]\n");
        return 2;
    }
    int code = bl_params_new(&params, &err);
    if (code == BL_OK)
        code = bl_graph_new(params, BL_MODE_TRAIN, &graph, &err);
    if (code == BL_OK) {
        build(graph, &o);
        code = bl_exec_new(&bl_backend_cpu, graph,
                           &(bl_exec_options){.n_threads = o.threads, .profile = o.profile, .recompute = o.recompute},
                           &exec, &err);
    }
    if (code == BL_OK)
        code = bl_params_init(params, 1, &err);
    if (code == BL_OK) {
        const bl_exec_memory *m = bl_exec_memory_info(exec);
        fprintf(stderr, "slab %zu MiB (at least %zu, without reuse %zu), parameters %zu MiB\n", m->slab_b >> 20,
                m->lower_bound_b >> 20, m->naive_b >> 20, m->params_b >> 20);
        code = train(&o, params, exec, &err);
    }
    if (code == BL_OK && o.profile)
        print_profile(exec, o.steps);
    if (code != BL_OK)
        fprintf(stderr, "%s\n", err.message);
    bl_exec_free(exec);
    bl_params_free(params);
    return code == BL_OK ? 0 : 1;
}
