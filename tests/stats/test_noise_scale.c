/* The noise scale against distributions whose own is known. */
#include "near.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "stats/noise_scale.h"
#include "stats/rng.h"

/* Per-sample gradients 1 and 3, equally likely: |G|^2 = 4, variance 1. All four outcomes of two samples. */
static void a_coin_shows_why_ratios_are_not_averaged(void **state)
{
    bl_noise_parts one[8], both[4];
    double mean_of_ratios = 0;
    int n_one = 0, n_both = 0;
    for (int i = 0; i < 4; i++) {
        double x = i & 1 ? 3 : 1, y = i & 2 ? 3 : 1, mean = (x + y) / 2;
        const double small[] = {x * x, y * y};
        for (int k = 0; k < 2; k++) {
            bl_gradient_norms norms = {1, 2, small[k], mean * mean};
            assert_int_equal(bl_noise_parts_of(&norms, &one[n_one], NULL), BL_OK);
            mean_of_ratios += one[n_one].noise / one[n_one].signal / 8;
            n_one++;
        }
        bl_gradient_norms norms = {1, 2, (x * x + y * y) / 2, mean * mean};
        assert_int_equal(bl_noise_parts_of(&norms, &both[n_both++], NULL), BL_OK);
    }
    assert_near(mean_of_ratios, -19.0 / 7, 1e-14);
    assert_near(bl_noise_ratio(one, 8), 0.25, 1e-14);
    assert_near(bl_noise_ratio(both, 4), 0.25, 1e-14);
}

enum { DIMENSIONS = 50, SAMPLES = 64 };

/* Squared norms of `SAMPLES` gradients: in small ones of `small`, and of their mean. */
static bl_gradient_norms gaussian(bl_rng *rng, int small)
{
    double big[DIMENSIONS] = {0}, small_sq = 0, big_sq = 0;
    for (int first = 0; first < SAMPLES; first += small) {
        double sum[DIMENSIONS] = {0};
        for (int i = 0; i < DIMENSIONS; i++) {
            /* The mean of `small` samples is drawn at once: it is normal too. */
            double variance = (2.0 / (i + 1) + 0.2) / small;
            sum[i] = 0.3 / sqrt(i + 1) + sqrt(variance) * bl_rng_normal(rng);
            small_sq += sum[i] * sum[i] * small / SAMPLES;
            big[i] += sum[i] * small / SAMPLES;
        }
    }
    for (int i = 0; i < DIMENSIONS; i++)
        big_sq += big[i] * big[i];
    return (bl_gradient_norms){small, SAMPLES, small_sq, big_sq};
}

static void estimates_of_a_gaussian_are_unbiased_and_scatter_as_they_should(void **state)
{
    enum { REPETITIONS = 6000 };
    static const struct {
        int small;
        double sd_noise, sd_signal;
    } cases[] = {{1, 0.6198, 0.1713}, {8, 1.8593, 0.1735}, {32, 4.9193, 0.1875}};
    const double signal = 0.404928, noise = 18.998411;
    for (size_t c = 0; c < BL_ARRAY_LEN(cases); c++) {
        bl_rng rng;
        bl_rng_init(&rng, 8, c);
        double sum[2] = {0}, squares[2] = {0};
        for (int r = 0; r < REPETITIONS; r++) {
            bl_gradient_norms norms = gaussian(&rng, cases[c].small);
            bl_noise_parts parts;
            assert_int_equal(bl_noise_parts_of(&norms, &parts, NULL), BL_OK);
            const double off[] = {parts.noise - noise, parts.signal - signal};
            for (int k = 0; k < 2; k++) {
                sum[k] += off[k] / REPETITIONS;
                squares[k] += off[k] * off[k] / REPETITIONS;
            }
        }
        const double sd[] = {cases[c].sd_noise, cases[c].sd_signal};
        for (int k = 0; k < 2; k++) {
            assert_near(sum[k], 0, 4 * sd[k] / sqrt(REPETITIONS));
            assert_near_relative(sqrt(squares[k]), sd[k], 4 / sqrt(2 * REPETITIONS));
        }
    }
}

static void the_interval_covers_the_truth(void **state)
{
    enum { REPETITIONS = 400, ROUNDS = 20 };
    const double truth = 46.918;
    int covered = 0, bounded = 0;
    for (int r = 0; r < REPETITIONS; r++) {
        bl_rng rng;
        bl_rng_init(&rng, 9, (uint64_t)r);
        bl_gradient_norms norms[ROUNDS];
        for (int k = 0; k < ROUNDS; k++)
            norms[k] = gaussian(&rng, 16);
        bl_noise_scale scale;
        assert_int_equal(bl_noise_scale_of(norms, ROUNDS, 0.95, &scale, NULL), BL_OK);
        assert_true(scale.has_interval && scale.low <= scale.scale && scale.scale <= scale.high);
        covered += scale.low <= truth && truth <= scale.high;
        bounded += isfinite(scale.high);
    }
    assert_in_range(covered, REPETITIONS * 91 / 100, REPETITIONS * 98 / 100);
    assert_int_equal(bounded, REPETITIONS);
}

/* y = w*'x + noise of variance s2, x standard normal in d dimensions, loss r^2 / 2: the gradient of a sample is
 * x (x'D - noise), D = w - w*. Its noise scale is d + 1 + d s2 / |D|^2. */
static void linear_regression_has_its_closed_form(void **state)
{
    enum { D = 10, N = 128, ROUNDS = 3000 };
    bl_rng rng;
    bl_rng_init(&rng, 10, 0);
    bl_gradient_norms *norms = bl_calloc(ROUNDS, sizeof *norms);
    assert_non_null(norms);
    for (int r = 0; r < ROUNDS; r++) {
        double mean[D] = {0};
        norms[r] = (bl_gradient_norms){.small_n = 1, .big_n = N};
        for (int i = 0; i < N; i++) {
            double x[D], square = 0;
            for (int k = 0; k < D; k++) {
                x[k] = bl_rng_normal(&rng);
                square += x[k] * x[k];
            }
            double residual = x[0] - 2 * bl_rng_normal(&rng); /* D is the first unit vector */
            norms[r].small_sq += square * residual * residual / N;
            for (int k = 0; k < D; k++)
                mean[k] += x[k] * residual / N;
        }
        for (int k = 0; k < D; k++)
            norms[r].big_sq += mean[k] * mean[k];
    }
    bl_noise_scale scale;
    assert_int_equal(bl_noise_scale_of(norms, ROUNDS, 0.95, &scale, NULL), BL_OK);
    assert_near_relative(scale.scale, 51, 0.03);
    assert_true(scale.low < 51 && 51 < scale.high);
    assert_true(scale.high - scale.low < 0.08 * 51);
    free(norms);
}

/* Gradient descent in rescaled coordinates is preconditioned descent: their noise scale is the one with g'Pg. */
static void preconditioned_norms_are_those_of_other_coordinates(void **state)
{
    const double g[2][2] = {{3, 1}, {1, -2}}, p[2] = {0.25, 4};
    bl_gradient_norms weighted = {1, 2, 0, 0}, rescaled = {1, 2, 0, 0};
    for (int k = 0; k < 2; k++) {
        double mean = (g[0][k] + g[1][k]) / 2, mean_rescaled = sqrt(p[k]) * mean;
        for (int i = 0; i < 2; i++) {
            weighted.small_sq += p[k] * g[i][k] * g[i][k] / 2;
            rescaled.small_sq += sqrt(p[k]) * g[i][k] * (sqrt(p[k]) * g[i][k]) / 2;
        }
        weighted.big_sq += p[k] * mean * mean;
        rescaled.big_sq += mean_rescaled * mean_rescaled;
    }
    bl_noise_parts a, b;
    assert_int_equal(bl_noise_parts_of(&weighted, &a, NULL), BL_OK);
    assert_int_equal(bl_noise_parts_of(&rescaled, &b, NULL), BL_OK);
    /* By hand: g'Pg = 6.25, 16.25; of the mean, (2, -0.5): 2. Signal 4 - 11.25, noise 2 (11.25 - 2). */
    assert_near(a.signal, -7.25, 1e-14);
    assert_near(a.noise, 18.5, 1e-14);
    assert_near(b.signal, a.signal, 1e-14);
    assert_near(b.noise, a.noise, 1e-14);
}

static void signals_that_drown_are_said_to(void **state)
{
    const bl_gradient_norms drowned[] = {{1, 4, 8, 1}, {1, 4, 8, 2.5}, {1, 4, 8, 1.5}};
    bl_noise_scale scale;
    assert_int_equal(bl_noise_scale_of(drowned, 3, 0.95, &scale, NULL), BL_OK);
    assert_true(isinf(scale.scale) && isinf(scale.high) && isfinite(scale.low) && scale.low > 0);
    const bl_gradient_norms same[] = {{1, 4, 2, 2}, {1, 4, 2, 2}};
    assert_int_equal(bl_noise_scale_of(same, 2, 0.95, &scale, NULL), BL_OK);
    assert_near(scale.scale, 0, 0);
    assert_false(scale.has_interval);
    assert_int_equal(bl_noise_scale_of(drowned, 1, 0.95, &scale, NULL), BL_OK);
    assert_false(scale.has_interval);
    const bl_gradient_norms impossible = {1, 4, 1, 3}; /* a mean longer than what it is the mean of */
    assert_int_equal(bl_noise_scale_of(&impossible, 1, 0.95, &scale, NULL), BL_OK);
    assert_near(scale.scale, NAN, 0);
}

static void nonsense_is_refused(void **state)
{
    static const bl_gradient_norms bad[] = {
        {4, 4, 1, 1},        {0, 4, 1, 1},   {1, 4, -1, 1},       {1, 4, 1, NAN},
        {1, INFINITY, 1, 1}, {NAN, 4, 1, 1}, {1, 4, INFINITY, 1},
    };
    bl_noise_scale scale;
    for (size_t i = 0; i < BL_ARRAY_LEN(bad); i++)
        assert_int_equal(bl_noise_scale_of(&bad[i], 1, 0.95, &scale, NULL), BL_ERR_USAGE);
    const bl_gradient_norms good = {1, 4, 2, 1};
    assert_int_equal(bl_noise_scale_of(&good, 0, 0.95, &scale, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_noise_scale_of(&good, 1, 1, &scale, NULL), BL_ERR_USAGE);
    assert_near(bl_noise_ratio(NULL, 0), NAN, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_coin_shows_why_ratios_are_not_averaged),
        cmocka_unit_test(estimates_of_a_gaussian_are_unbiased_and_scatter_as_they_should),
        cmocka_unit_test(the_interval_covers_the_truth),
        cmocka_unit_test(linear_regression_has_its_closed_form),
        cmocka_unit_test(preconditioned_norms_are_those_of_other_coordinates),
        cmocka_unit_test(signals_that_drown_are_said_to),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
