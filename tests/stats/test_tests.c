/* Distribution functions, tests and corrections against published and closed-form figures. */
#include "near.h"

#include "stats/dist.h"
#include "stats/tests.h"

static const double sleep_1[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double sleep_2[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
static const double sleep_d[] = {1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, .8, 4.6, 1.4};
static const double depression[] = {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                                    1.88 - 1.29,  1.55 - 1.06,  3.06 - 3.14,  1.30 - 1.29};

static void distributions_have_their_closed_forms(void **state)
{
    (void)state;
    assert_near(bl_normal_quantile(0.975), 1.959963984540054, 1e-14);
    assert_near(bl_normal_quantile(0.5), 0, 1e-15);
    assert_near(bl_normal_quantile(1e-12), -7.034483825301131, 1e-12);
    for (double t = -8; t <= 8; t += 0.25) {
        /* one and two degrees of freedom have elementary distribution functions */
        assert_near(bl_t_cdf(t, 1), 0.5 + atan(t) / M_PI, 1e-14);
        assert_near(bl_t_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-14);
        assert_near(bl_t_cdf(t, 1e12), bl_normal_cdf(t), 1e-14);
        for (double df = 1; df < 300; df *= 1.7) {
            assert_near(bl_t_cdf(t, df) + bl_t_sf(t, df), 1, 1e-14);
            if (fabs(t) > 0.1)
                assert_near(bl_t_quantile(bl_t_cdf(-fabs(t), df), df), -fabs(t), 1e-11);
        }
    }
    assert_near(bl_t_quantile(0.975, 9), 2.262157162798205, 1e-14);
    assert_near(bl_t_quantile(0.975, 1), tan(0.475 * M_PI), 1e-13);
    for (double x = 0; x <= 1; x += 0.125) {
        assert_near(bl_beta_inc(1, 1, x), x, 1e-14);
        assert_near(bl_beta_inc(2, 3, x), x * x * (6 - 8 * x + 3 * x * x), 1e-14);
    }
}

static void chi_square_and_signed_rank_have_their_closed_forms(void **state)
{
    (void)state;
    for (double x = 0; x < 60; x += 0.5) {
        assert_near_relative(bl_chi2_sf(x, 2), exp(-x / 2), 1e-12);
        assert_near_relative(bl_chi2_sf(x, 1), erfc(sqrt(x / 2)), 1e-9);
        assert_near_relative(bl_chi2_sf(x, 4), exp(-x / 2) * (1 + x / 2), 1e-12);
    }
    assert_near(bl_chi2_sf(-1, 3), 1, 0);
    assert_near(bl_chi2_sf(1, 0), NAN, 0);
    assert_near(bl_gamma_q(1, INFINITY), 0, 0);
    assert_near(bl_gamma_q(1, -1), NAN, 0);
    assert_near(1 - bl_signed_rank_cdf(39, 9), 0.01953125, 1e-14);
    assert_near(bl_signed_rank_cdf(0, 5), 1.0 / 32, 1e-15);
    assert_near(bl_signed_rank_cdf(-1, 5), 0, 0);
    assert_near(bl_signed_rank_cdf(15, 5), 1, 0);
    assert_near(bl_signed_rank_cdf(3, 0), NAN, 0);
    for (double v = 600; v < 1300; v += 50) /* the approximation takes over without a jump */
        assert_near(bl_signed_rank_cdf(v + v / 30, 61), bl_signed_rank_cdf(v, 60), 0.01);
}

/* 1, 2, 3, 4: r_1 = 1.25 / 5, so Q = 4 * 6 * r_1^2 / 3 = 0.5. */
static void ljung_box_by_hand(void **state)
{
    (void)state;
    bl_test t;
    assert_int_equal(bl_test_ljung_box((const double[]){1, 2, NAN, 3, 4}, 5, 1, &t, NULL), BL_OK);
    assert_near(t.statistic, 0.5, 1e-14);
    assert_near(t.p, erfc(0.5), 1e-12);
    assert_int_equal(bl_test_ljung_box(sleep_d, 10, 10, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(bl_test_ljung_box((const double[]){2, 2, 2}, 3, 1, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(bl_test_ljung_box(sleep_d, 10, 0, &t, NULL), BL_ERR_USAGE);
}

static void arguments_out_of_range_give_nan(void **state)
{
    (void)state;
    assert_near(bl_normal_quantile(0), NAN, 0);
    assert_near(bl_normal_quantile(1.5), NAN, 0);
    assert_near(bl_t_quantile(0.5, 0), NAN, 0);
    assert_near(bl_t_quantile(NAN, 3), NAN, 0);
    assert_near(bl_t_cdf(NAN, 3), NAN, 0);
    assert_near(bl_t_sf(1, -1), NAN, 0);
    assert_near(bl_beta_inc(1, 1, 1.1), NAN, 0);
    assert_near(bl_t_sf(INFINITY, 3), 0, 0);
    assert_near(bl_t_sf(-INFINITY, 3), 1, 0);
}

static void paired_t_of_sleep(void **state)
{
    (void)state;
    bl_test t;
    assert_int_equal(bl_test_t(sleep_d, 10, 0, &t, NULL), BL_OK);
    assert_near(t.statistic, 4.062127683, 1e-9);
    assert_near(t.p, 0.00283289, 1e-8);
    assert_near(t.df, 9, 0);
    assert_near(t.p_greater + t.p_less, 1, 1e-14);
}

static void welch_of_sleep(void **state)
{
    (void)state;
    bl_test t;
    assert_int_equal(bl_test_welch(sleep_2, 10, sleep_1, 10, &t, NULL), BL_OK);
    assert_near(t.statistic, 1.860813, 1e-6);
    assert_near(t.p, 0.0793941, 1e-7);
    assert_near(t.df, 17.776474, 1e-5);
}

static void tost_of_sleep(void **state)
{
    (void)state;
    bl_tost t;
    assert_int_equal(bl_test_tost(sleep_d, 10, 0, 3, &t, NULL), BL_OK);
    assert_near(t.t_low, 4.0621, 1e-4);
    assert_near(t.t_high, -3.6508, 1e-4);
    assert_near(t.p, 0.00265557, 1e-8);
    assert_int_equal(bl_test_tost(sleep_d, 10, 3, 0, &t, NULL), BL_ERR_USAGE);
}

static void signed_rank_of_depression(void **state)
{
    (void)state;
    bl_test t;
    assert_int_equal(bl_test_signed_rank(depression, 9, 0, &t, NULL), BL_OK);
    assert_near(t.statistic, 40, 0);
    assert_near(t.p_greater, 0.01953125, 1e-12);
    assert_near(t.p, 0.0390625, 1e-12);
}

/* Ties share ranks and zeros go: p by going through all sign patterns of the ranks that remain. */
static void signed_rank_with_ties_and_zeros(void **state)
{
    (void)state;
    const double x[] = {0, 2, -2, 1, 3, 3, 3, -1, 0};
    const double ranks[] = {3.5, 3.5, 1.5, 6, 6, 6, 1.5};
    bl_test t;
    assert_int_equal(bl_test_signed_rank(x, 9, 0, &t, NULL), BL_OK);
    assert_int_equal(t.n, 7);
    assert_near(t.statistic, 3.5 + 1.5 + 18, 0);
    int reached = 0;
    for (int signs = 0; signs < 128; signs++) {
        double v = 0;
        for (int i = 0; i < 7; i++)
            v += (signs >> i & 1) ? ranks[i] : 0;
        reached += v >= t.statistic;
    }
    assert_near(t.p_greater, reached / 128.0, 1e-14);
}

static void tests_of_too_little_say_nan(void **state)
{
    (void)state;
    const double same[] = {2, 2, 2, NAN};
    bl_test t;
    assert_int_equal(bl_test_t(same, 4, 0, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(t.n, 3);
    assert_int_equal(bl_test_t(same, 1, 0, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(bl_test_welch(same, 4, same, 1, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(bl_test_signed_rank(same, 4, 2, &t, NULL), BL_OK);
    assert_near(t.p, NAN, 0);
    assert_int_equal(t.n, 0);
    bl_tost tost;
    assert_int_equal(bl_test_tost(same, 1, -1, 1, &tost, NULL), BL_OK);
    assert_near(tost.p, NAN, 0);
}

static void holm_and_benjamini_hochberg(void **state)
{
    (void)state;
    const double p[] = {.01, .04, .03, .005};
    const double holm[] = {.03, .06, .06, .02};
    const double bh[] = {.02, .04, .04, .02};
    double out[4];
    assert_int_equal(bl_adjust_holm(p, 4, out, NULL), BL_OK);
    for (int i = 0; i < 4; i++)
        assert_near(out[i], holm[i], 1e-15);
    assert_int_equal(bl_adjust_benjamini_hochberg(p, 4, out, NULL), BL_OK);
    for (int i = 0; i < 4; i++)
        assert_near(out[i], bh[i], 1e-15);
}

static void adjustments_skip_missing_and_refuse_nonsense(void **state)
{
    (void)state;
    double p[] = {.01, NAN, .04, .03, .005, .9, 1};
    double out[7];
    assert_int_equal(bl_adjust_holm(p, 7, out, NULL), BL_OK);
    assert_near(out[1], NAN, 0);
    assert_near(out[4], 6 * .005, 1e-15);
    assert_near(out[5], 1, 0);
    assert_int_equal(bl_adjust_holm(p, 7, p, NULL), BL_OK); /* in place */
    for (int i = 0; i < 7; i++)
        assert_near(p[i], out[i], 0);
    const double bad[] = {.5, 1.5};
    assert_int_equal(bl_adjust_holm(bad, 2, out, NULL), BL_ERR_USAGE);
    const double negative[] = {-0.1};
    assert_int_equal(bl_adjust_benjamini_hochberg(negative, 1, out, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_adjust_holm(bad, 0, out, NULL), BL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_have_their_closed_forms),
        cmocka_unit_test(chi_square_and_signed_rank_have_their_closed_forms),
        cmocka_unit_test(ljung_box_by_hand),
        cmocka_unit_test(arguments_out_of_range_give_nan),
        cmocka_unit_test(paired_t_of_sleep),
        cmocka_unit_test(welch_of_sleep),
        cmocka_unit_test(tost_of_sleep),
        cmocka_unit_test(signed_rank_of_depression),
        cmocka_unit_test(signed_rank_with_ties_and_zeros),
        cmocka_unit_test(tests_of_too_little_say_nan),
        cmocka_unit_test(holm_and_benjamini_hochberg),
        cmocka_unit_test(adjustments_skip_missing_and_refuse_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
