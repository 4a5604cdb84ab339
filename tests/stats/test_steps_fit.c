/* Steps to a target over the batch size: exact curves, a quadratic that is solved, a training that was run. */
#include "near.h"

#include "base/alloc.h"
#include "stats/rng.h"
#include "stats/steps_fit.h"

static void a_hyperbola_is_found_again(void **state)
{
    const double batch[] = {4, 32, 256};
    double steps[3];
    for (int i = 0; i < 3; i++)
        steps[i] = 120 * (1 + 75 / batch[i]);
    bl_steps_fit fit;
    assert_int_equal(bl_fit_steps(batch, steps, 3, NAN, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_BENT);
    assert_near_relative(fit.min_steps, 120, 1e-6);
    assert_near_relative(fit.curve.critical, 75, 1e-6);
    assert_near(fit.worst_relative, 0, 1e-7);
    assert_false(fit.has_interval); /* nothing says how repeated runs would differ */
    assert_int_equal(bl_fit_steps(batch, steps, 3, 0.05, 0.95, &fit, NULL), BL_OK);
    assert_true(fit.has_interval && fit.low.critical < 75 && 75 < fit.high.critical);
    assert_near_relative(bl_steps_at(&fit.curve, 75), 240, 1e-6);
}

/* B_noise 1000: a quarter of it takes 5 times the fewest steps and 1.25 times the fewest samples, and so on. */
static void steps_and_samples_trade_off_as_pareto_has_it(void **state)
{
    const bl_steps_curve curve = {.scale = 0, .critical = 1000};
    static const struct {
        double batch, steps, samples;
    } cases[] = {{250, 5, 1.25}, {1000, 2, 2}, {4000, 1.25, 5}};
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        double steps = bl_steps_at(&curve, cases[i].batch), samples = steps * cases[i].batch / 1000;
        assert_near(steps, cases[i].steps, 1e-12);
        assert_near(samples, cases[i].samples, 1e-12);
        assert_near((steps - 1) * (samples - 1), 1, 1e-12); /* eq. 2.11 */
    }
}

/* Steps until the loss of a noisy quadratic (curvatures and noises 1 / i, 100 of them, all starting at 1) is a tenth of
 * the first, by its exact recursion, the last one a fraction. */
static double quadratic_steps(double rate, double batch)
{
    enum { D = 100, STEPS_MAX = 4000 };
    double square[D], start = 0;
    for (int i = 0; i < D; i++) {
        square[i] = 1;
        start += 0.5 / (i + 1);
    }
    double before = start;
    for (int step = 0; step < STEPS_MAX; step++) {
        double loss = 0;
        for (int i = 0; i < D; i++) {
            double h = 1.0 / (i + 1), kept = 1 - rate * h;
            square[i] = kept * kept * square[i] + rate * rate * h / batch;
            loss += 0.5 * h * square[i];
        }
        if (loss <= 0.1 * start)
            return step + (before - 0.1 * start) / (before - loss);
        before = loss;
    }
    return INFINITY;
}

static double best_quadratic_steps(double batch)
{
    double best = INFINITY, at = 0;
    for (double rate = 0.05; rate < 2; rate *= 1.06) {
        double steps = quadratic_steps(rate, batch);
        if (steps < best) {
            best = steps;
            at = rate;
        }
    }
    for (double rate = at / 1.06; rate < at * 1.06; rate *= 1.0005)
        best = fmin(best, quadratic_steps(rate, batch));
    return best;
}

static void a_noisy_quadratic_bends_where_it_should(void **state)
{
    static const struct {
        double batch, steps;
    } known[] = {{1, 423.4}, {8, 61.75}, {64, 20.35}, {1024, 14.78}};
    for (size_t i = 0; i < BL_ARRAY_LEN(known); i++)
        assert_near_relative(best_quadratic_steps(known[i].batch), known[i].steps, 1e-3);
    double batch[13], steps[13];
    for (int i = 0; i < 13; i++) {
        batch[i] = 1 << i;
        steps[i] = best_quadratic_steps(batch[i]);
    }
    bl_steps_fit fit;
    assert_int_equal(bl_fit_steps(batch, steps, 13, NAN, 0.95, &fit, NULL), BL_OK);
    assert_near_relative(fit.min_steps, 14.34, 0.005);
    assert_near_relative(fit.curve.critical, 27.4, 0.005);
    assert_true(fit.worst_relative < 0.06);
    assert_true(fit.low.critical < 27.4 && 27.4 < fit.high.critical && fit.high.critical < 1.2 * fit.low.critical);
    /* Three sizes, as pilots have them, see nearly the same. */
    const double few[] = {2, 16, 128}, few_steps[] = {steps[1], steps[4], steps[7]};
    assert_int_equal(bl_fit_steps(few, few_steps, 3, NAN, 0.95, &fit, NULL), BL_OK);
    assert_near_relative(fit.curve.critical, 27.4, 0.1);
}

/* A 784-64-10 network on handwritten digits, plain SGD, best rates, to loss 0.25. The fit that is known took more sizes
 * than these. */
static void a_training_that_was_run(void **state)
{
    const double batch[] = {2, 8, 32, 128, 512, 2048}, steps[] = {3716, 796, 253, 127, 94, 82};
    bl_steps_fit fit;
    assert_int_equal(bl_fit_steps(batch, steps, 6, NAN, 0.95, &fit, NULL), BL_OK);
    assert_near_relative(fit.min_steps, 77.3, 0.02);
    assert_near_relative(fit.curve.critical, 75.6, 0.07);
    assert_true(fit.low.critical < 75.6 && 75.6 < fit.high.critical);
    assert_true(fit.worst_relative < 0.2);
}

static void limits_are_said_not_extrapolated(void **state)
{
    const double batch[] = {8, 64, 512}, flat[] = {100, 100, 100}, falling[] = {4096, 512, 64},
                 rising[] = {90, 100, 110};
    bl_steps_fit fit;
    assert_int_equal(bl_fit_steps(batch, flat, 3, 0.05, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_FLAT);
    assert_near(fit.curve.critical, 0, 0);
    assert_near_relative(bl_steps_at(&fit.curve, 32), 100, 1e-9);
    assert_true(fit.has_interval && fit.low.critical == 0 && fit.high.critical > 0 && fit.high.critical < 8);
    assert_int_equal(bl_fit_steps(batch, rising, 3, NAN, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_FLAT);
    assert_int_equal(bl_fit_steps(batch, falling, 3, 0.05, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_PROPORTIONAL);
    assert_true(isinf(fit.curve.critical) && fit.min_steps == 0);
    assert_near_relative(bl_steps_at(&fit.curve, 128), 256, 1e-9);
    assert_true(fit.has_interval && isinf(fit.high.critical) && fit.low.critical > 512);
    assert_int_equal(bl_fit_steps(batch, flat, 1, NAN, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_NO_FIT);
    const double same[] = {8, 8, 8};
    assert_int_equal(bl_fit_steps(same, flat, 3, NAN, 0.95, &fit, NULL), BL_OK);
    assert_int_equal(fit.shape, BL_STEPS_NO_FIT);
}

/* Runs that differ by 5 % from what the curve says: the interval holds the truth as often as it promises. */
static void the_interval_covers_the_truth(void **state)
{
    enum { REPETITIONS = 400, SIZES = 3, RUNS = 3 };
    int covered[2] = {0}, steps_covered[2] = {0};
    for (int r = 0; r < REPETITIONS; r++) {
        bl_rng rng;
        bl_rng_init(&rng, 12, (uint64_t)r);
        double batch[SIZES * RUNS], steps[SIZES * RUNS];
        for (int i = 0; i < SIZES * RUNS; i++) {
            batch[i] = 8 << (i % SIZES) * 3;
            steps[i] = 100 * (1 + 64 / batch[i]) * exp(0.05 * bl_rng_normal(&rng));
        }
        for (int known = 0; known < 2; known++) {
            bl_steps_fit fit;
            assert_int_equal(bl_fit_steps(batch, steps, SIZES * RUNS, known ? 0.05 : NAN, 0.95, &fit, NULL), BL_OK);
            assert_true(fit.has_interval);
            double low, high;
            bl_steps_interval(&fit, 40, &low, &high);
            steps_covered[known] += low <= 260 && 260 <= high;
            covered[known] += fit.low.critical <= 64 && 64 <= fit.high.critical;
        }
    }
    for (int known = 0; known < 2; known++) {
        assert_in_range(covered[known], REPETITIONS * 92 / 100, REPETITIONS * 98 / 100);
        assert_in_range(steps_covered[known], REPETITIONS * 92 / 100, REPETITIONS * 98 / 100);
    }
}

static void nonsense_is_refused(void **state)
{
    const double batch[] = {8, 64}, steps[] = {100, 0}, good[] = {100, 50};
    bl_steps_fit fit;
    assert_int_equal(bl_fit_steps(batch, steps, 2, NAN, 0.95, &fit, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_fit_steps(steps, batch, 2, NAN, 0.95, &fit, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_fit_steps(batch, good, 2, NAN, 0, &fit, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_fit_steps(batch, good, BL_STEPS_MAX_N + 1, NAN, 0.95, &fit, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_fit_steps(batch, (const double[]){100, INFINITY}, 2, NAN, 0.95, &fit, NULL), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hyperbola_is_found_again),
        cmocka_unit_test(steps_and_samples_trade_off_as_pareto_has_it),
        cmocka_unit_test(a_noisy_quadratic_bends_where_it_should),
        cmocka_unit_test(a_training_that_was_run),
        cmocka_unit_test(limits_are_said_not_extrapolated),
        cmocka_unit_test(the_interval_covers_the_truth),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
