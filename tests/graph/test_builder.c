#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder.h"
#include "graph/dropout.h"
#include "graph/op.h"

static void start(bl_params **params, bl_graph **graph, bl_mode mode)
{
    bl_error err = {0};
    assert_int_equal(bl_params_new(params, &err), BL_OK);
    assert_int_equal(bl_graph_new(*params, mode, graph, &err), BL_OK);
}

static void expect_shape(const bl_graph *g, bl_value v, bl_shape expected)
{
    char got[128], want[128];
    bl_shape shape = bl_build_shape(g, v);
    bl_shape_format(&shape, got, sizeof got);
    bl_shape_format(&expected, want, sizeof want);
    assert_string_equal(got, want);
}

static void test_shapes_and_names(void **state)
{
    bl_params *params;
    bl_graph *g;
    start(&params, &g, BL_MODE_TRAIN);
    bl_value x = bl_build_input(g, "images", BL_F32, BL_SHAPE4(2, 3, 224, 223));
    bl_conv2d_args args = {.out_channels = 16, .kernel = 3, .stride = 2, .pad = 1, .bias = true};
    bl_value y = bl_build_conv2d(g, "features.0", x, args);
    expect_shape(g, y, BL_SHAPE4(2, 16, 112, 112));
    y = bl_build_batch_norm(g, "features.1", y, 0, 0);
    expect_shape(g, y, BL_SHAPE4(2, 16, 112, 112));
    bl_value pooled = bl_build_global_avg_pool(g, y);
    expect_shape(g, pooled, BL_SHAPE4(2, 16, 1, 1));
    expect_shape(g, bl_build_gate(g, y, pooled), BL_SHAPE4(2, 16, 112, 112));
    y = bl_build_linear(g, "head", bl_build_flatten(g, pooled), (bl_linear_args){.outputs = 7});
    expect_shape(g, y, BL_SHAPE2(2, 7));
    static const char *const names[] = {"features.0.weight",
                                        "features.0.bias",
                                        "features.1.weight",
                                        "features.1.bias",
                                        "features.1.running_mean",
                                        "features.1.running_var",
                                        "features.1.num_batches_tracked",
                                        "head.weight"};
    assert_int_equal(bl_params_count(params), BL_ARRAY_LEN(names));
    for (int i = 0; i < (int)BL_ARRAY_LEN(names); i++)
        assert_string_equal(bl_params_at(params, i)->name, names[i]);
    assert_int_equal(bl_params_learnt(params), 16 * 3 * 9 + 16 + 16 + 16 + 7 * 16);
    assert_true(bl_params_at(params, 4)->buffer && bl_params_at(params, 6)->integer);
    char *dump = bl_graph_dump(g);
    assert_non_null(strstr(dump, "conv2d"));
    assert_non_null(strstr(dump, "# features.1"));
    free(dump);
    bl_graph_free(g);
    bl_params_free(params);
}

static void test_the_first_error_stays(void **state)
{
    bl_params *params;
    bl_graph *g;
    bl_error err = {0};
    start(&params, &g, BL_MODE_TRAIN);
    bl_value x = bl_build_input(g, "x", BL_F32, BL_SHAPE4(1, 3, 4, 4));
    bl_value y = bl_build_conv2d(g, "big", x, (bl_conv2d_args){.out_channels = 4, .kernel = 7});
    assert_int_equal(y, BL_NO_VALUE);
    y = bl_build_activation(g, y, BL_ACT_RELU);
    y = bl_build_batch_norm(g, "later", y, 0, 0);
    y = bl_build_flatten(g, bl_build_global_avg_pool(g, y));
    y = bl_build_dropout(g, bl_build_linear(g, "last", y, (bl_linear_args){.outputs = 3}), 0.5f);
    assert_int_equal(bl_build_add(g, y, y), BL_NO_VALUE);
    assert_int_equal(bl_graph_finish(g, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "big"));
    assert_non_null(strstr(err.message, "(1, 3, 4, 4)"));
    bl_graph_free(g);
    bl_params_free(params);
}

static void test_channels_must_fit_their_groups(void **state)
{
    bl_params *params;
    bl_graph *g;
    start(&params, &g, BL_MODE_EVAL);
    bl_value x = bl_build_input(g, "x", BL_F32, BL_SHAPE4(1, 6, 8, 8));
    bl_conv2d_args args = {.out_channels = 8, .kernel = 3, .groups = 4};
    assert_int_equal(bl_build_conv2d(g, "grouped", x, args), BL_NO_VALUE);
    assert_int_equal(bl_graph_finish(g, NULL), BL_ERR_INTERNAL);
    bl_graph_free(g);
    bl_params_free(params);
}

static void test_evaluation_has_no_dropout_and_no_tracking(void **state)
{
    bl_params *params;
    bl_graph *g;
    start(&params, &g, BL_MODE_EVAL);
    bl_value x = bl_build_input(g, "x", BL_F32, BL_SHAPE4(1, 3, 4, 4));
    assert_int_equal(bl_build_dropout(g, x, 0.5f), x);
    bl_build_batch_norm(g, "norm", x, 0, 0);
    assert_int_equal(g->n_nodes, 1);
    assert_ptr_equal(g->nodes[0].op, &bl_op_norm_act_apply);
    bl_graph_free(g);
    bl_params_free(params);
}

/* ---- the parameter table ---- */

static void test_declaring_twice(void **state)
{
    bl_error err = {0};
    bl_params *params;
    assert_int_equal(bl_params_new(&params, &err), BL_OK);
    int a, b;
    bl_init init = {.kind = BL_INIT_NORMAL, .a = 1};
    assert_int_equal(bl_params_declare(params, "w", &BL_SHAPE2(2, 3), init, false, false, &a, &err), BL_OK);
    assert_int_equal(bl_params_declare(params, "w", &BL_SHAPE2(2, 3), init, false, false, &b, &err), BL_OK);
    assert_int_equal(a, b);
    assert_int_equal(bl_params_declare(params, "w", &BL_SHAPE2(3, 2), init, false, false, &b, NULL), BL_ERR_INTERNAL);
    assert_null(bl_params_value(params, a));
    assert_int_equal(bl_params_alloc(params, false, &err), BL_OK);
    assert_null(bl_params_grad(params, a));
    assert_int_equal(bl_params_alloc(params, true, &err), BL_OK);
    assert_non_null(bl_params_grad(params, a));
    assert_int_equal(bl_params_declare(params, "new", &BL_SHAPE1(1), init, false, false, &b, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_params_find(params, "new"), -1);
    uint64_t version = bl_params_version(params);
    bl_params_touch(params);
    assert_true(bl_params_version(params) != version);
    bl_params_free(params);
}

static void moments(const float *x, int64_t n, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *sd = sqrt(squares / (double)n);
}

static void test_initialisers(void **state)
{
    static const struct {
        bl_init init;
        double mean, sd;
    } cases[] = {
        {{.kind = BL_INIT_ZEROS}, 0, 0},
        {{.kind = BL_INIT_ONES}, 1, 0},
        {{.kind = BL_INIT_NORMAL, .a = 0.5}, 0, 0.5},
        {{.kind = BL_INIT_UNIFORM, .a = 3}, 0, 1.7320508},
        {{.kind = BL_INIT_KAIMING_FAN_OUT}, 0, 0.1178511},         /* sqrt(2 / (16 * 9)) */
        {{.kind = BL_INIT_FAN_IN_UNIFORM}, 0, 0.0085055},          /* 1 / sqrt(512 * 9) / sqrt(3) */
        {{.kind = BL_INIT_FAN_IN_UNIFORM, .a = 25}, 0, 0.1154701}, /* 1 / 5 / sqrt(3) */
        {{.kind = BL_INIT_TRUNC_NORMAL, .a = 0.02}, 0, 0.02},
    };
    bl_error err = {0};
    bl_params *params, *again;
    assert_int_equal(bl_params_new(&params, &err), BL_OK);
    assert_int_equal(bl_params_new(&again, &err), BL_OK);
    bl_shape shape = BL_SHAPE4(16, 512, 3, 3);
    for (int i = 0; i < (int)BL_ARRAY_LEN(cases); i++) {
        char name[8];
        int index;
        snprintf(name, sizeof name, "p%d", i);
        assert_int_equal(bl_params_declare(params, name, &shape, cases[i].init, false, false, &index, &err), BL_OK);
        assert_int_equal(bl_params_declare(again, name, &shape, cases[i].init, false, false, &index, &err), BL_OK);
    }
    assert_int_equal(bl_params_alloc(params, false, &err), BL_OK);
    assert_int_equal(bl_params_alloc(again, false, &err), BL_OK);
    assert_int_equal(bl_params_init(params, 11, &err), BL_OK);
    assert_int_equal(bl_params_init(again, 11, &err), BL_OK);
    size_t bytes = (size_t)bl_params_slab_count(params) * sizeof(float);
    assert_memory_equal(bl_params_value_slab(params), bl_params_value_slab(again), bytes);
    for (int i = 0; i < (int)BL_ARRAY_LEN(cases); i++) {
        double mean, sd;
        moments(bl_params_value(params, i), bl_shape_count(&shape), &mean, &sd);
        assert_true(fabs(mean - cases[i].mean) < 0.02 * cases[i].sd + 1e-9);
        assert_true(fabs(sd - cases[i].sd) < 0.02 * cases[i].sd + 1e-9);
    }
    assert_int_equal(bl_params_init(again, 12, &err), BL_OK);
    assert_memory_not_equal(bl_params_value(params, 2), bl_params_value(again, 2), 64);
    bl_params_free(params);
    bl_params_free(again);
}

/* ---- random bits ---- */

/* The known answers published with the generator (Random123's kat_vectors). */
static void test_philox(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(known); i++) {
        uint32_t out[4];
        bl_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].expected, sizeof out);
    }
}

static void test_dropout_keeps_its_share(void **state)
{
    int kept = 0, same = 0, n = 100000;
    for (int i = 0; i < n; i++) {
        bool keeps = bl_dropout_keeps(0.3f, 1, 2, 3, (uint64_t)i);
        kept += keeps;
        same += keeps == bl_dropout_keeps(0.3f, 1, 3, 3, (uint64_t)i);
    }
    assert_true(abs(kept - 70000) < 600);
    assert_true(abs(same - 58000) < 600); /* .7^2 + .3^2: another step, independent bits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_names),
        cmocka_unit_test(test_the_first_error_stays),
        cmocka_unit_test(test_channels_must_fit_their_groups),
        cmocka_unit_test(test_evaluation_has_no_dropout_and_no_tracking),
        cmocka_unit_test(test_declaring_twice),
        cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_dropout_keeps_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
