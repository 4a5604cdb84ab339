/* Estimates and intervals against published figures. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/interval.h"
#include "stats/rng.h"
#include "stats/signed_rank.h"

/* Cushny & Peebles's extra hours of sleep (R: datasets::sleep), group 2 - group 1. */
static const double sleep_d[] = {1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, .8, 4.6, 1.4};
/* Hollander & Wolfe's depression scale, first minus second visit (R: ?wilcox.test). */
static const double depression[] = {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                                    1.88 - 1.29,  1.55 - 1.06,  3.06 - 3.14,  1.30 - 1.29};

static void hodges_lehmann_of_sleep(void **state)
{
    (void)state;
    bl_interval i;
    assert_int_equal(bl_hodges_lehmann(sleep_d, 10, 0.95, &i, NULL), BL_OK);
    assert_near(i.estimate, 1.3, 1e-12);
    assert_near(i.low, 0.9, 1e-12);
    assert_near(i.high, 2.7, 1e-12);
    assert_near(i.level, 0.951171875, 1e-12);
    assert_true(i.has_interval && i.reaches_level && i.exact);
    assert_int_equal(i.n, 10);
}

static void hodges_lehmann_of_depression(void **state)
{
    (void)state;
    bl_interval i;
    assert_int_equal(bl_hodges_lehmann(depression, 9, 0.95, &i, NULL), BL_OK);
    assert_near(i.estimate, 0.46, 1e-9);
    assert_near(i.low, 0.010, 1e-9);
    assert_near(i.high, 0.786, 1e-9);
    assert_near(i.level, 1 - 2 * 10 / 512.0, 1e-12);
}

static void t_interval_of_sleep(void **state)
{
    (void)state;
    bl_interval i;
    assert_int_equal(bl_t_interval(sleep_d, 10, 0.95, &i, NULL), BL_OK);
    assert_near(i.estimate, 1.58, 1e-12);
    assert_near(i.low, 0.700114, 1e-6);
    assert_near(i.high, 2.459886, 1e-6);
}

static void too_few_values_give_the_widest_interval_there_is(void **state)
{
    (void)state;
    const double x[] = {3, 1, 5, 2, 4};
    const double levels[] = {0, 0, 0.5, 0.75, 0.875, 0.9375};
    for (size_t n = 2; n <= 5; n++) {
        bl_interval i;
        assert_int_equal(bl_hodges_lehmann(x, n, 0.95, &i, NULL), BL_OK);
        assert_true(i.has_interval);
        assert_false(i.reaches_level);
        assert_near(i.level, levels[n], 1e-12);
        assert_near(i.low, 1, 0); /* smallest and largest value */
        assert_near(i.high, n == 2 ? 3 : 5, 0);
    }
    bl_interval i;
    /* Asked for just what n = 5 attains, it is reached. */
    assert_int_equal(bl_hodges_lehmann(x, 5, 0.9375, &i, NULL), BL_OK);
    assert_true(i.reaches_level);
    assert_int_equal(bl_hodges_lehmann(x, 1, 0.95, &i, NULL), BL_OK);
    assert_false(i.has_interval);
    assert_near(i.estimate, 3, 0);
    assert_near(i.low, NAN, 0);
    assert_int_equal(bl_hodges_lehmann(x, 0, 0.95, &i, NULL), BL_OK);
    assert_near(i.estimate, NAN, 0);
    assert_int_equal(i.n, 0);
    assert_int_equal(bl_signed_rank_min_n(0.95), 6);
    assert_int_equal(bl_signed_rank_min_n(0.9375), 5);
    assert_int_equal(bl_signed_rank_min_n(0.99), 8);
}

static void missing_values_are_left_out(void **state)
{
    (void)state;
    double x[12];
    memcpy(x + 1, sleep_d, sizeof(sleep_d));
    x[0] = NAN;
    x[11] = NAN;
    bl_interval i;
    assert_int_equal(bl_hodges_lehmann(x, 12, 0.95, &i, NULL), BL_OK);
    assert_int_equal(i.n, 10);
    assert_near(i.high, 2.7, 1e-12);
    assert_int_equal(bl_t_interval(x, 12, 0.95, &i, NULL), BL_OK);
    assert_int_equal(i.n, 10);
    assert_near(i.low, 0.700114, 1e-6);
}

static void infinite_values_and_bad_levels_are_refused(void **state)
{
    (void)state;
    const double x[] = {1, INFINITY, 2};
    bl_interval i;
    bl_error err = {0};
    assert_int_equal(bl_hodges_lehmann(x, 3, 0.95, &i, &err), BL_ERR_USAGE);
    assert_string_equal(err.message, "value 1 is infinite");
    assert_int_equal(bl_t_interval(x, 3, 0.95, &i, NULL), BL_ERR_USAGE);
    const double bad[] = {0, 1, -1, 95, NAN};
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(bl_hodges_lehmann(x, 1, bad[k], &i, NULL), BL_ERR_USAGE);
    double *many = bl_calloc(BL_STATS_MAX_N + 1, sizeof(*many));
    assert_non_null(many);
    assert_int_equal(bl_hodges_lehmann(many, BL_STATS_MAX_N + 1, 0.95, &i, NULL), BL_ERR_USAGE);
    free(many);
}

/* The attained level by going through all 2^n sign patterns. */
static double level_by_counting(size_t n, size_t k)
{
    size_t below = 0;
    for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
        size_t v = 0;
        for (size_t i = 0; i < n; i++)
            v += (signs >> i & 1) ? i + 1 : 0;
        below += v <= k - 1;
    }
    return 1 - 2 * (double)below / (double)((size_t)1 << n);
}

static void levels_agree_with_counting(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 14; n++) {
        for (int step = 0; step < 3; step++) {
            double wanted = step == 0 ? 0.8 : step == 1 ? 0.95 : 0.99;
            double level = 0;
            size_t k = bl_signed_rank_k(n, wanted, &level);
            assert_true(k >= 1);
            assert_near(level, level_by_counting(n, k), 1e-12);
            if (level >= wanted) /* the next k would fall short */
                assert_true(level_by_counting(n, k + 1) < wanted);
            else
                assert_int_equal(k, 1);
        }
    }
}

/* R: qsignrank(0.025, c(20, 60)) = 53, 649; the interval's k is the same number. */
static void known_quantiles(void **state)
{
    (void)state;
    double level = 0;
    assert_int_equal(bl_signed_rank_k(20, 0.95, &level), 53);
    assert_int_equal(bl_signed_rank_k(60, 0.95, &level), 649);
}

static void approximation_joins_the_exact_distribution(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 5, 0);
    double x[BL_SIGNED_RANK_EXACT_MAX + 1];
    for (size_t i = 0; i < BL_ARRAY_LEN(x); i++)
        x[i] = bl_rng_normal(&rng);
    bl_interval exact, normal;
    assert_int_equal(bl_hodges_lehmann(x, BL_SIGNED_RANK_EXACT_MAX, 0.95, &exact, NULL), BL_OK);
    assert_int_equal(bl_hodges_lehmann(x, BL_SIGNED_RANK_EXACT_MAX + 1, 0.95, &normal, NULL), BL_OK);
    assert_true(exact.exact && exact.reaches_level);
    assert_true(!normal.exact && normal.reaches_level);
    assert_near(normal.level, 0.95, 0.002);
    assert_near(normal.high - normal.low, exact.high - exact.low, 0.05);
}

static void moving_and_scaling_the_data_moves_and_scales_the_interval(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 6, 0);
    for (size_t n = 6; n < 40; n += 7) {
        double x[40], y[40];
        for (size_t i = 0; i < n; i++) {
            x[i] = bl_rng_normal(&rng);
            y[i] = 3 - 2 * x[i];
        }
        bl_interval a, b;
        assert_int_equal(bl_hodges_lehmann(x, n, 0.9, &a, NULL), BL_OK);
        assert_int_equal(bl_hodges_lehmann(y, n, 0.9, &b, NULL), BL_OK);
        assert_near(b.estimate, 3 - 2 * a.estimate, 1e-12);
        assert_near(b.low, 3 - 2 * a.high, 1e-12);
        assert_near(b.high, 3 - 2 * a.low, 1e-12);
    }
}

static void reciprocal_and_exp(void **state)
{
    (void)state;
    bl_interval i = {.estimate = 0.5, .low = 0.25, .high = 1, .level = 0.95, .n = 7, .has_interval = true};
    bl_interval r = bl_interval_reciprocal(&i);
    assert_near(r.estimate, 2, 0);
    assert_near(r.low, 1, 0);
    assert_near(r.high, 4, 0);
    assert_int_equal(r.n, 7);
    bl_interval e = bl_interval_exp(&i);
    assert_near(e.low, exp(0.25), 1e-15);
    assert_near(e.high, exp(1), 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hodges_lehmann_of_sleep),
        cmocka_unit_test(hodges_lehmann_of_depression),
        cmocka_unit_test(t_interval_of_sleep),
        cmocka_unit_test(too_few_values_give_the_widest_interval_there_is),
        cmocka_unit_test(missing_values_are_left_out),
        cmocka_unit_test(infinite_values_and_bad_levels_are_refused),
        cmocka_unit_test(levels_agree_with_counting),
        cmocka_unit_test(known_quantiles),
        cmocka_unit_test(approximation_joins_the_exact_distribution),
        cmocka_unit_test(moving_and_scaling_the_data_moves_and_scales_the_interval),
        cmocka_unit_test(reciprocal_and_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
