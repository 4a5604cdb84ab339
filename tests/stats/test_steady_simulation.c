/* What the shipped warm-up cut does to step times as programs really make them: how far the figure is off, and how
 * often a trial is called unsteady, by simulation with fixed seeds. */
#include "near.h"

#include <stdbool.h>
#include <stdio.h>

#include "stats/rng.h"
#include "stats/steady.h"

enum { REPETITIONS = 5000, STEPS = 60 };
#define LEVEL_S 0.2 /* of a warm step */
#define SAMPLES 64
#define NOISE   0.02 /* of a step */

typedef enum shape { FLAT, SLOW_FIRST, RAMP, DECAY, SPELL, OUTLIERS, RISING, N_SHAPES } shape;

static const char *const names[N_SHAPES] = {"flat",
                                            "first step 8 times as long",
                                            "15 % slower for 20 steps",
                                            "20 % above, decaying over 5 steps",
                                            "10 % slower from step 30 to 44",
                                            "3 % of steps twice as long",
                                            "2 % slower with each step"};

/* Time of step i over LEVEL_S, without noise. */
static double factor(shape s, size_t i, bl_rng *rng)
{
    switch (s) {
    case SLOW_FIRST:
        return i == 0 ? 8 : 1;
    case RAMP:
        return i < 20 ? 1.15 : 1;
    case DECAY:
        return 1 + 0.2 * exp(-(double)i / 5);
    case SPELL:
        return i >= 30 && i < 45 ? 1.10 : 1;
    case OUTLIERS:
        return bl_rng_uniform(rng) < 0.03 ? 2 : 1;
    case RISING:
        return pow(1.02, (double)i);
    default:
        return 1;
    }
}

typedef struct summary {
    double bias, spread; /* of ln(figure / LEVEL_S * SAMPLES): mean and standard deviation over steady trials */
    double unsteady;     /* share of trials */
    double first;        /* mean of the first steady step */
} summary;

static summary simulate(shape s)
{
    bl_rng rng;
    bl_rng_init(&rng, 4711, s);
    double sum = 0, squares = 0, first = 0;
    int n = 0;
    for (int r = 0; r < REPETITIONS; r++) {
        double dt[STEPS], samples[STEPS];
        for (size_t i = 0; i < STEPS; i++) {
            dt[i] = LEVEL_S * factor(s, i, &rng) * exp(NOISE * bl_rng_normal(&rng));
            samples[i] = SAMPLES;
        }
        bl_steady steady;
        assert_int_equal(bl_steady_from_steps(dt, samples, STEPS, NULL, &steady, NULL), BL_OK);
        if (steady.quality != BL_STEADY_OK)
            continue;
        double off = log(steady.seconds_per_sample * SAMPLES / LEVEL_S);
        sum += off;
        squares += off * off;
        first += (double)steady.first_steady;
        n++;
    }
    double mean = n > 0 ? sum / n : NAN;
    summary out = {mean, n > 1 ? sqrt(squares / n - mean * mean) : NAN, 1 - (double)n / REPETITIONS, first / n};
    print_message("  %-34s bias %+.3f %%, spread %.3f %%, unsteady %.4f, first steady step %.1f\n", names[s],
                  100 * out.bias, 100 * out.spread, out.unsteady, out.first);
    return out;
}

static void a_flat_series_keeps_its_steps(void **state)
{
    summary s = simulate(FLAT);
    assert_true(fabs(s.bias) < 0.001 && s.unsteady < 0.005);
    assert_true(s.first < 4.5); /* 3 are dropped always; a false split now and then drops more */
    /* Nearly as sharp as the mean over all steps that are not dropped could be. */
    assert_true(s.spread < 1.15 * NOISE / sqrt(STEPS - 3.0));
}

static void a_warm_up_is_cut(void **state)
{
    summary first = simulate(SLOW_FIRST), ramp = simulate(RAMP), decay = simulate(DECAY);
    assert_true(fabs(first.bias) < 0.001 && first.unsteady < 0.005);
    assert_true(fabs(ramp.bias) < 0.002 && ramp.unsteady < 0.005 && ramp.first > 18.5);
    /* What of the decay lies within the noise cannot be told from it. */
    assert_true(fabs(decay.bias) < 0.006 && decay.unsteady < 0.01 && decay.first > 5);
}

static void a_slow_spell_belongs_to_the_figure(void **state)
{
    summary s = simulate(SPELL), outliers = simulate(OUTLIERS);
    double whole = log((57 * 1.0 + 15 * 0.10) / 57);
    /* In about a fifth of the trials the medians before and after the spell differ by more than the tolerance, by
     * noise; then only what follows the spell counts, and the figure is lower. */
    assert_true(s.bias > whole - 0.006 && s.bias < whole + 0.003 && s.unsteady < 0.015);
    assert_true(fabs(outliers.bias - log(1.03)) < 0.003 && outliers.unsteady < 0.005);
}

static void a_series_that_never_settles_is_called_so(void **state)
{
    summary s = simulate(RISING);
    assert_true(s.unsteady > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flat_series_keeps_its_steps),
        cmocka_unit_test(a_warm_up_is_cut),
        cmocka_unit_test(a_slow_spell_belongs_to_the_figure),
        cmocka_unit_test(a_series_that_never_settles_is_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
