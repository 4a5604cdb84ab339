/* Descriptive figures against published and closed-form ones. */
#include "near.h"

#include "stats/describe.h"

static const double sleep_d[] = {1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, .8, 4.6, 1.4};

static void the_trimmed_mean_cuts_both_ends(void **state)
{
    const double x[] = {1e9, 2, 3, NAN, 4, 5, -1e9, 6};
    double mean;
    assert_int_equal(bl_trimmed_mean(x, 8, 0.2, &mean, NULL), BL_OK);
    assert_near(mean, 4, 1e-14);
    assert_int_equal(bl_trimmed_mean(sleep_d, 10, 0, &mean, NULL), BL_OK);
    assert_near(mean, 1.58, 1e-14);
    assert_int_equal(bl_trimmed_mean(sleep_d, 10, 0.1, &mean, NULL), BL_OK);
    assert_near(mean, (15.8 - 4.6) / 8, 1e-14);
    assert_int_equal(bl_trimmed_mean(x, 0, 0.1, &mean, NULL), BL_OK);
    assert_near(mean, NAN, 0);
    assert_int_equal(bl_trimmed_mean(x, 8, 0.5, &mean, NULL), BL_ERR_USAGE);
}

static void bca_of_sleep(void **state)
{
    bl_interval i;
    assert_int_equal(bl_bca_mean(sleep_d, 10, 0.95, 50000, 1, &i, NULL), BL_OK);
    assert_near(i.estimate, 1.58, 1e-14);
    assert_near(i.low, 1.06, 0.03);
    assert_near(i.high, 2.66, 0.06);
    bl_interval again;
    assert_int_equal(bl_bca_mean(sleep_d, 10, 0.95, 50000, 1, &again, NULL), BL_OK);
    assert_near(again.low, i.low, 0);
}

static void bca_of_too_little_says_so(void **state)
{
    bl_interval i;
    assert_int_equal(bl_bca_mean((const double[]){2, 2, 2}, 3, 0.95, 1000, 1, &i, NULL), BL_OK);
    assert_false(i.has_interval);
    assert_near(i.estimate, 2, 0);
    assert_int_equal(bl_bca_mean(sleep_d, 1, 0.95, 1000, 1, &i, NULL), BL_OK);
    assert_false(i.has_interval);
    assert_int_equal(bl_bca_mean(sleep_d, 10, 1, 1000, 1, &i, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_bca_mean(sleep_d, 10, 0.95, 10, 1, &i, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_bca_mean((const double[]){1, INFINITY}, 2, 0.95, 1000, 1, &i, NULL), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trimmed_mean_cuts_both_ends),
        cmocka_unit_test(bca_of_sleep),
        cmocka_unit_test(bca_of_too_little_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
