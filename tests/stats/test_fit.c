/* Lines and curves through points: closed forms, outliers, monotony. */
#include "near.h"

#include "stats/fit.h"

static void theil_sen_ignores_wild_points(void **state)
{
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, y[10];
    for (int i = 0; i < 10; i++)
        y[i] = 3 + 2 * x[i];
    y[1] = 1000;
    y[9] = -500;
    bl_line line;
    assert_int_equal(bl_fit_theil_sen(x, y, 10, &line, NULL), BL_OK);
    assert_near(line.slope, 2, 1e-12);
    assert_near(line.intercept, 3, 1e-12);
}

static void a_line_wants_two_different_places(void **state)
{
    const double x[] = {4, 4, 4}, y[] = {1, 2, 3}, bad[] = {1, NAN, 3};
    bl_line line;
    assert_int_equal(bl_fit_theil_sen(x, y, 3, &line, NULL), BL_OK);
    assert_near(line.slope, NAN, 0);
    assert_int_equal(bl_fit_theil_sen(x, bad, 3, &line, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_fit_theil_sen(x, y, BL_FIT_MAX_N + 1, &line, NULL), BL_ERR_USAGE);
    bl_step_time_fit fit;
    assert_int_equal(bl_fit_step_time(x, y, 3, &fit, NULL), BL_OK);
    assert_near(fit.fixed_s, NAN, 0);
}

static void step_times_give_back_what_made_them(void **state)
{
    const double batch[] = {1, 2, 4, 8, 16, 32, 64, 127, 128, 129, 256};
    enum { N = 11 };
    double step[N];
    for (int i = 0; i < N; i++)
        step[i] = 0.05 + 0.002 * batch[i];
    bl_step_time_fit fit;
    assert_int_equal(bl_fit_step_time(batch, step, N, &fit, NULL), BL_OK);
    assert_near(fit.fixed_s, 0.05, 1e-10);
    assert_near(fit.per_sample_s, 0.002, 1e-12);
    assert_near(fit.knee, 25, 1e-8);
    assert_near(fit.worst_relative, 0, 1e-10);
    step[5] *= 3; /* one size that suffers */
    assert_int_equal(bl_fit_step_time(batch, step, N, &fit, NULL), BL_OK);
    assert_near(fit.fixed_s, 0.05, 1e-3);
    assert_near(fit.per_sample_s, 0.002, 1e-4);
    assert_true(fit.worst_relative > 0.6);
}

static void neither_part_of_a_step_is_negative(void **state)
{
    const double batch[] = {1, 2, 3, 4}, falling[] = {4, 3.5, 3, 2.5}, steep[] = {1, 3, 5, 7};
    bl_step_time_fit fit;
    assert_int_equal(bl_fit_step_time(batch, falling, 4, &fit, NULL), BL_OK);
    assert_near(fit.per_sample_s, 0, 0);
    assert_near(fit.fixed_s, 3.25, 1e-12);
    assert_near(fit.knee, NAN, 0);
    assert_int_equal(bl_fit_step_time(batch, steep, 4, &fit, NULL), BL_OK);
    assert_near(fit.fixed_s, 0, 0);
    assert_near(fit.per_sample_s, (1.5 + 5.0 / 3) / 2, 1e-12);
    assert_int_equal(bl_fit_step_time(batch, (const double[]){1, 2, 0, 4}, 4, &fit, NULL), BL_ERR_USAGE);
}

static void the_curve_is_monotone_where_the_points_are(void **state)
{
    const double x[] = {0, 1, 2, 3, 4, 10}, y[] = {0, 0, 0.1, 5, 5.1, 5.1};
    double slopes[6];
    assert_int_equal(bl_pchip_slopes(x, y, 6, slopes, NULL), BL_OK);
    for (int i = 0; i < 6; i++)
        assert_near(bl_pchip_value(x, y, slopes, 6, x[i]), y[i], 1e-14);
    double before = -1;
    for (double at = 0; at <= 10; at += 0.01) {
        double value = bl_pchip_value(x, y, slopes, 6, at);
        assert_true(value >= before - 1e-12);
        before = value;
    }
    assert_near(bl_pchip_value(x, y, slopes, 6, -0.01), NAN, 0);
    assert_near(bl_pchip_value(x, y, slopes, 6, 10.01), NAN, 0);
    assert_near(bl_pchip_value(x, y, slopes, 6, NAN), NAN, 0);
}

static void a_curve_through_a_line_is_the_line(void **state)
{
    const double x[] = {1, 2, 5, 9}, y[] = {3, 5, 11, 19};
    double slopes[4];
    assert_int_equal(bl_pchip_slopes(x, y, 4, slopes, NULL), BL_OK);
    for (double at = 1; at <= 9; at += 0.125)
        assert_near(bl_pchip_value(x, y, slopes, 4, at), 1 + 2 * at, 1e-13);
    assert_int_equal(bl_pchip_slopes(x, y, 2, slopes, NULL), BL_OK);
    assert_near(bl_pchip_value(x, y, slopes, 2, 1.5), 4, 1e-14);
    assert_int_equal(bl_pchip_slopes(x, y, 1, slopes, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_pchip_slopes(y, x, 4, slopes, NULL), BL_OK);
    assert_int_equal(bl_pchip_slopes((const double[]){1, 1, 2}, y, 3, slopes, NULL), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theil_sen_ignores_wild_points),
        cmocka_unit_test(a_line_wants_two_different_places),
        cmocka_unit_test(step_times_give_back_what_made_them),
        cmocka_unit_test(neither_part_of_a_step_is_negative),
        cmocka_unit_test(the_curve_is_monotone_where_the_points_are),
        cmocka_unit_test(a_curve_through_a_line_is_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
