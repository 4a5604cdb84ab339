/* What the shipped estimators do under noise that machines really make: error rates and coverage, by simulation
 * with fixed seeds. Two cases, shuffled blocks; a trial's figure is its true seconds per sample times the noise of
 * its moment. The Monte-Carlo error at 6000 repetitions is below 0.006 (two standard errors of a rate of 0.05). */
#include "near.h"
#include "noise.h"

#include <stdbool.h>
#include <stdio.h>

#include "stats/contrast.h"
#include "stats/neighbours.h"
#include "stats/tests.h"

enum { REPETITIONS = 6000, BLOCKS_MAX = 20 };
#define MARGIN      0.01
#define LEVEL       0.95
#define MONTE_CARLO 0.01

typedef struct rates {
    double covered, non_zero, differ, no_difference, width;
} rates;

static rates simulate(scenario s, size_t n_blocks, double effect)
{
    bl_rng rng;
    bl_rng_init(&rng, 20240517, (uint64_t)s * 1000 + n_blocks);
    rates r = {0};
    for (int i = 0; i < REPETITIONS; i++) {
        double y[2 * BLOCKS_MAX];
        draw_experiment(s, &rng, 2, n_blocks, (const double[]){0, effect}, y);
        bl_contrast c;
        assert_int_equal(bl_contrast_pair(y, y + n_blocks, n_blocks, LEVEL, &c, NULL), BL_OK);
        bl_claim claim = bl_claim_from_interval(&c.log_ratio, MARGIN);
        r.covered += c.log_ratio.low <= effect && effect <= c.log_ratio.high;
        r.non_zero += c.log_ratio.low > 0 || c.log_ratio.high < 0;
        r.differ += claim == BL_CLAIM_DIFFER;
        r.no_difference += claim == BL_CLAIM_NO_DIFFERENCE || claim == BL_CLAIM_SMALL;
        r.width += c.log_ratio.high - c.log_ratio.low;
    }
    r.covered /= REPETITIONS;
    r.non_zero /= REPETITIONS;
    r.differ /= REPETITIONS;
    r.no_difference /= REPETITIONS;
    r.width /= REPETITIONS;
    return r;
}

static void the_same_case_twice_is_rarely_called_different(void **state)
{
    for (int s = 0; s < N_SCENARIOS; s++) {
        rates r = simulate((scenario)s, 10, 0);
        print_message("  %-18s non-zero %.4f, coverage %.4f, width %.2f %%\n", scenario_names[s], r.non_zero, r.covered,
                      100 * r.width);
        assert_true(r.non_zero <= 0.05 + MONTE_CARLO);
        assert_true(r.covered >= 0.94 - MONTE_CARLO);
        assert_true(r.differ <= 0.025 + MONTE_CARLO);
    }
}

static void an_effect_at_the_margin_is_rarely_misjudged(void **state)
{
    for (int s = 0; s < N_SCENARIOS; s++) {
        rates r = simulate((scenario)s, 10, log1p(MARGIN));
        print_message("  %-18s no difference %.4f, different %.4f\n", scenario_names[s], r.no_difference, r.differ);
        assert_true(r.no_difference <= 0.05 + MONTE_CARLO);
        assert_true(r.differ <= 0.025 + MONTE_CARLO);
        assert_true(r.covered >= 0.94 - MONTE_CARLO);
    }
}

static void five_blocks_carry_the_level_that_is_printed(void **state)
{
    for (int s = 0; s < N_SCENARIOS; s++) {
        rates r = simulate((scenario)s, 5, 0.003);
        print_message("  %-18s coverage %.4f of 0.9375\n", scenario_names[s], r.covered);
        assert_true(fabs(r.covered - 0.9375) <= MONTE_CARLO + 0.002);
    }
}

static void twenty_blocks_find_what_is_there(void **state)
{
    rates none = simulate(IID, 20, 0), half = simulate(IID, 20, 0.005), two = simulate(IID, 20, 0.02);
    print_message("  no difference at 0 %% %.4f, at 0.5 %% %.4f; different at 2 %% %.4f\n", none.no_difference,
                  half.no_difference, two.differ);
    assert_true(none.no_difference >= 0.97);
    assert_true(two.differ >= 0.95);
}

/* The negative control: what the design forbids must be seen to fail. */
static void all_of_a_then_all_of_b_fails_under_drift(void **state)
{
    bl_rng rng;
    bl_rng_init(&rng, 99, 0);
    int alarms = 0;
    for (int i = 0; i < REPETITIONS; i++) {
        double noise[20];
        draw_noise(DRIFT, &rng, 20, noise);
        bl_test t;
        assert_int_equal(bl_test_welch(noise, 10, noise + 10, 10, &t, NULL), BL_OK);
        alarms += t.p < 0.05;
    }
    print_message("  false alarms %.4f\n", (double)alarms / REPETITIONS);
    assert_true((double)alarms / REPETITIONS > 0.5);
}

/* A smooth curve of step times must not look like a special power of two. */
static void a_smooth_curve_gives_no_special_power_of_two(void **state)
{
    static const int64_t batch[] = {100, 127, 128, 129, 156};
    enum { CASES = 5, BLOCKS = 10, RUNS = 3000 };
    bl_rng rng;
    bl_rng_init(&rng, 7, 0);
    int differ = 0, outside = 0;
    for (int i = 0; i < RUNS; i++) {
        double y[CASES * BLOCKS];
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t c = 0; c < CASES; c++)
                y[c * BLOCKS + b] = (0.05 + 0.01 * (double)batch[c]) / (double)batch[c] *
                                    exp(SIGMA * bl_rng_normal(&rng) + 0.002 * (double)b);
        bl_neighbours n;
        assert_int_equal(bl_neighbours_compute(batch, y, CASES, BLOCKS, LEVEL, MARGIN, &n, NULL), BL_OK);
        differ += n.claim == BL_CLAIM_DIFFER;
        outside += n.overall.log_ratio.low > 0 || n.overall.log_ratio.high < 0;
        bl_neighbours_clear(&n);
    }
    print_message("  non-zero %.4f, different %.4f\n", (double)outside / RUNS, (double)differ / RUNS);
    assert_true((double)outside / RUNS <= 0.05 + MONTE_CARLO);
    assert_true((double)differ / RUNS <= 0.005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_case_twice_is_rarely_called_different),
        cmocka_unit_test(an_effect_at_the_margin_is_rarely_misjudged),
        cmocka_unit_test(five_blocks_carry_the_level_that_is_printed),
        cmocka_unit_test(twenty_blocks_find_what_is_there),
        cmocka_unit_test(all_of_a_then_all_of_b_fails_under_drift),
        cmocka_unit_test(a_smooth_curve_gives_no_special_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
