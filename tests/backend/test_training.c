/* Whole steps on the CPU backend: it learns, reruns are the same to the bit, and sharing memory changes nothing. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "graph/builder.h"
#include "graph/exec.h"

#define N    8
#define SIZE 16

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static bl_graph *build(bl_params *params, bl_mode mode)
{
    bl_error err = {0};
    bl_graph *g = NULL;
    must(bl_graph_new(params, mode, &g, &err), &err);
    bl_value x = bl_build_input(g, "images", BL_F32, BL_SHAPE4(N, 3, SIZE, SIZE));
    bl_value labels = bl_build_input(g, "labels", BL_I32, BL_SHAPE1(N));
    bl_value y =
        bl_build_conv2d(g, "stem", x, (bl_conv2d_args){.out_channels = 12, .kernel = 3, .stride = 2, .pad = 1});
    y = bl_build_activation(g, bl_build_batch_norm(g, "stem_norm", y, 0, 0), BL_ACT_HARDSWISH);
    bl_value shortcut = y;
    y = bl_build_conv2d(g, "expand", y, (bl_conv2d_args){.out_channels = 40, .kernel = 1});
    y = bl_build_activation(g, bl_build_batch_norm(g, "expand_norm", y, 0, 0), BL_ACT_RELU);
    y = bl_build_conv2d(g, "dw", y, (bl_conv2d_args){.out_channels = 40, .kernel = 3, .pad = 1, .groups = 40});
    y = bl_build_activation(g, bl_build_batch_norm(g, "dw_norm", y, 0, 0), BL_ACT_HARDSWISH);
    bl_value s = bl_build_conv2d(g, "fc1", bl_build_global_avg_pool(g, y),
                                 (bl_conv2d_args){.out_channels = 8, .kernel = 1, .bias = true});
    s = bl_build_conv2d(g, "fc2", bl_build_activation(g, s, BL_ACT_RELU),
                        (bl_conv2d_args){.out_channels = 40, .kernel = 1, .bias = true});
    y = bl_build_gate(g, y, bl_build_activation(g, s, BL_ACT_HARDSIGMOID));
    y = bl_build_conv2d(g, "project", y, (bl_conv2d_args){.out_channels = 12, .kernel = 1});
    y = bl_build_add(g, shortcut, bl_build_batch_norm(g, "project_norm", y, 0, 0));
    y = bl_build_flatten(g, bl_build_global_avg_pool(g, y));
    y = bl_build_linear(g, "classifier", bl_build_dropout(g, y, 0.1f), (bl_linear_args){.outputs = 4, .bias = true});
    bl_build_output(g, "logits", y);
    bl_build_softmax_cross_entropy(g, y, labels, 0.05f);
    return g;
}

/* Class k is a wave of its own frequency under noise. */
static void draw(float *images, int32_t *labels)
{
    uint32_t noise = 12345;
    for (int i = 0; i < N; i++) {
        labels[i] = i % 4;
        for (int c = 0; c < 3 * SIZE * SIZE; c++) {
            noise = noise * 1664525u + 1013904223u;
            images[i * 3 * SIZE * SIZE + c] =
                sinf((float)(c % SIZE) * (float)(labels[i] + 1) * 0.4f) + (float)(noise >> 8) / 33554432.0f;
        }
    }
}

typedef struct session {
    bl_params *params;
    bl_exec *exec;
    float *images;
    int32_t labels[N];
} session;

static void start(session *s, bl_exec_options options)
{
    bl_error err = {0};
    *s = (session){.images = calloc((size_t)N * 3 * SIZE * SIZE, sizeof(float))};
    assert_non_null(s->images);
    draw(s->images, s->labels);
    must(bl_params_new(&s->params, &err), &err);
    must(bl_exec_new(&bl_backend_cpu, build(s->params, BL_MODE_TRAIN), &options, &s->exec, &err), &err);
    must(bl_params_init(s->params, 3, &err), &err);
    must(bl_exec_bind(s->exec, "images", s->images, &err), &err);
    must(bl_exec_bind(s->exec, "labels", s->labels, &err), &err);
}

static void stop(session *s)
{
    bl_exec_free(s->exec);
    bl_params_free(s->params);
    free(s->images);
}

/* One step of plain gradient descent; the loss before it. */
static float step(session *s)
{
    bl_error err = {0};
    float loss = NAN;
    must(bl_exec_run(s->exec, &err), &err);
    must(bl_exec_read(s->exec, "loss", &loss, 1, &err), &err);
    float *w = bl_params_value_slab(s->params);
    const float *g = bl_params_grad_slab(s->params);
    for (int64_t i = 0; i < bl_params_slab_count(s->params); i++)
        w[i] -= 0.1f * g[i];
    bl_params_touch(s->params);
    return loss;
}

static void test_it_learns(void **state)
{
    session s;
    start(&s, (bl_exec_options){.n_threads = 2});
    float first = step(&s), last = first;
    for (int i = 0; i < 30; i++)
        last = step(&s);
    assert_true(first > 1 && first < 3);
    assert_true(last < first / 2);
    stop(&s);
}

static void same_bits(bl_exec_options a_options, bl_exec_options b_options)
{
    session a, b;
    start(&a, a_options);
    start(&b, b_options);
    for (int i = 0; i < 3; i++) {
        float loss_a = step(&a), loss_b = step(&b);
        assert_memory_equal(&loss_a, &loss_b, sizeof loss_a);
    }
    size_t bytes = (size_t)bl_params_slab_count(a.params) * sizeof(float);
    assert_memory_equal(bl_params_value_slab(a.params), bl_params_value_slab(b.params), bytes);
    assert_memory_equal(bl_params_grad_slab(a.params), bl_params_grad_slab(b.params), bytes);
    stop(&a);
    stop(&b);
}

static void test_reruns_are_the_same_to_the_bit(void **state)
{
    same_bits((bl_exec_options){.n_threads = 2, .seed = 9}, (bl_exec_options){.n_threads = 2, .seed = 9});
}

/* If a place in the slab were given away too early, this would show. */
static void test_sharing_memory_changes_nothing(void **state)
{
    same_bits((bl_exec_options){.n_threads = 2}, (bl_exec_options){.n_threads = 2, .no_reuse = true});
}

static void test_the_seed_reaches_the_dropout(void **state)
{
    session a, b;
    start(&a, (bl_exec_options){.n_threads = 2, .seed = 1});
    start(&b, (bl_exec_options){.n_threads = 2, .seed = 2});
    assert_true(step(&a) != step(&b));
    stop(&a);
    stop(&b);
}

/* Evaluation sees new weights, though it keeps them reordered between runs. */
static void test_evaluation_follows_the_parameters(void **state)
{
    bl_error err = {0};
    session s;
    start(&s, (bl_exec_options){.n_threads = 2});
    bl_exec *eval = NULL;
    must(bl_exec_new(&bl_backend_cpu, build(s.params, BL_MODE_EVAL), NULL, &eval, &err), &err);
    must(bl_exec_bind(eval, "images", s.images, &err), &err);
    must(bl_exec_bind(eval, "labels", s.labels, &err), &err);
    float before[N * 4], after[N * 4], fresh[N * 4];
    must(bl_exec_run(eval, &err), &err);
    must(bl_exec_read(eval, "logits", before, N * 4, &err), &err);
    step(&s);
    must(bl_exec_run(eval, &err), &err);
    must(bl_exec_read(eval, "logits", after, N * 4, &err), &err);
    bl_exec *again = NULL;
    must(bl_exec_new(&bl_backend_cpu, build(s.params, BL_MODE_EVAL), NULL, &again, &err), &err);
    must(bl_exec_bind(again, "images", s.images, &err), &err);
    must(bl_exec_bind(again, "labels", s.labels, &err), &err);
    must(bl_exec_run(again, &err), &err);
    must(bl_exec_read(again, "logits", fresh, N * 4, &err), &err);
    assert_memory_not_equal(before, after, sizeof before);
    assert_memory_equal(after, fresh, sizeof after);
    bl_exec_free(again);
    bl_exec_free(eval);
    stop(&s);
}

static void test_limits_and_wrong_calls(void **state)
{
    bl_error err = {0};
    bl_params *params = NULL;
    bl_exec *exec = NULL;
    must(bl_params_new(&params, &err), &err);
    bl_exec_options plan = {.plan_only = true};
    must(bl_exec_new(&bl_backend_cpu, build(params, BL_MODE_TRAIN), &plan, &exec, &err), &err);
    bl_exec_memory memory = *bl_exec_memory_info(exec);
    assert_true(memory.lower_bound_b <= memory.slab_b && memory.slab_b < memory.naive_b);
    assert_int_equal(bl_exec_run(exec, &err), BL_ERR_INTERNAL);
    bl_exec_free(exec);

    bl_error_clear(&err);
    bl_exec_options tight = {.memory_limit_b = memory.slab_b / 2};
    assert_int_equal(bl_exec_new(&bl_backend_cpu, build(params, BL_MODE_TRAIN), &tight, &exec, &err), BL_ERR_NOMEM);

    bl_error_clear(&err);
    must(bl_exec_new(&bl_backend_cpu, build(params, BL_MODE_TRAIN), NULL, &exec, &err), &err);
    assert_int_equal(bl_exec_run(exec, &err), BL_ERR_INTERNAL);
    assert_non_null(strstr(err.message, "images"));
    bl_error_clear(&err);
    assert_int_equal(bl_exec_bind(exec, "sounds", params, &err), BL_ERR_INTERNAL);
    bl_error_clear(&err);
    float wrong[3];
    assert_int_equal(bl_exec_read(exec, "logits", wrong, 3, &err), BL_ERR_INTERNAL);
    bl_exec_free(exec);
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_learns),
        cmocka_unit_test(test_reruns_are_the_same_to_the_bit),
        cmocka_unit_test(test_sharing_memory_changes_nothing),
        cmocka_unit_test(test_the_seed_reaches_the_dropout),
        cmocka_unit_test(test_evaluation_follows_the_parameters),
        cmocka_unit_test(test_limits_and_wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
