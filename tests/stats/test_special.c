/* Powers of two and multiples of 8 against the smooth curve of the other sizes. */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "stats/rng.h"
#include "stats/special.h"

enum { MANY = 64, BLOCKS = 12 };

static int64_t batch[MANY];
static double y[MANY * BLOCKS];

static double machine(double b)
{
    return 0.02 + 0.01 * b + 0.00002 * b * b; /* a step, with a bend */
}

/* Batch sizes from, from + 1, ...; each step as `machine` takes it, times what is special about it. */
static void fill(int64_t from, size_t n, double power, double eight, double noise, uint64_t seed)
{
    bl_rng rng;
    bl_rng_init(&rng, seed, 0);
    double level[BLOCKS];
    for (size_t b = 0; b < BLOCKS; b++)
        level[b] = exp(0.1 * bl_rng_normal(&rng)); /* the block's own */
    for (size_t c = 0; c < n; c++) {
        batch[c] = from + (int64_t)c;
        bool is_power = (batch[c] & (batch[c] - 1)) == 0;
        for (size_t b = 0; b < BLOCKS; b++)
            y[c * BLOCKS + b] = level[b] * machine((double)batch[c]) / (double)batch[c] * (is_power ? power : 1) *
                                (batch[c] % 8 == 0 ? eight : 1) * exp(noise * bl_rng_normal(&rng));
    }
}

static bl_special compute(bl_special_kind kind, size_t n)
{
    bl_special out;
    bl_error err = {0};
    if (bl_special_compute(kind, batch, y, n, BLOCKS, 0.95, 0.01, &out, &err) != BL_OK)
        fail_msg("%s", err.message);
    return out;
}

static void expect(size_t n, const char *part)
{
    bl_special powers = compute(BL_SPECIAL_POWERS_OF_TWO, n), eights = compute(BL_SPECIAL_MULTIPLES_OF_8, n);
    bl_str text;
    bl_str_init(&text);
    bl_special_sentence(&powers, &eights, 0.95, 0.01, &text);
    if (part ? !strstr(bl_str_text(&text), part) : text.len > 0)
        fail_msg("'%s' is not in: %s", part ? part : "", bl_str_text(&text));
    bl_str_clear(&text);
}

static void a_smooth_curve_holds_nothing_special(void **state)
{
    fill(1, MANY, 1, 1, 0.002, 1);
    bl_special p = compute(BL_SPECIAL_POWERS_OF_TWO, MANY), e = compute(BL_SPECIAL_MULTIPLES_OF_8, MANY);
    assert_int_equal(p.n_sizes, 4); /* the curve reaches neither below 3 nor above 63 */
    assert_int_equal(p.sizes[0], 4);
    assert_int_equal(p.n_curve, MANY - 7);
    assert_int_equal(e.n_sizes, 7); /* 8 stands between 7 and 9, next to it; not 64 */
    assert_int_equal(e.n_curve, MANY - 8);
    assert_near(p.contrast.log_ratio.estimate, 0, 0.002);
    assert_near(e.contrast.log_ratio.estimate, 0, 0.002);
    assert_int_equal(p.claim, BL_CLAIM_NO_DIFFERENCE);
    expect(MANY, "Against a smooth curve through the other sizes: powers of two (4, 8, 16 and 32): no difference "
                 "above 1 %: ");
    expect(MANY, "; multiples of 8 (8, 16, 24, 32, 40, 48 and 1 more): no difference above 1 %: ");
}

static void effects_are_told_apart_with_their_size(void **state)
{
    fill(1, MANY, 1, 0.96, 0.002, 2); /* multiples of 8 are 4 % faster */
    bl_special e = compute(BL_SPECIAL_MULTIPLES_OF_8, MANY);
    assert_int_equal(e.claim, BL_CLAIM_DIFFER);
    assert_near(expm1(e.contrast.log_ratio.estimate), -0.04, 0.003);
    assert_true(e.contrast.ratio.low < 0.96 && e.contrast.ratio.high > 0.96);
    fill(1, MANY, 0.95, 1, 0.002, 3); /* powers of two: what multiples of 8 seem to gain is theirs */
    bl_special p = compute(BL_SPECIAL_POWERS_OF_TWO, MANY);
    assert_near(expm1(p.contrast.log_ratio.estimate), -0.05, 0.003);
    assert_int_equal(p.claim, BL_CLAIM_DIFFER);
    fill(1, MANY, 1, 0.995, 0.0005, 4);
    assert_int_equal(compute(BL_SPECIAL_MULTIPLES_OF_8, MANY).claim, BL_CLAIM_SMALL);
}

static void sets_of_the_same_sizes_are_one(void **state)
{
    fill(60, 10, 1.03, 1, 0.001, 5);
    expect(10, "powers of two, here the multiples of 8 too (64): they differ by more than 1 %: +3.");
    fill(1, 6, 1, 1, 0.001, 6);
    expect(6, "powers of two (4): no difference");
    fill(66, 10, 1, 1, 0.001, 7);
    expect(10, "sizes: multiples of 8 (72): no difference");
    fill(65, 6, 1, 1, 0, 8);
    expect(6, NULL);
}

/* 16 between 12 and 24: the curve may bend anywhere between. */
static void wide_gaps_say_nothing(void **state)
{
    static const int64_t ladder[] = {8, 12, 16, 24, 32, 48};
    for (size_t c = 0; c < 6; c++) {
        batch[c] = ladder[c];
        for (size_t b = 0; b < BLOCKS; b++)
            y[c * BLOCKS + b] = fmax(1, (double)ladder[c] / 16) / (double)ladder[c];
    }
    expect(6, NULL);
}

static void missing_figures_cost_their_blocks_only(void **state)
{
    fill(60, 10, 1, 1, 0.001, 9);
    y[3 * BLOCKS + 2] = NAN; /* 63 in one block */
    y[4 * BLOCKS + 7] = NAN; /* 64 in another */
    for (size_t b = 1; b < BLOCKS; b++)
        y[9 * BLOCKS + b] = NAN; /* 69 ran once */
    bl_special p = compute(BL_SPECIAL_POWERS_OF_TWO, 10);
    assert_int_equal(p.contrast.n_pairs, BLOCKS - 2);
    assert_int_equal(p.n_curve, 8);
    for (size_t i = 0; i < 10 * (size_t)BLOCKS; i++)
        y[i] = NAN;
    assert_int_equal(compute(BL_SPECIAL_POWERS_OF_TWO, 10).n_sizes, 0);
    bl_special none;
    assert_int_equal(bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, NULL, NULL, 0, 0, 0.95, 0.01, &none, NULL), BL_OK);
}

/* Noise of a trial and of the block: the interval excludes 0 in at most 5 % of experiments, and holds an effect. */
static void false_alarms_are_rare_and_intervals_cover(void **state)
{
    enum { EXPERIMENTS = 2000 };
    int alarms = 0, covered = 0;
    for (int i = 0; i < EXPERIMENTS; i++) {
        fill(100, 31, 1, 1, 0.005, 100 + (uint64_t)i);
        bl_special e = compute(BL_SPECIAL_MULTIPLES_OF_8, 31);
        alarms += e.contrast.log_ratio.low > 0 || e.contrast.log_ratio.high < 0;
        fill(100, 31, 1.01, 1, 0.005, 9000 + (uint64_t)i);
        bl_special p = compute(BL_SPECIAL_POWERS_OF_TWO, 31);
        covered += p.contrast.ratio.low <= 1.01 && p.contrast.ratio.high >= 1.01;
    }
    assert_true(alarms <= 0.06 * EXPERIMENTS); /* 0.01 for the error of the simulation */
    assert_true(covered >= 0.94 * EXPERIMENTS);
}

static void nonsense_is_refused(void **state)
{
    bl_special out;
    fill(60, 10, 1, 1, 0, 1);
    assert_int_equal(bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, batch, y, 10, BLOCKS, 1, 0.01, &out, NULL),
                     BL_ERR_USAGE);
    assert_int_equal(bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, batch, y, 10, BLOCKS, 0.95, 0, &out, NULL),
                     BL_ERR_USAGE);
    batch[3] = batch[4];
    assert_int_equal(bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, batch, y, 10, BLOCKS, 0.95, 0.01, &out, NULL),
                     BL_ERR_USAGE);
    fill(60, 10, 1, 1, 0, 1);
    y[5] = 0;
    assert_int_equal(bl_special_compute(BL_SPECIAL_POWERS_OF_TWO, batch, y, 10, BLOCKS, 0.95, 0.01, &out, NULL),
                     BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smooth_curve_holds_nothing_special),
        cmocka_unit_test(effects_are_told_apart_with_their_size),
        cmocka_unit_test(sets_of_the_same_sizes_are_one),
        cmocka_unit_test(wide_gaps_say_nothing),
        cmocka_unit_test(missing_figures_cost_their_blocks_only),
        cmocka_unit_test(false_alarms_are_rare_and_intervals_cover),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
