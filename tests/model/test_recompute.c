/* What is computed again in the backward pass is the same to the bit, and saves memory. usage: test_recompute MODEL...
 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "graph/builder.h"
#include "graph/exec.h"
#include "model/model.h"

enum { BATCH = 2, SIZE = 64, CLASSES = 10, STEPS = 2 };

typedef struct run {
    bl_params *params;
    bl_exec *exec;
    size_t slab_b;
    float *images;
    int32_t labels[BATCH];
} run;

static const char *const *models;
static int n_models;

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static void train(run *r, const char *name, bl_recompute recompute)
{
    bl_error err = {0};
    bl_graph *graph = NULL;
    const bl_model *model = bl_model_find(name);
    assert_non_null(model);
    *r = (run){.labels = {3, 7}};
    must(bl_params_new(&r->params, &err), &err);
    must(bl_graph_new(r->params, BL_MODE_TRAIN, &graph, &err), &err);
    bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(BATCH, 3, SIZE, SIZE));
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(BATCH));
    bl_build_softmax_cross_entropy(graph, model->build(graph, x, CLASSES), labels, 0);
    bl_exec_options options = {.n_threads = 2, .recompute = recompute, .seed = 5};
    must(bl_exec_new(&bl_backend_cpu, graph, &options, &r->exec, &err), &err);
    must(bl_params_init(r->params, 1, &err), &err);
    r->slab_b = bl_exec_memory_info(r->exec)->slab_b;
    r->images = calloc((size_t)BATCH * 3 * SIZE * SIZE, sizeof *r->images);
    assert_non_null(r->images);
    uint32_t noise = 1;
    for (int i = 0; i < BATCH * 3 * SIZE * SIZE; i++) {
        noise = noise * 1664525u + 1013904223u;
        r->images[i] = (float)(noise >> 8) / 8388608.0f - 1;
    }
    must(bl_exec_bind(r->exec, "images", r->images, &err), &err);
    must(bl_exec_bind(r->exec, "labels", r->labels, &err), &err);
    for (int step = 0; step < STEPS; step++) {
        must(bl_exec_run(r->exec, &err), &err);
        float *w = bl_params_value_slab(r->params);
        const float *g = bl_params_grad_slab(r->params);
        for (int64_t i = 0; i < bl_params_slab_count(r->params); i++)
            w[i] -= 0.01f * g[i];
        bl_params_touch(r->params);
    }
}

static void clear(run *r)
{
    bl_exec_free(r->exec);
    bl_params_free(r->params);
    free(r->images);
}

static void same_bits(const run *a, const run *b, const char *model, const char *level)
{
    size_t bytes = (size_t)bl_params_slab_count(a->params) * sizeof(float);
    if (memcmp(bl_params_value_slab(a->params), bl_params_value_slab(b->params), bytes) != 0 ||
        memcmp(bl_params_grad_slab(a->params), bl_params_grad_slab(b->params), bytes) != 0)
        fail_msg("%s trains otherwise with --recompute %s", model, level);
    for (int i = 0; i < bl_params_count(a->params); i++)
        if (bl_params_at(a->params, i)->buffer)
            assert_memory_equal(bl_params_value(a->params, i), bl_params_value(b->params, i),
                                (size_t)bl_params_at(a->params, i)->count * sizeof(float));
}

static void test_same_bits_in_less_memory(void **state)
{
    for (int i = 0; i < n_models; i++) {
        run none, cheap, all;
        train(&none, models[i], BL_RECOMPUTE_NONE);
        train(&cheap, models[i], BL_RECOMPUTE_CHEAP);
        same_bits(&none, &cheap, models[i], "cheap");
        clear(&cheap);
        train(&all, models[i], BL_RECOMPUTE_ALL);
        same_bits(&none, &all, models[i], "all");
        print_message("  %s: slab of %.1f MiB, cheap %.1f, all %.1f\n", models[i], (double)none.slab_b / (1 << 20),
                      (double)cheap.slab_b / (1 << 20), (double)all.slab_b / (1 << 20));
        assert_true(cheap.slab_b <= none.slab_b);
        assert_true(all.slab_b < none.slab_b);
        clear(&none);
        clear(&all);
    }
}

int main(int argc, char **argv)
{
    models = (const char *const *)argv + 1;
    n_models = argc - 1;
    if (n_models < 1) {
        fprintf(stderr, "usage: test_recompute MODEL...\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits_in_less_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
