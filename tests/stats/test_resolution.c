/* What the resolution promises is what the shipped rule then finds. */
#include "near.h"

#include "stats/resolution.h"
#include "stats/rng.h"

enum { SEEN = 200, EXPERIMENTS = 400 };
#define SD 0.007

static void draw(bl_rng *rng, double *d, size_t n, double effect)
{
    for (size_t i = 0; i < n; i++)
        d[i] = effect + SD * bl_rng_normal(rng);
}

static void the_difference_is_found_as_often_as_promised(void **state)
{
    bl_rng rng;
    bl_rng_init(&rng, 3, 0);
    double d[SEEN];
    draw(&rng, d, SEEN, 0.1); /* what the two labels differ by is taken out */
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_resolution r[BL_LOOKS_MAX];
    assert_int_equal(bl_resolution_compute(d, SEEN, &rule, 0.8, 1, r, NULL), BL_OK);
    for (size_t k = 0; k < rule.n_looks; k++) {
        size_t n = rule.looks[k];
        int found = 0, equal = 0;
        assert_int_equal(r[k].blocks, n);
        for (int i = 0; i < EXPERIMENTS; i++) {
            bl_interval interval;
            draw(&rng, d, n, log1p(r[k].difference));
            assert_int_equal(bl_hodges_lehmann(d, n, 0.99, &interval, NULL), BL_OK);
            found += interval.low > 0;
            draw(&rng, d, n, 0);
            assert_int_equal(bl_hodges_lehmann(d, n, 0.98, &interval, NULL), BL_OK);
            equal += fmax(interval.high, -interval.low) < log1p(r[k].margin);
        }
        /* Three standard errors of 400 experiments are 0.06, and the spread of 200 values is known to 5 %. */
        assert_near((double)found / EXPERIMENTS, 0.8, 0.12);
        assert_near((double)equal / EXPERIMENTS, 0.8, 0.12);
        if (k > 0)
            assert_true(r[k].difference < r[k - 1].difference && r[k].margin < r[k - 1].margin);
    }
}

static void too_little_resolves_nothing(void **state)
{
    const double d[] = {0.01, -0.01, NAN, 0.02, 0.01};
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_resolution r[BL_LOOKS_MAX];
    assert_int_equal(bl_resolution_compute(d, 5, &rule, 0.8, 1, r, NULL), BL_OK);
    assert_near(r[4].difference, NAN, 0);
    assert_int_equal(bl_resolution_compute(d, 0, &rule, 0.8, 1, r, NULL), BL_OK);
    assert_near(r[0].margin, NAN, 0);
    assert_int_equal(bl_resolution_compute(d, 5, &rule, 1, 1, r, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_resolution_compute((const double[]){1, INFINITY}, 2, &rule, 0.8, 1, r, NULL), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_difference_is_found_as_often_as_promised),
        cmocka_unit_test(too_little_resolves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
