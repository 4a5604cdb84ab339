/* Each library's product against the definition, with gaps between rows and turned factors; and the matrices that are
 * timed. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/products.h"
#include "base/attributes.h"
#include "timing/operands.h"

static void must(int code, const bl_error *err)
{
    if (code != BL_OK)
        fail_msg("%s", err->message);
}

static double value_of(const float *x, bool turned, int apart, int row, int column)
{
    return (double)(turned ? x[(size_t)column * (size_t)apart + (size_t)row]
                           : x[(size_t)row * (size_t)apart + (size_t)column]);
}

static void check(const bl_products *backend, const bl_operands_options *options)
{
    bl_error err = {0};
    bl_operands o;
    must(bl_operands_make(options, &o, &err), &err);
    for (size_t i = 0; i < o.n_products && i < 2; i++) {
        bl_dnnl_product *p = &o.products[i];
        float gap = p->c_apart > p->n ? p->c[p->n] : 0;
        must(backend->multiply(p, &err), &err);
        for (int row = 0; row < p->m; row++)
            for (int column = 0; column < p->n; column++) {
                double sum = 0, size = 0;
                for (int k = 0; k < p->k; k++) {
                    double term = value_of(p->a, p->turn_a, p->a_apart, row, k) *
                                  value_of(p->b, p->turn_b, p->b_apart, k, column);
                    sum += term;
                    size += fabs(term);
                }
                double got = (double)p->c[(size_t)row * (size_t)p->c_apart + (size_t)column];
                if (!(fabs(got - sum) <= 1e-5 * size))
                    fail_msg("%s: %g for %g at (%d, %d)", backend->name, got, sum, row, column);
            }
        if (p->c_apart > p->n)
            assert_true(p->c[p->n] == gap); /* what lies between rows is nobody's */
    }
    bl_operands_clear(&o);
}

static void test_each_library(void **state)
{
    static const char *const names[] = {"onednn", "openblas", "plain"};
    int usable = 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        const bl_products *backend = bl_products_find(names[i]);
        bl_error err = {0};
        assert_non_null(backend);
        if (backend->open(2, &err) != BL_OK) {
            assert_string_equal(names[i], "openblas");
            assert_int_equal(err.code, BL_ERR_ENV);
            continue;
        }
        usable++;
        assert_true(strlen(backend->describe()) > 0);
        check(backend, &(bl_operands_options){.m = 17, .n = 33, .k = 9});
        check(backend, &(bl_operands_options){.m = 5, .n = 3, .k = 40, .apart = 64, .turn_a = true});
        check(backend, &(bl_operands_options){.m = 8, .n = 70, .k = 16, .turn_b = true, .pages = BL_PAGES_SMALL});
    }
    assert_true(usable >= 2);
    assert_null(bl_products_find("abacus"));
}

static void test_operands(void **state)
{
    bl_error err = {0};
    bl_operands warm, cold;
    bl_operands_options options = {.m = 256, .n = 256, .k = 256, .apart = 300};
    must(bl_operands_make(&options, &warm, &err), &err);
    assert_int_equal(warm.n_products, 1);
    assert_int_equal(warm.products[0].a_apart, 300);
    size_t zeros = 0;
    double sum = 0;
    for (size_t i = 0; i < (size_t)256 * 300; i++) {
        zeros += warm.products[0].a[i] == 0;
        sum += (double)warm.products[0].a[i];
    }
    assert_true(zeros < 10);
    assert_true(fabs(sum / (256 * 300)) < 0.02);
    bl_operands_clear(&warm);
    options.cold = true;
    options.m = options.n = options.k = 2048;
    options.apart = 0;
    must(bl_operands_make(&options, &cold, &err), &err);
    assert_true(cold.n_products >= 10 && cold.n_products * 3 * 2048 * 2048 * sizeof(float) >= BL_COLD_B);
    assert_true(cold.products[0].a != cold.products[1].a);
    assert_true(memcmp(cold.products[0].a, cold.products[1].a, 4096) != 0);
    bl_operands_clear(&cold);
    options.m = options.k = 100000;
    assert_int_equal(bl_operands_make(&options, &cold, &err), BL_ERR_USAGE);
    bl_operands_clear(&cold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_library), cmocka_unit_test(test_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
