#include "testing.h"

#include <math.h>

#include "plan/rates.h"

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

static void sgd_is_linear_and_then_flat(void **state)
{
    /* e(B) = e_max / (1 + Bc / B) with e_max 1 and Bc 100 */
    const double sizes[] = {1, 10, 100, 1000};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            assert_close(bl_rate_centre(BL_RATE_SGD, 1 / (1 + 100 / sizes[i]), sizes[i], sizes[k], 100),
                         1 / (1 + 100 / sizes[k]));
    assert_close(bl_rate_centre(BL_RATE_SGD, 0.1, 32, 64, INFINITY), 0.2);
    assert_close(bl_rate_centre(BL_RATE_SGD, 0.1, 32, 64, 0), 0.1);
    assert_true(bl_rate_rule_holds(BL_RATE_SGD, 1e6, 100));
}

static void adam_goes_with_the_root(void **state)
{
    assert_close(bl_rate_centre(BL_RATE_ADAM, 0.001, 32, 128, 1000), 0.002);
    assert_true(bl_rate_rule_holds(BL_RATE_ADAM, 128, 1000));
    assert_false(bl_rate_rule_holds(BL_RATE_ADAM, 1000, 1000));
    assert_close(bl_beta_centre(0.9, 32, 64), 0.8);
    assert_close(bl_beta_centre(0.999, 32, 8), 1 - 0.001 / 4);
    assert_true(bl_beta_centre(0.9, 32, 1024) == 0);
}

static void grids_go_by_half_octaves(void **state)
{
    double three[3], four[4], one[1];
    bl_rate_grid(0.1, 3, three);
    assert_close(three[0], 0.1 / sqrt(2));
    assert_close(three[1], 0.1);
    assert_close(three[2], 0.1 * sqrt(2));
    bl_rate_grid(0.1, 4, four);
    assert_close(four[1], 0.1);
    assert_close(four[3], 0.2);
    bl_rate_grid(0.1, 1, one);
    assert_close(one[0], 0.1);
    bl_rate_grid(0.1, 0, one);
}

static void names_are_those_of_optimizers(void **state)
{
    bl_rate_rule rule;
    assert_true(bl_rate_rule_from_name("sgd", &rule) && rule == BL_RATE_SGD);
    assert_true(bl_rate_rule_from_name("adam", &rule) && rule == BL_RATE_ADAM);
    assert_true(bl_rate_rule_from_name("adamw", &rule) && rule == BL_RATE_ADAM);
    assert_false(bl_rate_rule_from_name("SGD", &rule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_is_linear_and_then_flat),
        cmocka_unit_test(adam_goes_with_the_root),
        cmocka_unit_test(grids_go_by_half_octaves),
        cmocka_unit_test(names_are_those_of_optimizers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
