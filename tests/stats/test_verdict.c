/* The rule of verdicts: looks, shares of the error rate, what stands and what is said. */
#include "near.h"

#include <string.h>

#include "stats/rng.h"
#include "stats/verdict.h"

enum { CASES = 9, BLOCKS = 80 };

/* Case c takes exp(effects[c]) times as long; each trial has noise of its own. */
static void fill(double *y, size_t n_cases, const double *effects, double sigma)
{
    bl_rng rng;
    bl_rng_init(&rng, 5, 0);
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t c = 0; c < n_cases; c++)
            y[c * BLOCKS + b] = 0.01 * exp(effects[c] + sigma * bl_rng_normal(&rng));
}

static bl_verdict judge(const double *y, size_t n_done)
{
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_verdict v;
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, n_done, &(bl_case_pair){0, 1}, 1, &rule, &v, NULL), BL_OK);
    return v;
}

static void only_looks_decide(void **state)
{
    double y[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0.1}, 0.002);
    bl_verdict v = judge(y, 9);
    assert_int_equal(v.kind, BL_VERDICT_INCONCLUSIVE);
    assert_int_equal(v.more_blocks, 1);
    assert_int_equal(v.blocks, 9);
    bl_verdict ten = judge(y, 10);
    assert_int_equal(ten.kind, BL_VERDICT_DIFFERENT);
    assert_near(ten.contrast.log_ratio.level_wanted, 0.99, 1e-12);
    assert_near(ten.equivalence.level_wanted, 0.98, 1e-12);
    v = judge(y, 17); /* what came later changes nothing */
    assert_int_equal(v.kind, BL_VERDICT_DIFFERENT);
    assert_int_equal(v.blocks, 10);
    assert_near(v.contrast.log_ratio.estimate, ten.contrast.log_ratio.estimate, 0);
    v = judge(y, 0);
    assert_int_equal(v.kind, BL_VERDICT_INCONCLUSIVE);
    assert_int_equal(v.more_blocks, 0);
}

static void a_verdict_stands_when_later_blocks_turn(void **state)
{
    double y[2 * BLOCKS], other[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0.1}, 0.002);
    fill(other, 2, (const double[]){0, -0.1}, 0.002);
    for (size_t b = 10; b < BLOCKS; b++)
        y[BLOCKS + b] = other[BLOCKS + b];
    assert_true(judge(y, 60).contrast.log_ratio.estimate > 0.09);
}

static void equality_is_shown_not_assumed(void **state)
{
    double y[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0}, 0.002);
    bl_verdict v = judge(y, 10);
    assert_int_equal(v.kind, BL_VERDICT_NO_PRACTICAL_DIFFERENCE);
    assert_false(v.small_but_real);
    fill(y, 2, (const double[]){0, 0.004}, 0.001);
    v = judge(y, 10);
    assert_int_equal(v.kind, BL_VERDICT_NO_PRACTICAL_DIFFERENCE);
    assert_true(v.small_but_real);
    fill(y, 2, (const double[]){0, 0}, 0.05); /* nothing seen, nothing known */
    v = judge(y, 60);
    assert_int_equal(v.kind, BL_VERDICT_INCONCLUSIVE);
    assert_true(v.more_blocks > 100);
    assert_true(v.beyond_looks);
}

static void the_error_rate_is_shared_among_open_pairs(void **state)
{
    double y[3 * BLOCKS];
    const bl_case_pair pairs[] = {{0, 1}, {0, 2}, {1, 2}};
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_verdict v[3];
    fill(y, 3, (const double[]){0, 0.1, 0.2}, 0.002);
    assert_int_equal(bl_verdicts_compute(y, 3, BLOCKS, 10, pairs, 3, &rule, v, NULL), BL_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(v[i].kind, BL_VERDICT_DIFFERENT);
        assert_near(v[i].contrast.log_ratio.level_wanted, 1 - 0.01 / 3, 1e-12);
    }
    /* Two are decided at once; the one at the margin then has their shares. */
    fill(y, 3, (const double[]){0, log1p(0.01), 0.2}, 0.002);
    assert_int_equal(bl_verdicts_compute(y, 3, BLOCKS, 10, pairs, 3, &rule, v, NULL), BL_OK);
    assert_int_equal(v[0].kind, BL_VERDICT_INCONCLUSIVE);
    assert_near(v[0].contrast.log_ratio.level_wanted, 0.99, 1e-12);
    assert_int_equal(v[1].kind, BL_VERDICT_DIFFERENT);
    assert_near(v[1].contrast.log_ratio.level_wanted, 1 - 0.01 / 3, 1e-12);
}

/* With eight pairs open, ten blocks have no finite interval of the level that a verdict wants. */
static void no_verdict_without_the_level(void **state)
{
    double y[CASES * BLOCKS];
    double effects[CASES];
    bl_case_pair pairs[CASES - 1];
    for (size_t c = 0; c < CASES; c++)
        effects[c] = 0.1 * (double)c;
    for (size_t i = 0; i + 1 < CASES; i++)
        pairs[i] = (bl_case_pair){0, i + 1};
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_verdict v[CASES - 1];
    fill(y, CASES, effects, 0.002);
    assert_int_equal(bl_verdicts_compute(y, CASES, BLOCKS, 10, pairs, CASES - 1, &rule, v, NULL), BL_OK);
    assert_int_equal(v[3].kind, BL_VERDICT_INCONCLUSIVE);
    assert_int_equal(v[3].more_blocks, 10);
    assert_int_equal(bl_verdicts_compute(y, CASES, BLOCKS, 20, pairs, CASES - 1, &rule, v, NULL), BL_OK);
    for (size_t i = 0; i + 1 < CASES; i++)
        assert_int_equal(v[i].kind, BL_VERDICT_DIFFERENT);
}

static void missing_trials_take_their_pair_away(void **state)
{
    double y[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0.1}, 0.002);
    y[3] = y[BLOCKS + 5] = NAN;
    bl_verdict v = judge(y, 10);
    assert_int_equal(v.contrast.n_pairs, 8);
    assert_int_equal(v.kind, BL_VERDICT_DIFFERENT); /* 2^-7 = 0.0078 is still below 0.01 */
    for (size_t b = 0; b < BLOCKS; b++)
        y[b] = NAN;
    v = judge(y, 60);
    assert_int_equal(v.kind, BL_VERDICT_INCONCLUSIVE);
    assert_int_equal(v.contrast.n_pairs, 0);
}

static void rules_that_make_no_sense_are_refused(void **state)
{
    double y[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0}, 0.01);
    bl_verdict_rule rule;
    bl_verdict v;
    const bl_case_pair pair = {0, 1};
    bl_verdict_rule_init(&rule);
    rule.margin = 0;
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &pair, 1, &rule, &v, NULL), BL_ERR_USAGE);
    bl_verdict_rule_init(&rule);
    rule.confidence = 1;
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &pair, 1, &rule, &v, NULL), BL_ERR_USAGE);
    bl_verdict_rule_init(&rule);
    rule.looks[1] = 10;
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &pair, 1, &rule, &v, NULL), BL_ERR_USAGE);
    bl_verdict_rule_init(&rule);
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &(bl_case_pair){0, 2}, 1, &rule, &v, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &(bl_case_pair){1, 1}, 1, &rule, &v, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_verdicts_compute(y, 2, BLOCKS, 10, &pair, 0, &rule, &v, NULL), BL_ERR_USAGE);
    assert_int_equal(bl_verdict_next_look(&rule, 0), 10);
    assert_int_equal(bl_verdict_next_look(&rule, 10), 20);
    assert_int_equal(bl_verdict_next_look(&rule, 60), 0);
}

static void expect_sentence(const bl_verdict *v, const char *start, const char *part)
{
    bl_verdict_rule rule;
    bl_verdict_rule_init(&rule);
    bl_str s;
    bl_str_init(&s);
    bl_verdict_sentence(v, "128", "129", false, &rule, &s);
    const char *text = bl_str_text(&s);
    if (strncmp(text, start, strlen(start)) != 0 || strstr(text, part) == NULL || text[s.len - 1] != '.')
        fail_msg("%s", text);
    bl_str_clear(&s);
}

static void the_sentence_says_what_was_found(void **state)
{
    double y[2 * BLOCKS];
    fill(y, 2, (const double[]){0, 0.1}, 0.002);
    bl_verdict v = judge(y, 10);
    expect_sentence(&v, "129 against 128: different, slower by more than 1 %: +10.", "level 99.02 %, 10 blocks)");
    fill(y, 2, (const double[]){0, -0.1}, 0.002);
    v = judge(y, 10);
    expect_sentence(&v, "129 against 128: different, faster by more than 1 %: -9.", "time per sample");
    fill(y, 2, (const double[]){0, 0}, 0.002);
    v = judge(y, 10);
    expect_sentence(&v, "129 against 128: no practical difference: ", "two one-sided tests keep it within 1 %");
    fill(y, 2, (const double[]){0, 0.004}, 0.001);
    v = judge(y, 10);
    expect_sentence(&v, "129 against 128: no practical difference, though a small real one: +0.4", "10 blocks");
    fill(y, 2, (const double[]){0, 0}, 0.05);
    v = judge(y, 60);
    expect_sentence(&v, "129 against 128: inconclusive: ", "more than the last look takes");
    v = judge(y, 1);
    expect_sentence(&v, "129 against 128: inconclusive: ", "it takes at least 8 blocks");
    y[0] = NAN;
    v = judge(y, 1);
    expect_sentence(&v, "129 against 128: inconclusive: no block gave figures of both; it takes", "blocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_looks_decide),
        cmocka_unit_test(a_verdict_stands_when_later_blocks_turn),
        cmocka_unit_test(equality_is_shown_not_assumed),
        cmocka_unit_test(the_error_rate_is_shared_among_open_pairs),
        cmocka_unit_test(no_verdict_without_the_level),
        cmocka_unit_test(missing_trials_take_their_pair_away),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(the_sentence_says_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
