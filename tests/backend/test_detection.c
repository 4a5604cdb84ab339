/* The detection loss as a training graph has it: with the loss at the graph's end, against the room detect itself. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "cases.h"
#include "graph/exec.h"

enum { N = 2, CLASSES = 4, SIDE = 64, HEADS = 6, ROWS = 3, CHANNELS = BL_DETECT_ANCHORS * (5 + CLASSES) };

static const bl_detect_loss_setup setup = {.spec = {.n_classes = CLASSES,
                                                    .n_levels = 3,
                                                    .auxiliary = true,
                                                    .stride = {8, 16, 32},
                                                    .anchor = {{{12, 16}, {19, 36}, {40, 28}},
                                                               {{36, 75}, {76, 55}, {72, 146}},
                                                               {{142, 110}, {192, 243}, {459, 401}}}},
                                           .gains = {.box = 0.05, .objectness = 0.7, .classes = 0.3}};
static const float targets[ROWS][BL_DETECT_TARGET_COLS] = {
    {0, 1, 0.3f, 0.4f, 0.4f, 0.5f}, {-1, 0, 0.5f, 0.5f, 0.5f, 0.5f}, {1, 3, 0.7f, 0.3f, 0.5f, 0.2f}};

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static bl_exec *make(bl_params *params, bl_mode mode, int n_heads)
{
    static const char *const names[HEADS] = {"lead0", "lead1", "lead2", "aux0", "aux1", "aux2"};
    bl_error err = {0};
    bl_graph *graph;
    bl_exec *exec;
    bl_value heads[HEADS];
    must(bl_graph_new(params, mode, &graph, &err), &err);
    for (int k = 0; k < n_heads; k++)
        heads[k] = case_param(graph, names[k], BL_SHAPE4(N, CHANNELS, 8 >> k % 3, 8 >> k % 3));
    bl_value rows = bl_build_input(graph, "targets", BL_F32, BL_SHAPE2(ROWS, BL_DETECT_TARGET_COLS));
    bl_build_detection_loss(graph, heads, n_heads, rows, &setup);
    must(bl_exec_new(&bl_backend_cpu, graph, &(bl_exec_options){.n_threads = 2}, &exec, &err), &err);
    must(bl_params_init(params, 3, &err), &err);
    must(bl_exec_bind(exec, "targets", targets, &err), &err);
    must(bl_exec_run(exec, &err), &err);
    return exec;
}

/* The same by a call; gradients into `grad` where these are wanted. */
static bl_detect_losses directly(bl_params *params, int n_heads, float *const *grad)
{
    bl_error err = {0};
    bl_detect_losses losses;
    bl_detect_batch batch = {.n = N, .n_heads = n_heads, .targets = targets, .n_targets = ROWS};
    for (int k = 0; k < n_heads; k++) {
        batch.h[k % 3] = batch.w[k % 3] = 8 >> k % 3;
        batch.head[k] = bl_params_value(params, k);
        batch.grad[k] = grad ? grad[k] : NULL;
    }
    size_t bytes;
    must(bl_detect_loss_scratch_b(&setup, &batch, &bytes, &err), &err);
    void *scratch = malloc(bytes);
    must(bl_detect_loss(&setup, &batch, scratch, &losses, &err), &err);
    free(scratch);
    return losses;
}

static void check_losses(const bl_exec *exec, const bl_detect_losses *wanted)
{
    bl_error err = {0};
    float loss, parts[3];
    must(bl_exec_read(exec, "loss", &loss, 1, &err), &err);
    must(bl_exec_read(exec, "loss_parts", parts, 3, &err), &err);
    assert_true(wanted->n_matches > 0);
    assert_true(loss == (float)wanted->loss);
    for (int k = 0; k < 3; k++)
        assert_true(parts[k] == (float)wanted->parts[k]);
}

static void test_training(void **state)
{
    bl_error err = {0};
    bl_params *params;
    float *grad[HEADS];
    must(bl_params_new(&params, &err), &err);
    bl_exec *exec = make(params, BL_MODE_TRAIN, HEADS);
    for (int k = 0; k < HEADS; k++)
        grad[k] = calloc((size_t)bl_params_at(params, k)->count, sizeof(float));
    bl_detect_losses wanted = directly(params, HEADS, grad);
    check_losses(exec, &wanted);
    for (int k = 0; k < HEADS; k++) {
        assert_memory_equal(bl_params_grad(params, k), grad[k], (size_t)bl_params_at(params, k)->count * sizeof(float));
        free(grad[k]);
    }
    bl_exec_free(exec);
    bl_params_free(params);
}

/* Evaluation wants the lead heads' loss and no gradients; nothing is planned for these. */
static void test_evaluation(void **state)
{
    bl_error err = {0};
    bl_params *params;
    must(bl_params_new(&params, &err), &err);
    bl_exec *exec = make(params, BL_MODE_EVAL, HEADS / 2);
    bl_detect_losses wanted = directly(params, HEADS / 2, NULL);
    check_losses(exec, &wanted);
    assert_int_equal(bl_exec_graph(exec)->n_nodes, 1);
    assert_int_equal(bl_exec_graph(exec)->nodes[0].n_out, 2);
    bl_exec_free(exec);
    bl_params_free(params);
}

static void test_wrong_heads_are_refused(void **state)
{
    bl_error err = {0};
    bl_params *params;
    bl_graph *graph;
    must(bl_params_new(&params, &err), &err);
    for (int wrong = 0; wrong < 5; wrong++) {
        must(bl_graph_new(params, BL_MODE_EVAL, &graph, &err), &err);
        bl_value heads[HEADS];
        for (int k = 0; k < 3; k++) {
            bl_shape shape = BL_SHAPE4(N + (wrong == 1 && k == 1), CHANNELS + (wrong == 2 && k == 2), 8 >> k,
                                       (8 >> k) + (wrong == 3 && k == 1));
            heads[k] = bl_build_input(graph, "x", BL_F32, shape);
        }
        bl_value rows = bl_build_input(graph, "targets", BL_F32, BL_SHAPE2(ROWS, wrong == 4 ? 5 : 6));
        bl_build_detection_loss(graph, heads, 3, rows, &setup);
        assert_int_equal(bl_graph_finish(graph, NULL), wrong ? BL_ERR_INTERNAL : BL_OK);
        bl_graph_free(graph);
    }
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_wrong_heads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
