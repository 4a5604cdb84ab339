#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static sample s;

#define assert_close(got, want) assert_true(fabs((got) - (want)) <= 1e-12 * fabs(want))

/* Step times 1.27, 1.28 and 1.29 s: exactly 0.01 s a sample for all three. */
static void figures_come_from_the_warm_steps(void **state)
{
    sample_init(&s, 6);
    for (size_t block = 0; block < 6; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add(&s, block, c, 1.27 + 0.01 * (double)c);
    sample_analyse(&s);
    const bl_analysis *a = &s.analysis;
    assert_true(a->n_cases == 3 && a->n_blocks == 6 && a->n_blocks_done == 6 && !a->per_run);
    for (size_t c = 0; c < 3; c++) {
        const bl_case_figure *f = &a->cases[c];
        assert_true(f->batch == 127 + (int64_t)c && f->n_trials == 6 && f->n_ok == 6 && f->n_with_figure == 6);
        assert_true(f->source == BL_FIGURE_STEPS && f->n_unsteady == 0);
        assert_close(f->seconds.estimate, 0.01); /* the tenfold first step is not in it */
        assert_true(f->seconds.reaches_level);
        assert_close(f->step_seconds, 1.27 + 0.01 * (double)c);
        assert_close(f->wait_share, 0.25);
        assert_string_equal(f->outcome, "ok");
        assert_true(f->peak_memory_b == (double)(100 + 15 + c) * (1 << 20)); /* the largest of its trials */
    }
    assert_true(a->n_groups == 1);
    assert_true(a->groups[0].neighbours.claim == BL_CLAIM_NO_DIFFERENCE);
    sample_clear(&s);
}

/* Loading before the first step is told by itself, where it was told. */
static void the_load_phase_is_apart(void **state)
{
    static bl_named_value loads[3][2] = {{{.name = "top1", .value = 7}, {.name = "load_s", .value = 3}},
                                         {{.name = "load_s", .value = 1}, {.name = "top1", .value = 7}},
                                         {{.name = "load_s", .value = 8}, {.name = "top1", .value = 7}}};
    sample_init(&s, 3);
    for (size_t block = 0; block < 3; block++)
        for (size_t c = 0; c < 2; c++) {
            bl_trial_record *t = sample_add(&s, block, c, 1.28);
            if (c == 0)
                continue;
            t->metrics = loads[block];
            t->n_metrics = 2;
        }
    sample_analyse(&s);
    assert_true(isnan(s.analysis.cases[0].load_seconds));
    assert_true(s.analysis.cases[1].load_seconds == 3);
    assert_close(s.analysis.cases[1].seconds.estimate, 0.01);
    sample_clear(&s);
}

/* What a whole block suffered from cancels in the comparison with the best. */
static void comparisons_are_made_inside_blocks(void **state)
{
    static const double weather[] = {1, 1.5, 0.9, 1.2, 1.1, 2};
    sample_init(&s, 6);
    for (size_t block = 0; block < 6; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add(&s, block, c, (c == 1 ? 1.0 : 1.1) * 0.128 * weather[block]);
    sample_analyse(&s);
    const bl_contrast *against = &s.analysis.cases[0].against_best;
    assert_true(s.analysis.best == 1);
    assert_true(fabs(against->ratio.estimate - 1.1 * 128 / 127) < 1e-6);
    assert_true(against->ratio.high - against->ratio.low < 1e-6);
    assert_true(s.analysis.cases[0].seconds.high > 1.5 * s.analysis.cases[0].seconds.low);
    sample_clear(&s);
}

static void failed_and_interrupted_trials_give_no_figure(void **state)
{
    sample_init(&s, 3);
    for (size_t block = 0; block < 3; block++)
        for (size_t c = 0; c < 2; c++)
            sample_add(&s, block, c, 0.1);
    for (size_t block = 0; block < 3; block++) {
        bl_trial_record *t = sample_add(&s, block, 2, 0.01);
        t->outcome = block == 0 ? "crashed" : "out_of_memory";
        t->reason = block == 0 ? "exit status 1" : "no room";
    }
    sample_add(&s, 0, 0, 0.001)->outcome = "interrupted"; /* repeated later: does not count */
    sample_analyse(&s);
    const bl_case_figure *f = &s.analysis.cases[2];
    assert_true(f->n_trials == 3 && f->n_ok == 0 && f->n_with_figure == 0 && f->source == BL_FIGURE_NONE);
    assert_string_equal(f->outcome, "out_of_memory"); /* the commoner one */
    assert_true(f->n_outcome == 2);
    assert_string_equal(f->reason, "no room");
    assert_true(isnan(f->seconds.estimate) && isnan(f->peak_memory_b));
    assert_true(s.analysis.cases[0].n_trials == 3 && s.analysis.best == 1);
    assert_close(s.analysis.cases[0].seconds.estimate, 0.1 / 127);
    sample_clear(&s);
}

static void silent_programs_have_seconds_a_run_or_declared_samples(void **state)
{
    sample_init(&s, 2);
    for (size_t block = 0; block < 2; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add_silent(&s, block, c, 3 + (double)c, NAN);
    sample_analyse(&s);
    assert_true(s.analysis.per_run && s.analysis.cases[0].source == BL_FIGURE_RUN);
    assert_close(s.analysis.cases[2].seconds.estimate, 5.0);
    sample_clear(&s);

    sample_init(&s, 2);
    for (size_t block = 0; block < 2; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add_silent(&s, block, c, 3, 1270 + 10 * (double)c);
    sample_analyse(&s);
    assert_true(!s.analysis.per_run && s.analysis.cases[0].source == BL_FIGURE_WALL);
    assert_close(s.analysis.cases[0].seconds.estimate, 3.0 / 1270);
    sample_clear(&s);
}

/* Seconds a run and seconds a sample are never put into one column. */
static void units_are_not_mixed(void **state)
{
    sample_init(&s, 2);
    sample_add(&s, 0, 0, 0.127);
    sample_add_silent(&s, 1, 0, 5, NAN);
    sample_add_silent(&s, 0, 1, 5, NAN);
    sample_analyse(&s);
    assert_true(!s.analysis.per_run);
    assert_close(s.analysis.cases[0].seconds.estimate, 0.001);
    assert_true(s.analysis.cases[0].seconds.n == 1 && !s.analysis.cases[0].seconds.has_interval);
    assert_true(isnan(s.analysis.cases[1].seconds.estimate));
    assert_string_equal(s.analysis.cases[2].outcome, "-");
    assert_true(s.analysis.n_blocks_done == 0);
    sample_clear(&s);

    sample_init(&s, 2);
    sample_add(&s, 0, 0, 0.127);
    sample_add_silent(&s, 1, 0, 5, 5000);
    sample_analyse(&s);
    assert_true(s.analysis.cases[0].source == BL_FIGURE_MIXED);
    sample_clear(&s);
}

static void a_first_step_of_unknown_length_is_left_out(void **state)
{
    sample_init(&s, 1);
    bl_trial_record *t = sample_add(&s, 0, 0, 0.127);
    t->steps[0].time_ns = 0;
    bl_trial_figure figure;
    assert_int_equal(bl_trial_figure_compute(t, 0, &figure, NULL), BL_OK);
    assert_close(figure.seconds, 0.001);
    for (size_t i = 0; i < t->n_steps; i++)
        t->steps[i].time_ns = 0;
    assert_int_equal(bl_trial_figure_compute(t, 3, &figure, NULL), BL_OK);
    assert_true(isnan(figure.seconds));
    t->n_steps = 0;
    assert_int_equal(bl_trial_figure_compute(t, 3, &figure, NULL), BL_OK);
    assert_true(isnan(figure.seconds) && figure.source == BL_FIGURE_NONE);
    sample_clear(&s);
}

static void other_factors_get_a_sentence_each(void **state)
{
    static const char *batches[] = {"32", "33", "31"}, *workers[] = {"0", "2"};
    static bl_stored_factor factors[] = {{"batch", batches, 3}, {"workers", workers, 2}};
    sample_init(&s, 6);
    s.experiment.factors = factors;
    s.experiment.n_factors = 2;
    for (size_t block = 0; block < 6; block++)
        for (size_t c = 0; c < 6; c++) /* two workers: 32 is twice as fast as its neighbours */
            sample_add_silent(&s, block, c, c == 1 ? 0.5 : 1, strtod(batches[c / 2], NULL));
    sample_analyse(&s);
    assert_true(s.analysis.n_groups == 2 && s.analysis.best == 1);
    assert_string_equal(s.analysis.groups[0].label, "workers=0");
    assert_string_equal(s.analysis.groups[1].label, "workers=2");
    assert_true(s.analysis.groups[0].neighbours.claim == BL_CLAIM_NO_DIFFERENCE);
    assert_true(s.analysis.groups[1].neighbours.claim == BL_CLAIM_DIFFER);
    assert_string_equal(s.analysis.cases[5].label, "batch=31 workers=2");
    sample_clear(&s);
}

/* Seconds per sample of four sizes; `wobble` moves that of 32 up and down from block to block. */
static const bl_knee *find_knee(size_t n_blocks, double wobble)
{
    static const char *batches[] = {"64", "8", "16", "32"};
    static const double seconds[] = {1, 1.1, 1.03, 1.004};
    static bl_stored_factor factor = {"batch", batches, 4};
    sample_init(&s, (int64_t)n_blocks);
    s.experiment.factors = &factor;
    for (size_t block = 0; block < n_blocks; block++)
        for (size_t c = 0; c < 4; c++) {
            double own = c == 3 ? 1 + (block % 2 ? wobble : -wobble) : 1;
            sample_add_silent(&s, block, c, seconds[c] * own * (1 + 0.1 * (double)block), 1);
        }
    sample_analyse(&s);
    return &s.analysis.groups[0].knee;
}

static void the_knee_is_the_smallest_size_that_is_fast_enough(void **state)
{
    bl_str text;
    bl_str_init(&text);
    const bl_knee *k = find_knee(6, 0);
    assert_true(k->known && k->has_limits && k->best == 0 && k->at == 3 && k->low == 3 && k->high == 3);
    assert_close(k->level, 1 - 2 / 64.0);
    bl_knee_sentence(&s.analysis, &s.analysis.groups[0], &text);
    assert_non_null(
        strstr(bl_str_text(&text),
               "Knee: 32 is the smallest size within 1 % of the best throughput, that of "
               "64; the intervals leave no other (level 96.9 %); it takes 123 MiB of memory, 64 takes 120 MiB."));
    sample_clear(&s);

    k = find_knee(8, 0.02); /* 32 may be too slow */
    assert_true(k->at == 3 && k->low == 3 && k->high == 0);
    bl_str_reset(&text);
    bl_knee_sentence(&s.analysis, &s.analysis.groups[0], &text);
    assert_non_null(strstr(bl_str_text(&text), "the intervals leave 32 to 64 (level 96"));
    sample_clear(&s);

    k = find_knee(1, 0); /* one block has no intervals */
    assert_true(k->known && !k->has_limits && k->at == 3);
    bl_str_reset(&text);
    bl_knee_sentence(&s.analysis, &s.analysis.groups[0], &text);
    assert_null(strstr(bl_str_text(&text), "intervals"));
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        s.trials[i].run_samples = NAN; /* seconds a run are no throughput */
    bl_analysis_clear(&s.analysis);
    sample_analyse(&s);
    assert_false(s.analysis.groups[0].knee.known);
    bl_str_reset(&text);
    bl_knee_sentence(&s.analysis, &s.analysis.groups[0], &text);
    assert_int_equal(text.len, 0);
    sample_clear(&s);
    bl_str_clear(&text);
}

static void an_experiment_without_cases_is_an_error(void **state)
{
    sample_init(&s, 1);
    s.experiment.n_factors = 0;
    bl_error err = {0};
    assert_int_equal(bl_analysis_compute(&s.experiment, &s.arena, &s.analysis, &err), BL_ERR_FORMAT);
    sample_clear(&s);
    sample_init(&s, 3); /* but one without trials is none */
    sample_analyse(&s);
    assert_true(s.analysis.best == 3);
    sample_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_come_from_the_warm_steps),
        cmocka_unit_test(the_load_phase_is_apart),
        cmocka_unit_test(comparisons_are_made_inside_blocks),
        cmocka_unit_test(failed_and_interrupted_trials_give_no_figure),
        cmocka_unit_test(silent_programs_have_seconds_a_run_or_declared_samples),
        cmocka_unit_test(units_are_not_mixed),
        cmocka_unit_test(a_first_step_of_unknown_length_is_left_out),
        cmocka_unit_test(other_factors_get_a_sentence_each),
        cmocka_unit_test(the_knee_is_the_smallest_size_that_is_fast_enough),
        cmocka_unit_test(an_experiment_without_cases_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
