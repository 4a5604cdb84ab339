/* Cases over blocks, comparisons between them, and what is said about powers of two. */
#include "near.h"

#include <stdio.h>
#include <string.h>

#include "stats/contrast.h"
#include "stats/neighbours.h"
#include "stats/rng.h"

static void case_interval_is_taken_over_logs(void **state)
{
    (void)state;
    const double y[] = {0.010, 0.012, 0.011, NAN, 0.0105, 0.0115, 0.0108};
    bl_interval i;
    assert_int_equal(bl_case_interval(y, 7, 0.95, &i, NULL), BL_OK);
    assert_int_equal(i.n, 6);
    assert_true(i.reaches_level);
    assert_near(i.level, 1 - 2 / 64.0, 1e-12);
    assert_near(i.low, 0.010, 1e-12);
    assert_near(i.high, 0.012, 1e-12);
    assert_true(i.estimate > 0.0105 && i.estimate < 0.0115);
    const double bad[] = {0.01, 0};
    assert_int_equal(bl_case_interval(bad, 2, 0.95, &i, NULL), BL_ERR_USAGE);
}

static void missing_trials_take_their_pair_only(void **state)
{
    (void)state;
    /* b takes 1 % longer than a in every block, whatever the block's own level */
    double a[8], b[8];
    for (int i = 0; i < 8; i++) {
        a[i] = 0.01 * (1 + 0.1 * i);
        b[i] = a[i] * 1.01;
    }
    a[2] = NAN;
    b[5] = NAN;
    bl_contrast c;
    assert_int_equal(bl_contrast_pair(a, b, 8, 0.95, &c, NULL), BL_OK);
    assert_int_equal(c.n_pairs, 6);
    assert_int_equal(c.n_missing, 2);
    assert_near(c.ratio.estimate, 1.01, 1e-12);
    assert_near(c.ratio.low, 1.01, 1e-12);
    assert_near(c.log_ratio.high, log(1.01), 1e-12);
    assert_near(c.log_ratio_t.estimate, log(1.01), 1e-12);
    /* the other way round, all signs turn */
    bl_contrast r;
    assert_int_equal(bl_contrast_pair(b, a, 8, 0.95, &r, NULL), BL_OK);
    assert_near(r.log_ratio.estimate, -c.log_ratio.estimate, 1e-15);
}

static void outlying_blocks_are_pointed_out(void **state)
{
    (void)state;
    double d[12];
    for (int i = 0; i < 12; i++)
        d[i] = 0.01 + 0.0005 * (i - 6);
    bl_contrast c;
    assert_int_equal(bl_contrast_from_logs(d, 12, 0.95, &c, NULL), BL_OK);
    assert_false(c.disagree);
    d[4] = 0.8; /* one block went wrong */
    assert_int_equal(bl_contrast_from_logs(d, 12, 0.95, &c, NULL), BL_OK);
    assert_true(c.disagree);
    assert_true(c.log_ratio.high < 0.02);
}

static void best_and_against(void **state)
{
    (void)state;
    const double y[] = {3, 3, 3, 3, /**/ 2, 2, NAN, 2, /**/ NAN, NAN, NAN, NAN, /**/ 4, 4, 4, 4};
    size_t best = 9;
    assert_int_equal(bl_contrast_best(y, 4, 4, &best, NULL), BL_OK);
    assert_int_equal(best, 1);
    bl_contrast c[4];
    assert_int_equal(bl_contrast_against(y, 4, 4, 1, 0.95, c, NULL), BL_OK);
    assert_near(c[0].ratio.estimate, 1.5, 1e-12);
    assert_int_equal(c[0].n_pairs, 3);
    assert_near(c[1].ratio.estimate, 1, 1e-12);
    assert_int_equal(c[2].n_pairs, 0);
    assert_near(c[2].ratio.estimate, NAN, 0);
    assert_near(c[3].ratio.estimate, 2, 1e-12);
    assert_int_equal(bl_contrast_against(y, 4, 4, 4, 0.95, c, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_contrast_best(y + 8, 1, 4, &best, NULL), BL_OK);
    assert_int_equal(best, 1); /* none */
}

static bl_interval interval(double low, double high, double level)
{
    return (bl_interval){.estimate = 0.5 * (low + high),
                         .low = low,
                         .high = high,
                         .level_wanted = 0.95,
                         .level = level,
                         .n = 10,
                         .has_interval = true,
                         .reaches_level = level >= 0.95};
}

static void claims_follow_the_interval(void **state)
{
    (void)state;
    const struct {
        double low, high, level;
        bl_claim claim;
    } cases[] = {
        {0.011, 0.02, 0.95, BL_CLAIM_DIFFER},          {-0.02, -0.011, 0.95, BL_CLAIM_DIFFER},
        {0.009, 0.02, 0.95, BL_CLAIM_DIFFER_SOME},     {-0.02, -0.001, 0.95, BL_CLAIM_DIFFER_SOME},
        {-0.009, 0.009, 0.95, BL_CLAIM_NO_DIFFERENCE}, {0.001, 0.009, 0.95, BL_CLAIM_SMALL},
        {-0.001, 0.011, 0.95, BL_CLAIM_CANNOT_TELL},   {-0.5, 0.5, 0.95, BL_CLAIM_CANNOT_TELL},
        {0.5, 0.6, 0.9375, BL_CLAIM_DIFFER},           {0.5, 0.6, 0.875, BL_CLAIM_CANNOT_TELL},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        bl_interval it = interval(cases[i].low, cases[i].high, cases[i].level);
        assert_int_equal(bl_claim_from_interval(&it, 0.01), cases[i].claim);
    }
    bl_interval none = {.has_interval = false, .level = 0};
    assert_int_equal(bl_claim_from_interval(&none, 0.01), BL_CLAIM_CANNOT_TELL);
}

static void more_blocks_grow_with_the_spread(void **state)
{
    (void)state;
    bl_contrast c = {.log_ratio = interval(-0.01, 0.02, 0.95), .sd = 0.01, .n_pairs = 10};
    c.log_ratio.estimate = 0.0;
    size_t a = bl_more_blocks(&c, 0.95, 0.01);
    c.sd = 0.03;
    size_t b = bl_more_blocks(&c, 0.95, 0.01);
    assert_true(a >= 1 && b > 5 * a);
    /* t interval of half-width 1 % at sd 3 %: n near (1.97 * 3)^2 = 35 + 2 */
    assert_in_range(b + 10, 34, 40);
    c.log_ratio.estimate = log1p(0.01); /* on the very margin: never */
    assert_int_equal(bl_more_blocks(&c, 0.95, 0.01), 0);
    c.n_pairs = 1;
    assert_int_equal(bl_more_blocks(&c, 0.95, 0.01), 0);
    /* five blocks cannot reach 95 %: at least one more, however narrow */
    c = (bl_contrast){.log_ratio = interval(0, 0, 0.9375), .sd = 0, .n_pairs = 5};
    assert_int_equal(bl_more_blocks(&c, 0.95, 0.01), 1);
}

/* Seconds per sample of a machine whose step takes a + b * batch, times `effect` at the powers of two. */
static void make_sweep(const int64_t *batch, size_t n_cases, size_t n_blocks, double effect, double noise, double *y)
{
    bl_rng rng;
    bl_rng_init(&rng, 77, n_cases);
    for (size_t b = 0; b < n_blocks; b++) {
        double level = exp(0.05 * bl_rng_normal(&rng)); /* the block's own */
        for (size_t c = 0; c < n_cases; c++) {
            bool power = (batch[c] & (batch[c] - 1)) == 0;
            double step = 0.1 + 0.01 * (double)batch[c];
            y[c * n_blocks + b] =
                level * step / (double)batch[c] * (power ? effect : 1) * exp(noise * bl_rng_normal(&rng));
        }
    }
}

static void a_smooth_curve_gives_no_difference(void **state)
{
    (void)state;
    const int64_t batch[] = {129, 7, 128, 8, 127, 9, 16, 15, 17, 200};
    double y[10 * 6];
    make_sweep(batch, 10, 6, 1, 0, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 10, 6, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.len, 3);
    const int64_t powers[] = {8, 16, 128};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(n.items[i].power, powers[i]);
        assert_int_equal(n.items[i].n_neighbours, 2);
        assert_int_equal(n.items[i].neighbours[0], powers[i] - 1);
        assert_true(n.items[i].two_sided);
        assert_near(n.items[i].contrast.log_ratio.estimate, 0, 1e-12);
        assert_int_equal(n.items[i].claim, BL_CLAIM_NO_DIFFERENCE);
    }
    assert_int_equal(n.claim, BL_CLAIM_NO_DIFFERENCE);
    bl_neighbours_clear(&n);
}

static void check_sentence(double effect, double noise, size_t blocks, bl_claim claim, const char *sentence)
{
    const int64_t batch[] = {100, 127, 128, 129, 156};
    double y[5 * 40];
    make_sweep(batch, 5, blocks, effect, noise, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 5, blocks, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.claim, claim);
    assert_string_equal(n.sentence, sentence);
    bl_neighbours_clear(&n);
}

static void sentences_claim_what_the_interval_carries(void **state)
{
    (void)state;
    check_sentence(1 / 1.03, 0, 5, BL_CLAIM_DIFFER,
                   "Powers of two: 127 and 129 against 128: they differ by more than 1 %: +3.00 % time per sample "
                   "(interval +3.00 to +3.00 %, level 93.8 %, 5 blocks).");
    check_sentence(1.03, 0, 6, BL_CLAIM_DIFFER,
                   "Powers of two: 127 and 129 against 128: they differ by more than 1 %: -2.91 % time per sample "
                   "(interval -2.91 to -2.91 %, level 96.9 %, 6 blocks).");
    check_sentence(1, 0, 10, BL_CLAIM_NO_DIFFERENCE,
                   "Powers of two: 127 and 129 against 128: no difference above 1 %: 0.00 % time per sample (interval "
                   "0.00 to 0.00 %, level 95.1 %, 10 blocks).");
    check_sentence(1 / 1.003, 0, 10, BL_CLAIM_SMALL,
                   "Powers of two: 127 and 129 against 128: a small but real difference, below 1 %: +0.30 % time per "
                   "sample (interval +0.30 to +0.30 %, level 95.1 %, 10 blocks).");
    check_sentence(1 / 1.03, 0, 4, BL_CLAIM_CANNOT_TELL,
                   "Powers of two: 127 and 129 against 128: cannot tell: +3.00 % time per sample (interval +3.00 to "
                   "+3.00 %, level 87.5 %, 4 blocks); about 2 more blocks would decide.");
    check_sentence(1 / 1.03, 0, 1, BL_CLAIM_CANNOT_TELL,
                   "Powers of two: 127 and 129 against 128: cannot tell: one block gives no interval; run at least 6 "
                   "blocks.");
}

static void noisy_sweeps_cannot_tell(void **state)
{
    (void)state;
    const int64_t batch[] = {127, 128, 129};
    double y[3 * 5];
    make_sweep(batch, 3, 5, 1, 0.03, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 3, 5, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.claim, BL_CLAIM_CANNOT_TELL);
    assert_true(n.more_blocks > 0);
    assert_non_null(strstr(n.sentence, "cannot tell"));
    char more[64];
    snprintf(more, sizeof(more), "about %zu more blocks would decide.", n.more_blocks);
    assert_non_null(strstr(n.sentence, more));
    bl_neighbours_clear(&n);
}

static void sweeps_without_neighbours_say_so(void **state)
{
    (void)state;
    const int64_t batch[] = {1, 2, 4, 64, 100, 128, 150};
    double y[7 * 6];
    make_sweep(batch, 7, 6, 1, 0, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 7, 6, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.len, 0);
    assert_int_equal(n.claim, BL_CLAIM_NONE);
    assert_non_null(strstr(n.sentence, "nothing is said about powers of two"));
    bl_neighbours_clear(&n);
}

static void one_side_is_called_one_side(void **state)
{
    (void)state;
    const int64_t batch[] = {512, 513, 520, 529};
    double y[4 * 6];
    make_sweep(batch, 4, 6, 1, 0, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 4, 6, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.len, 1);
    assert_false(n.items[0].two_sided);
    assert_int_equal(n.items[0].n_neighbours, 2); /* 529 is too far */
    assert_non_null(strstr(n.sentence, "on one side only"));
    bl_neighbours_clear(&n);
}

static void failed_neighbours_cost_their_blocks_only(void **state)
{
    (void)state;
    const int64_t batch[] = {63, 64, 65, 127, 128, 129};
    enum { BLOCKS = 8 };
    double y[6 * BLOCKS];
    make_sweep(batch, 6, BLOCKS, 1, 0, y);
    y[2 * BLOCKS + 3] = NAN; /* 65 in block 3: one-sided there, so the pair goes */
    for (int b = 0; b < BLOCKS; b++)
        y[3 * BLOCKS + b] = NAN; /* 127 never ran: 129 alone stays */
    for (int b = 1; b < BLOCKS; b++)
        y[4 * BLOCKS + b] = NAN; /* 128 ran once */
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 6, BLOCKS, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.len, 2);
    assert_int_equal(n.items[0].contrast.n_pairs, 7);
    assert_int_equal(n.items[1].n_neighbours, 1);
    assert_int_equal(n.items[1].contrast.n_pairs, 1);
    assert_int_equal(n.overall.n_pairs, 7); /* 128 does not drag the whole down to one block */
    assert_true(n.items[0].in_overall && !n.items[1].in_overall);
    assert_non_null(strstr(n.sentence, "63 and 65 against 64"));
    assert_null(strstr(n.sentence, "128"));
    bl_neighbours_clear(&n);
}

static void many_powers_are_named_in_short(void **state)
{
    (void)state;
    int64_t batch[27];
    for (int k = 0; k < 9; k++) {
        int64_t power = (int64_t)8 << k;
        batch[3 * k] = power - 1;
        batch[3 * k + 1] = power;
        batch[3 * k + 2] = power + 1;
    }
    static double y[27 * 6];
    make_sweep(batch, 27, 6, 1, 0, y);
    bl_neighbours n;
    assert_int_equal(bl_neighbours_compute(batch, y, 27, 6, 0.95, 0.01, &n, NULL), BL_OK);
    assert_int_equal(n.len, 9);
    assert_non_null(strstr(n.sentence, "the neighbours of 8, 16, 32, 64, 128, 256 and 3 more against these"));
    bl_neighbours_clear(&n);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const int64_t twice[] = {127, 128, 128};
    double y[] = {1, 1, 1};
    bl_neighbours n;
    bl_error err = {0};
    assert_int_equal(bl_neighbours_compute(twice, y, 3, 1, 0.95, 0.01, &n, &err), BL_ERR_USAGE);
    assert_string_equal(err.message, "batch size 128 stands twice in the cases to compare");
    const int64_t batch[] = {127, 128, 129};
    assert_int_equal(bl_neighbours_compute(batch, y, 3, 1, 0.95, 0, &n, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_neighbours_compute(batch, y, 3, 1, 1, 0.01, &n, NULL), BL_ERR_USAGE);
    y[1] = -1;
    assert_int_equal(bl_neighbours_compute(batch, y, 3, 1, 0.95, 0.01, &n, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_neighbours_compute(batch, y, 0, 0, 0.95, 0.01, &n, NULL), BL_OK);
    bl_neighbours_clear(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_interval_is_taken_over_logs),
        cmocka_unit_test(missing_trials_take_their_pair_only),
        cmocka_unit_test(outlying_blocks_are_pointed_out),
        cmocka_unit_test(best_and_against),
        cmocka_unit_test(claims_follow_the_interval),
        cmocka_unit_test(more_blocks_grow_with_the_spread),
        cmocka_unit_test(a_smooth_curve_gives_no_difference),
        cmocka_unit_test(sentences_claim_what_the_interval_carries),
        cmocka_unit_test(noisy_sweeps_cannot_tell),
        cmocka_unit_test(sweeps_without_neighbours_say_so),
        cmocka_unit_test(one_side_is_called_one_side),
        cmocka_unit_test(failed_neighbours_cost_their_blocks_only),
        cmocka_unit_test(many_powers_are_named_in_short),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
