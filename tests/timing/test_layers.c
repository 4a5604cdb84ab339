/* Layers and models as they are timed: every role has its kernels, and running a node again changes nothing. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "graph/op.h"
#include "timing/layer_work.h"
#include "timing/model_time.h"
#include "timing/stream.h"

enum { BATCH = 3 };

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static void check(const char *text, const char *op, double flop)
{
    bl_layer layer;
    bl_role role;
    bl_layer_work work;
    bl_error err = {0};
    must(bl_layer_role_parse(text, &layer, &role, &err), &err);
    must(bl_layer_work_make(&layer, role, BATCH, 1, &work, &err), &err);
    const bl_graph *graph = bl_exec_graph(work.exec);
    assert_int_equal(work.n_nodes, 1);
    assert_true(work.flop == flop);
    const bl_node *node = &graph->nodes[work.nodes[0]];
    if (strcmp(node->op->name, op) != 0)
        fail_msg("%s is a %s", text, node->op->name);
    size_t n = (size_t)bl_shape_count(&graph->values[node->out[0]].shape), zeros = 0;
    const float *out = bl_exec_data(work.exec, node->out[0]);
    float *before = malloc(n * sizeof *before);
    assert_non_null(before);
    memcpy(before, out, n * sizeof *before);
    for (size_t i = 0; i < n; i++)
        zeros += before[i] == 0;
    assert_true(zeros < n / 2 + 1);
    for (int i = 0; i < 3; i++)
        must(bl_layer_work_run(&work, &err), &err);
    assert_memory_equal(before, out, n * sizeof *before);
    free(before);
    bl_layer_work_clear(&work);
}

static void test_roles(void **state)
{
    const double conv = 2.0 * 32 * 16 * 9 * 49 * BATCH, depthwise = 2.0 * 16 * 25 * 64 * BATCH;
    check("conv:16x14x14:o32:k3:s2", "conv2d", conv);
    check("conv:16x14x14:o32:k3:s2@input", "conv2d_grad_data", conv);
    check("conv:16x14x14:o32:k3:s2:bias@weights", "conv2d_grad_weights", conv);
    check("conv:16x8x8:o16:k5:g16", "conv2d", depthwise);
    check("conv:16x8x8:o16:k5:g16:bias@input", "conv2d_grad_data", depthwise);
    check("conv:16x8x8:o16:k5:g16@weights", "conv2d_grad_weights", depthwise);
    check("conv:3x8x8:o8:k3:first", "conv2d", 2.0 * 8 * 27 * 64 * BATCH);
    check("conv:3x8x8:o8:k3:first@weights", "conv2d_grad_weights", 2.0 * 8 * 27 * 64 * BATCH);
    check("linear:24:o40:r5:bias", "linear", 2.0 * 24 * 40 * 5 * BATCH);
    check("linear:24:o40@input", "linear_grad_data", 2.0 * 24 * 40 * BATCH);
    check("linear:24:o40:r5@weights", "linear_grad_weights", 2.0 * 24 * 40 * 5 * BATCH);
    check("attention:t6:h2:w16", "attention", 2 * 2.0 * 6 * 6 * 16 * 2 * BATCH);
    check("attention:t6:h2:w16@input", "attention_grad", 4 * 2.0 * 6 * 6 * 16 * 2 * BATCH);
}

static void test_refused(void **state)
{
    static const char *const texts[] = {"conv:4x8x8:o4:k3x1:p0", "linear:100000000:o1"};
    for (size_t i = 0; i < BL_ARRAY_LEN(texts); i++) {
        bl_layer layer;
        bl_role role;
        bl_layer_work work;
        bl_error err = {0};
        must(bl_layer_role_parse(texts[i], &layer, &role, &err), &err);
        assert_int_equal(bl_layer_work_make(&layer, role, 1, 1, &work, &err), BL_ERR_USAGE);
        bl_layer_work_clear(&work);
    }
}

static const bl_model_time_row *find_row(const bl_model_time *t, const char *op)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->rows[i].op, op) == 0)
            return &t->rows[i];
    fail_msg("no row %s", op);
    return NULL;
}

static void test_models(void **state)
{
    volatile sig_atomic_t stop = 0;
    bl_model_time_options o = {.model = bl_model_find("tiny_cnn"), .batch = 2, .threads = 1, .stop = &stop};
    bl_model_time t;
    bl_error err = {0};
    must(bl_model_time_make(&o, &t, &err), &err);
    double products = 0, others = 0;
    for (int i = 0; i < t.n; i++) {
        const bl_model_time_row *r = &t.rows[i];
        assert_true(r->seconds > 0 && r->nodes >= r->distinct && r->distinct > 0 && (r->flop > 0) == r->product);
        assert_true(i == 0 || r->seconds <= t.rows[i - 1].seconds);
        if (strcmp(r->op, "sgd") != 0)
            *(r->product ? &products : &others) += r->seconds;
    }
    assert_true(products > 0 && others > 0 && t.optimizer_s > 0);
    assert_true(products / t.products_s > 0.999 && products / t.products_s < 1.001);
    assert_true(others / t.others_s > 0.999 && others / t.others_s < 1.001);
    assert_true(find_row(&t, "linear")->flop == find_row(&t, "linear_grad_weights")->flop);
    assert_int_equal(find_row(&t, "softmax_loss")->nodes, 1);
    bl_model_time_clear(&t);
    o.model = bl_model_find("yolov7_tiny");
    assert_int_equal(bl_model_time_make(&o, &t, &err), BL_ERR_USAGE);
    bl_model_time_clear(&t);
    o.model = bl_model_find("tiny_cnn");
    stop = 1;
    assert_int_equal(bl_model_time_make(&o, &t, NULL), BL_ERR_INTERRUPTED);
    bl_model_time_clear(&t);
}

static void test_stream(void **state)
{
    bl_stream s;
    bl_error err = {0};
    must(bl_stream_make(1000, 2, &s, &err), &err);
    must(bl_stream_run(&s, &err), &err);
    for (size_t i = 0; i < s.n; i++)
        assert_true(s.a[i] == s.b[i] + 0.5f * s.c[i]);
    bl_stream_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_roles), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_models), cmocka_unit_test(test_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
