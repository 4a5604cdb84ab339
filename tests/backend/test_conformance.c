/* The CPU backend against the ops' references in doubles: every op, forward and gradients, with each instruction set,
 * with and without the passes that fuse. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernels/common.h"
#include "cases.h"
#include "graph/exec.h"
#include "graph/op.h"
#include "graph/passes.h"

#define TOLERANCE 1e-4
/* Factors rounded to 8 bits are off by 2^-9 of themselves at most; what lies between a product and what is compared
 * makes more of it. */
#define ROUNDED_TOLERANCE 2e-2

static double tolerance = TOLERANCE, worst;

static bool seen[64]; /* the ops of bl_op_table that ran on the backend */

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static void note_ops(const bl_graph *graph)
{
    for (int i = 0; i < graph->n_nodes; i++)
        for (size_t k = 0; bl_op_table[k]; k++)
            seen[k] = seen[k] || bl_op_table[k] == graph->nodes[i].op;
}

static double error_of(const float *got, const double *expected, int64_t n)
{
    double *wide = calloc((size_t)n, sizeof *wide);
    assert_non_null(wide);
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)got[i];
    double error = relative_error(wide, expected, n);
    free(wide);
    return error;
}

static void check(const char *name, const char *what, const float *got, const double *expected, int64_t n)
{
    double error = error_of(got, expected, n);
    worst = fmax(worst, error);
    if (!(error < tolerance))
        fail_msg("%s, %s: %s is off by %g", bl_k_isa_name(bl_k_active()), name, what, error);
}

static void check_output(const char *name, const bl_exec *exec, const bl_graph *graph, bl_reference *reference,
                         const char *output)
{
    bl_error err = {0};
    bl_value v = bl_graph_find_value(graph, output);
    int64_t n = bl_shape_count(&graph->values[v].shape);
    float *data = calloc((size_t)n, sizeof *data);
    assert_non_null(data);
    must(bl_exec_read(exec, output, data, n, &err), &err);
    check(name, output, data, bl_reference_data(reference, v), n);
    free(data);
}

static void check_params(const char *name, const bl_graph *graph, bl_reference *reference, bl_params *params)
{
    for (int p = 0; p < bl_params_count(params); p++) {
        const bl_param *param = bl_params_at(params, p);
        bl_value gradient = case_grad(graph, p);
        if (gradient >= 0)
            check(name, param->name, bl_params_grad(params, p), bl_reference_data(reference, gradient), param->count);
        for (int v = 0; v < graph->n_values; v++)
            if (graph->values[v].kind == BL_VALUE_PARAM && graph->values[v].param == p)
                check(name, param->name, bl_params_value(params, p), bl_reference_data(reference, v), param->count);
    }
}

static void check_case(const graph_case *c, bl_mode mode, bool no_fuse, bl_precision precision)
{
    bl_error err = {0};
    bl_params *params = NULL;
    bl_graph *expected = case_graph(c, mode, &params), *graph = case_graph(c, mode, &params);
    bl_value loss = bl_graph_find_value(expected, "loss"), one = BL_NO_VALUE;
    if (mode == BL_MODE_TRAIN)
        must(bl_graph_differentiate(expected, &loss, &one, 1, &err), &err);
    bl_reference *reference = case_reference(expected);
    case_loss(expected, reference);

    bl_exec *exec = NULL;
    bl_exec_options options = {.n_threads = 2, .no_fuse = no_fuse, .precision = precision};
    must(bl_exec_new(&bl_backend_cpu, graph, &options, &exec, &err), &err);
    must(bl_exec_bind(exec, "labels", case_labels(expected), &err), &err);
    if (case_targets(expected))
        must(bl_exec_bind(exec, "targets", case_targets(expected), &err), &err);
    if (c->mixed) {
        must(bl_exec_bind(exec, "others", case_others(expected), &err), &err);
        must(bl_exec_bind(exec, "share", &case_share, &err), &err);
    }
    must(bl_exec_run(exec, &err), &err);
    note_ops(bl_exec_graph(exec));
    check_output(c->name, exec, expected, reference, "y");
    check_output(c->name, exec, expected, reference, "loss");
    check_params(c->name, expected, reference, params);
    bl_exec_free(exec);
    bl_reference_free(reference);
    bl_graph_free(expected);
    bl_params_free(params);
}

static void check_all(bl_k_isa isa)
{
    if (!bl_k_select(isa))
        return;
    for (int i = 0; i < n_graph_cases; i++) {
        check_case(&graph_cases[i], BL_MODE_TRAIN, true, BL_PRECISION_FLOAT32);
        check_case(&graph_cases[i], BL_MODE_TRAIN, false, BL_PRECISION_FLOAT32);
        check_case(&graph_cases[i], BL_MODE_EVAL, false, BL_PRECISION_FLOAT32);
    }
}

/* Rounding is seen, and does no more than it should. */
static void test_bfloat16(void **state)
{
    bool saw_rounding = false;
    tolerance = ROUNDED_TOLERANCE;
    for (int i = 0; i < n_graph_cases; i++) {
        worst = 0;
        check_case(&graph_cases[i], BL_MODE_TRAIN, false, BL_PRECISION_BFLOAT16_EMULATED);
        check_case(&graph_cases[i], BL_MODE_EVAL, false, BL_PRECISION_BFLOAT16_EMULATED);
        saw_rounding = saw_rounding || worst > TOLERANCE;
    }
    tolerance = TOLERANCE;
    assert_true(saw_rounding);
}

static void test_portable(void **state)
{
    check_all(BL_K_PORTABLE);
}

static void test_avx2(void **state)
{
    check_all(BL_K_AVX2);
}

static void test_avx512(void **state)
{
    check_all(BL_K_AVX512);
}

static void test_no_op_was_left_out(void **state)
{
    for (size_t k = 0; bl_op_table[k]; k++)
        if (!seen[k])
            fail_msg("no case runs %s on the backend", bl_op_table[k]->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bfloat16), cmocka_unit_test(test_portable),           cmocka_unit_test(test_avx2),
        cmocka_unit_test(test_avx512),   cmocka_unit_test(test_no_op_was_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
