/* Change points, and the cut between warm-up and steady steps. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/changepoint.h"
#include "stats/rng.h"
#include "stats/steady.h"

static void change_from_zeros_to_ones(void **state)
{
    (void)state;
    static double x[2000];
    for (size_t i = 1000; i < 2000; i++)
        x[i] = 1;
    size_t points[8];
    size_t n = 0;
    assert_int_equal(bl_edivisive(x, 2000, NULL, points, 8, &n, NULL), BL_OK);
    assert_int_equal(n, 1);
    assert_int_equal(points[0], 1000);
}

static void changes_come_strongest_first(void **state)
{
    (void)state;
    double x[300];
    for (size_t i = 0; i < 300; i++)
        x[i] = i < 100 ? 0 : i < 200 ? 1 : 20;
    size_t points[8];
    size_t n = 0;
    assert_int_equal(bl_edivisive(x, 300, NULL, points, 8, &n, NULL), BL_OK);
    assert_int_equal(n, 2);
    assert_int_equal(points[0], 200);
    assert_int_equal(points[1], 100);
}

static void changes_in_spread_are_changes(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 3, 0);
    double x[400];
    for (size_t i = 0; i < 400; i++)
        x[i] = bl_rng_normal(&rng) * (i < 200 ? 1 : 5);
    size_t points[8];
    size_t n = 0;
    assert_int_equal(bl_edivisive(x, 400, NULL, points, 8, &n, NULL), BL_OK);
    assert_int_equal(n, 1);
    assert_true(points[0] > 185 && points[0] < 215);
}

/* The permutation test keeps its level: of 400 series without a change about 5 % show one. */
static void noise_alone_shows_few_changes(void **state)
{
    (void)state;
    bl_rng rng;
    bl_rng_init(&rng, 4, 0);
    bl_edivisive_options options;
    bl_edivisive_options_init(&options);
    options.min_segment = 10;
    int found = 0;
    for (int run = 0; run < 400; run++) {
        double x[60];
        for (size_t i = 0; i < 60; i++)
            x[i] = exp(bl_rng_normal(&rng)); /* skewed, as step times are */
        size_t points[8];
        size_t n = 0;
        options.seed = (uint64_t)run;
        assert_int_equal(bl_edivisive(x, 60, &options, points, 8, &n, NULL), BL_OK);
        found += n > 0;
    }
    assert_in_range(found, 6, 34);
}

static void degenerate_series(void **state)
{
    (void)state;
    double x[100] = {0};
    size_t points[4];
    size_t n = 9;
    assert_int_equal(bl_edivisive(x, 100, NULL, points, 4, &n, NULL), BL_OK); /* constant */
    assert_int_equal(n, 0);
    assert_int_equal(bl_edivisive(x, 0, NULL, points, 4, &n, NULL), BL_OK);
    assert_int_equal(n, 0);
    assert_int_equal(bl_edivisive(x, 59, NULL, points, 4, &n, NULL), BL_OK); /* two segments do not fit */
    assert_int_equal(n, 0);
    x[3] = NAN;
    assert_int_equal(bl_edivisive(x, 100, NULL, points, 4, &n, NULL), BL_ERR_USAGE);
    bl_edivisive_options options;
    bl_edivisive_options_init(&options);
    options.min_segment = 1;
    assert_int_equal(bl_edivisive(x, 100, &options, points, 4, &n, NULL), BL_ERR_USAGE);
    double *many = bl_calloc(BL_EDIVISIVE_MAX_N + 1, sizeof(*many));
    assert_non_null(many);
    assert_int_equal(bl_edivisive(many, BL_EDIVISIVE_MAX_N + 1, NULL, points, 4, &n, NULL), BL_ERR_USAGE);
    free(many);
}

/* n steps of `base` seconds with noise, the first `warm` of them slower by `extra`, fading where `fade`. */
static void make_steps(double *dt, size_t n, double base, double noise, size_t warm, double extra, uint64_t seed)
{
    bl_rng rng;
    bl_rng_init(&rng, seed, 0);
    for (size_t i = 0; i < n; i++)
        dt[i] = base * (1 + (i < warm ? extra : 0)) * exp(noise * bl_rng_normal(&rng));
}

static void fill(double *x, size_t n, double value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static void short_series_keep_at_least_half(void **state)
{
    (void)state;
    double dt[16], samples[16];
    const size_t cut[] = {0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    for (size_t n = 1; n < 15; n++) {
        for (size_t i = 0; i < n; i++)
            dt[i] = i < cut[n] ? 100 : 2;
        fill(samples, n, 8);
        bl_steady s;
        assert_int_equal(bl_steady_from_steps(dt, samples, n, NULL, &s, NULL), BL_OK);
        assert_int_equal(s.quality, BL_STEADY_SHORT);
        assert_int_equal(s.first_steady, cut[n]);
        assert_int_equal(s.n_steady, n - cut[n]);
        assert_near(s.seconds_per_sample, 0.25, 1e-15);
        assert_near(s.overall_seconds_per_sample, 0.25, 1e-15);
        assert_near(s.step_seconds, 2, 0);
        assert_true(s.note[0] != '\0');
    }
    bl_steady s;
    assert_int_equal(bl_steady_from_steps(dt, samples, 0, NULL, &s, NULL), BL_OK);
    assert_int_equal(s.quality, BL_STEADY_NONE);
    assert_near(s.seconds_per_sample, NAN, 0);
    assert_string_equal(s.note, "no steps");
}

static void steady_series_lose_only_the_fixed_cut(void **state)
{
    (void)state;
    double dt[200], samples[200];
    fill(dt, 200, 0.5);
    dt[0] = 4;
    fill(samples, 200, 10);
    bl_steady s;
    assert_int_equal(bl_steady_from_steps(dt, samples, 200, NULL, &s, NULL), BL_OK);
    assert_int_equal(s.quality, BL_STEADY_OK);
    assert_int_equal(s.first_steady, 3);
    assert_near(s.seconds, 197 * 0.5, 1e-12);
    assert_near(s.samples, 1970, 0);
    assert_near(s.seconds_per_sample, 0.05, 1e-15);
    assert_string_equal(s.note, "warm after 3 of 200 steps");
}

static void warm_up_is_cut_where_it_ends(void **state)
{
    (void)state;
    static double dt[5000], samples[5000];
    const size_t lengths[] = {40, 200, 1000, 5000};
    for (size_t k = 0; k < 4; k++) {
        size_t n = lengths[k];
        make_steps(dt, n, 0.1, 0.01, n / 5, 0.2, 11 + k);
        fill(samples, n, 32);
        bl_steady s;
        assert_int_equal(bl_steady_from_steps(dt, samples, n, NULL, &s, NULL), BL_OK);
        assert_int_equal(s.quality, BL_STEADY_OK);
        /* within the condensed grid of BL_STEADY_SEARCH_MAX places */
        assert_in_range(s.first_steady, n / 5 - n / 100 - 1, n / 5 + n / 50 + 1);
        assert_near_relative(s.seconds_per_sample, 0.1 / 32, 0.006);
        assert_true(s.overall_seconds_per_sample > s.seconds_per_sample * 1.02);
    }
}

static void slow_spell_in_the_middle_is_part_of_training(void **state)
{
    (void)state;
    double dt[300], samples[300];
    make_steps(dt, 300, 1, 0.005, 0, 0, 21);
    for (size_t i = 120; i < 180; i++)
        dt[i] *= 1.5;
    fill(samples, 300, 4);
    bl_steady s;
    assert_int_equal(bl_steady_from_steps(dt, samples, 300, NULL, &s, NULL), BL_OK);
    assert_int_equal(s.quality, BL_STEADY_OK);
    assert_int_equal(s.first_steady, 3);
    assert_near_relative(s.seconds_per_sample, 0.25 * (237 + 60 * 1.5) / 297, 0.002);
}

static void series_without_a_steady_tail_has_no_figure(void **state)
{
    (void)state;
    double dt[300], samples[300];
    bl_rng rng;
    bl_rng_init(&rng, 31, 0);
    for (size_t i = 0; i < 300; i++) /* slower and slower */
        dt[i] = (1 + 0.002 * (double)i) * exp(0.005 * bl_rng_normal(&rng));
    fill(samples, 300, 4);
    bl_steady s;
    assert_int_equal(bl_steady_from_steps(dt, samples, 300, NULL, &s, NULL), BL_OK);
    assert_int_equal(s.quality, BL_STEADY_UNSTEADY);
    assert_near(s.seconds_per_sample, NAN, 0);
    assert_true(s.overall_seconds_per_sample > 0.25 && s.overall_seconds_per_sample < 0.4);
    assert_int_equal(s.n_steady, 0);
    assert_string_equal(s.note, "no steady stretch in 300 steps");
}

static void last_partial_batches_do_not_disturb(void **state)
{
    (void)state;
    double dt[100], samples[100];
    for (size_t i = 0; i < 100; i++) {
        samples[i] = i % 10 == 9 ? 5 : 16;
        dt[i] = 0.01 * samples[i];
    }
    bl_steady s;
    assert_int_equal(bl_steady_from_steps(dt, samples, 100, NULL, &s, NULL), BL_OK);
    assert_int_equal(s.quality, BL_STEADY_OK);
    assert_near(s.seconds_per_sample, 0.01, 1e-15);
}

static void steps_that_cannot_be_are_refused(void **state)
{
    (void)state;
    double dt[] = {1, 1, 1};
    double samples[] = {1, 1, 1};
    const double bad[] = {0, -1, NAN, INFINITY};
    bl_steady s;
    bl_error err = {0};
    for (size_t i = 0; i < 4; i++) {
        dt[1] = bad[i];
        assert_int_equal(bl_steady_from_steps(dt, samples, 3, NULL, &s, NULL), BL_ERR_USAGE);
        dt[1] = 1;
        samples[2] = bad[i];
        assert_int_equal(bl_steady_from_steps(dt, samples, 3, NULL, &s, NULL), BL_ERR_USAGE);
        samples[2] = 1;
    }
    dt[0] = -2;
    assert_int_equal(bl_steady_from_steps(dt, samples, 3, NULL, &s, &err), BL_ERR_USAGE);
    assert_string_equal(err.message, "step 0 lasted -2 s; a step's time must be positive");
}

static void same_seed_same_answer(void **state)
{
    (void)state;
    double dt[150], samples[150];
    fill(samples, 150, 2);
    for (uint64_t seed = 0; seed < 5; seed++) {
        make_steps(dt, 150, 1, 0.05, 20, 0.04, seed);
        bl_steady a, b;
        assert_int_equal(bl_steady_from_steps(dt, samples, 150, NULL, &a, NULL), BL_OK);
        assert_int_equal(bl_steady_from_steps(dt, samples, 150, NULL, &b, NULL), BL_OK);
        assert_int_equal(a.first_steady, b.first_steady);
        assert_int_equal(a.quality, b.quality);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(change_from_zeros_to_ones),
        cmocka_unit_test(changes_come_strongest_first),
        cmocka_unit_test(changes_in_spread_are_changes),
        cmocka_unit_test(noise_alone_shows_few_changes),
        cmocka_unit_test(degenerate_series),
        cmocka_unit_test(short_series_keep_at_least_half),
        cmocka_unit_test(steady_series_lose_only_the_fixed_cut),
        cmocka_unit_test(warm_up_is_cut_where_it_ends),
        cmocka_unit_test(slow_spell_in_the_middle_is_part_of_training),
        cmocka_unit_test(series_without_a_steady_tail_has_no_figure),
        cmocka_unit_test(last_partial_batches_do_not_disturb),
        cmocka_unit_test(steps_that_cannot_be_are_refused),
        cmocka_unit_test(same_seed_same_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
