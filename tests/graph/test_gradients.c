/* Every op's gradient against central differences of its reference in doubles; and a wrong gradient that the check has
 * to find. */
#include "testing.h"

#include "cases.h"

#include <string.h>

#include "graph/op.h"
#include "graph/passes.h"
#include "graph/recompute.h"

#define TOLERANCE 1e-6

static void test_every_gradient(void **state)
{
    for (int i = 0; i < n_graph_cases; i++) {
        if (graph_cases[i].held) /* tests/detect shows what stands behind these */
            continue;
        bl_params *params = NULL;
        bl_graph *graph = case_graph(&graph_cases[i], BL_MODE_TRAIN, &params);
        double error = gradient_error(graph);
        if (!(error < TOLERANCE))
            fail_msg("%s: the gradient is off by %g", graph_cases[i].name, error);
        bl_graph_free(graph);
        bl_params_free(params);
    }
}

/* The passes may move work about, but the loss and all gradients stay. */
static void test_fused_gradients(void **state)
{
    bl_error err = {0};
    for (int i = 0; i < n_graph_cases; i++) {
        bl_params *params = NULL;
        bl_graph *plain = case_graph(&graph_cases[i], BL_MODE_TRAIN, &params);
        bl_graph *fused = case_graph(&graph_cases[i], BL_MODE_TRAIN, &params);
        bl_value one = BL_NO_VALUE, loss = bl_graph_find_value(plain, "loss");
        assert_int_equal(bl_graph_differentiate(plain, &loss, &one, 1, &err), BL_OK);
        loss = bl_graph_find_value(fused, "loss");
        assert_int_equal(bl_graph_fuse(fused, &err), BL_OK);
        assert_int_equal(bl_graph_differentiate(fused, &loss, &one, 1, &err), BL_OK);
        assert_int_equal(bl_graph_absorb(fused, &err), BL_OK);
        assert_int_equal(bl_graph_recompute(fused, BL_RECOMPUTE_CHEAP, &err), BL_OK);
        bl_reference *a = case_reference(plain), *b = case_reference(fused);
        double expected = case_loss(plain, a), got = case_loss(fused, b);
        assert_true(relative_error(&got, &expected, 1) < 1e-12);
        for (int p = 0; p < bl_params_count(params); p++) {
            bl_value from = case_grad(plain, p), to = case_grad(fused, p);
            assert_int_equal(from >= 0, to >= 0);
            if (from >= 0 && relative_error(bl_reference_data(b, to), bl_reference_data(a, from),
                                            bl_params_at(params, p)->count) > 1e-10)
                fail_msg("%s: the passes change the gradient of %s", graph_cases[i].name,
                         bl_params_at(params, p)->name);
        }
        bl_reference_free(a);
        bl_reference_free(b);
        bl_graph_free(plain);
        bl_graph_free(fused);
        bl_params_free(params);
    }
}

static int count_ops(const bl_graph *graph, const bl_op *op)
{
    int n = 0;
    for (int i = 0; i < graph->n_nodes; i++)
        n += graph->nodes[i].op == op;
    return n;
}

/* Of an inverted residual only what must be stored is: no activation, no pooled or gated gradient has a tensor. */
static void test_what_the_passes_leave(void **state)
{
    bl_error err = {0};
    bl_params *params = NULL;
    const graph_case *c = &graph_cases[n_graph_cases - 1];
    assert_string_equal(c->name, "inverted residual");
    bl_graph *graph = case_graph(c, BL_MODE_TRAIN, &params);
    bl_value one = BL_NO_VALUE, loss = bl_graph_find_value(graph, "loss");
    assert_int_equal(bl_graph_fuse(graph, &err), BL_OK);
    assert_int_equal(count_ops(graph, &bl_op_add), 0);
    assert_int_equal(count_ops(graph, &bl_op_activation), 2); /* the two without a normalisation */
    assert_int_equal(bl_graph_differentiate(graph, &loss, &one, 1, &err), BL_OK);
    assert_int_equal(bl_graph_absorb(graph, &err), BL_OK);
    assert_int_equal(count_ops(graph, &bl_op_global_avg_pool_grad), 0);
    assert_int_equal(count_ops(graph, &bl_op_add), 1); /* x: the gradients of the two branches */
    int stored = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        stored += graph->nodes[i].op == &bl_op_norm_act && graph->nodes[i].out[0] >= 0;
        if (graph->nodes[i].op == &bl_op_gate_grad)
            assert_int_equal(graph->nodes[i].out[0], BL_NO_VALUE);
    }
    assert_int_equal(stored, 1); /* the block's own result */
    bl_graph_free(graph);
    bl_params_free(params);
}

static const bl_node *sole_node(const bl_graph *graph, const bl_op *op, bool backward)
{
    const bl_node *found = NULL;
    for (int i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].op == op && graph->nodes[i].backward == backward) {
            assert_null(found);
            found = &graph->nodes[i];
        }
    assert_non_null(found);
    return found;
}

/* Of a transformer's block the activation and the normalisation before it are made again in the backward pass, and the
 * first sum goes into the linear layer before it. */
static void test_what_is_made_again(void **state)
{
    bl_error err = {0};
    bl_params *params = NULL;
    const graph_case *c = graph_cases;
    while (strcmp(c->name, "transformer block") != 0)
        c++;
    bl_graph *graph = case_graph(c, BL_MODE_TRAIN, &params);
    bl_value one = BL_NO_VALUE, loss = bl_graph_find_value(graph, "loss");
    assert_int_equal(bl_graph_fuse(graph, &err), BL_OK);
    assert_int_equal(count_ops(graph, &bl_op_add), 1); /* the second has a dropped branch before it */
    assert_int_equal(bl_graph_differentiate(graph, &loss, &one, 1, &err), BL_OK);
    assert_int_equal(bl_graph_recompute(graph, BL_RECOMPUTE_CHEAP, &err), BL_OK);
    const bl_node *first = sole_node(graph, &bl_op_activation, false),
                  *again = sole_node(graph, &bl_op_activation, true);
    assert_int_equal(first->in[0], again->in[0]);
    for (int i = 0; i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_in && graph->nodes[i].backward; k++)
            assert_int_not_equal(graph->nodes[i].in[k], first->out[0]);
    assert_int_equal(count_ops(graph, &bl_op_layer_norm), 5); /* the last one's result is not read again */
    bl_graph_free(graph);
    bl_params_free(params);
}

/* hardswish, but with a slope 0.1 % too steep. */
static int wrong_gradient(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err);
static int wrong_infer(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    return bl_op_activation.infer(node, in, out, err);
}

static int wrong_reference(const bl_ref_call *call, bl_error *err)
{
    return bl_op_activation.reference(call, err);
}

static int steep_reference(const bl_ref_call *call, bl_error *err)
{
    int code = bl_op_activation_grad.reference(call, err);
    for (int64_t i = 0; i < bl_shape_count(call->out_shape[0]); i++)
        call->out[0][i] *= 1.001;
    return code;
}

static const bl_op steep_grad = {
    .name = "steep_grad", .min_in = 2, .max_in = 2, .n_out = 1, .infer = wrong_infer, .reference = steep_reference};
static const bl_op broken = {.name = "broken",
                             .min_in = 1,
                             .max_in = 1,
                             .n_out = 1,
                             .infer = wrong_infer,
                             .gradient = wrong_gradient,
                             .reference = wrong_reference};

static int wrong_gradient(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    return bl_graph_emit(graph, &steep_grad, &node.attrs, (bl_value[]){node.in[0], d_out[0]}, 2, NULL, d_in, err);
}

static bl_value build_broken(bl_graph *g)
{
    bl_attrs attrs = {.act = BL_ACT_SILU};
    bl_value x = case_param(g, "x", BL_SHAPE2(3, 8)), out[BL_MAX_OUT];
    return bl_graph_emit(g, &broken, &attrs, &x, 1, NULL, out, &g->error) == BL_OK ? out[0] : BL_NO_VALUE;
}

static void test_a_wrong_gradient_is_found(void **state)
{
    const graph_case c = {"broken", build_broken, 0};
    bl_params *params = NULL;
    bl_graph *graph = case_graph(&c, BL_MODE_TRAIN, &params);
    double error = gradient_error(graph);
    assert_true(error > 100 * TOLERANCE);
    assert_true(error < 2e-3);
    bl_graph_free(graph);
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_gradient),
        cmocka_unit_test(test_fused_gradients),
        cmocka_unit_test(test_what_the_passes_leave),
        cmocka_unit_test(test_what_is_made_again),
        cmocka_unit_test(test_a_wrong_gradient_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
