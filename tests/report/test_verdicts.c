/* Comparisons in the reports: verdicts, self-tests, warnings. Experiments whose every figure is known beforehand. */
#include "sample.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "report/chart.h"
#include "report/selftest.h"
#include "report/warnings.h"
#include "stats/rng.h"

static sample s;
static bl_stored_pair pairs[] = {{1, 0}, {1, 2}};

enum { BLOCKS = 20 };

/* Case c takes factor[c] times as long a sample; each trial has luck of its own, and each block its weather. */
static void fill(const double *factor, size_t n_blocks, double luck, double drift)
{
    bl_rng rng;
    bl_rng_init(&rng, 11, 0);
    sample_init(&s, 60);
    s.experiment.comparison = (bl_comparison){.confidence = 0.95, .budget_s = NAN, .pairs = pairs, .n_pairs = 2};
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t c = 0; c < 3; c++) {
            double own = exp(luck * bl_rng_normal(&rng) + drift * (double)b);
            sample_add(&s, b, c, factor[c] * (0.127 + 0.001 * (double)c) * own);
        }
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void verdicts_are_replayed_from_the_trials(void **state)
{
    fill((const double[]){1, 1, 1.1}, 14, 0.001, 0);
    sample_analyse(&s);
    const bl_analysis *a = &s.analysis;
    assert_true(a->n_pairs == 2 && a->n_open == 0 && a->n_blocks_judged == 10);
    assert_true(a->pairs[0].verdict.kind == BL_VERDICT_NO_PRACTICAL_DIFFERENCE);
    assert_true(a->pairs[1].verdict.kind == BL_VERDICT_DIFFERENT && a->pairs[1].verdict.blocks == 10);
    assert_string_equal(a->pairs[1].a, "128");
    assert_string_equal(a->pairs[1].b, "129");
    bl_str out;
    bl_str_init(&out);
    bl_report_style style = {.width = 2000};
    bl_report_text(a, &style, &out);
    expect(bl_str_text(&out), "127 against 128: no practical difference");
    expect(bl_str_text(&out), "129 against 128: different, slower by more than 1 %: +10.");
    assert_null(strstr(bl_str_text(&out), "Powers of two"));
    bl_str_reset(&out);
    assert_int_equal(bl_report_json(a, false, &out, NULL), BL_OK);
    json_t *json = json_loads(bl_str_text(&out), 0, NULL);
    const json_t *verdict = json_array_get(json_object_get(json, "verdicts"), 1);
    assert_string_equal(json_string_value(json_object_get(verdict, "verdict")), "different");
    assert_true(json_integer_value(json_object_get(verdict, "blocks")) == 10);
    assert_true(json_is_null(json_object_get(verdict, "more_blocks")));
    json_decref(json);
    bl_str_clear(&out);
    sample_clear(&s);
}

static void verdicts_are_drawn(void **state)
{
    fill((const double[]){1, 1, 1.1}, 14, 0.001, 0);
    sample_analyse(&s);
    const bl_analysis *const only[] = {&s.analysis};
    bl_chart charts[BL_CHARTS_MAX];
    size_t n = 0, found = 0;
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n, NULL), BL_OK);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(charts[i].id, "verdicts") != 0)
            continue;
        found++;
        const bl_chart_series *series = &charts[i].series[0];
        assert_true(charts[i].band == 1 && charts[i].n_rows == 2 && series->n == 2);
        assert_string_equal(charts[i].rows[1], "129 against 128");
        for (size_t p = 0; p < 2; p++) {
            const bl_interval *ratio = &s.analysis.pairs[p].verdict.contrast.ratio;
            assert_true(fabs(series->x[p] - 100 * (ratio->estimate - 1)) < 1e-9);
            assert_true(fabs(series->low[p] - 100 * (ratio->low - 1)) < 1e-9);
            assert_true(fabs(series->high[p] - 100 * (ratio->high - 1)) < 1e-9 && series->special[p]);
        }
    }
    assert_int_equal(found, 1);
    sample_clear(&s);
}

/* A case that is decided runs no more; the other pair's blocks go on without it. */
static void a_decided_case_need_not_go_on(void **state)
{
    fill((const double[]){1.01, 1, 1.1}, BLOCKS, 0.004, 0);
    size_t kept = 0;
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        if (s.trials[i].case_index != 2 || s.trials[i].block < 10)
            s.trials[kept++] = s.trials[i];
    s.experiment.n_trials = kept;
    sample_analyse(&s);
    assert_true(s.analysis.n_blocks_judged == BLOCKS && s.analysis.n_open == 1);
    assert_true(s.analysis.pairs[1].verdict.blocks == 10);
    assert_true(s.analysis.pairs[0].verdict.blocks == BLOCKS);
    sample_clear(&s);
    /* But one that is open and has a gap stops the looks before it. */
    fill((const double[]){1.01, 1, 1.1}, BLOCKS, 0.004, 0);
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        if (s.trials[i].case_index == 0 && s.trials[i].block == 12)
            s.trials[i].outcome = "interrupted";
    sample_analyse(&s);
    assert_true(s.analysis.n_blocks_judged == 12);
    sample_clear(&s);
}

static void pairs_that_do_not_exist_are_refused(void **state)
{
    static bl_stored_pair bad[] = {{0, 3}};
    fill((const double[]){1, 1, 1}, 10, 0.001, 0);
    s.experiment.comparison.pairs = bad;
    s.experiment.comparison.n_pairs = 1;
    bl_analysis a;
    assert_int_equal(bl_analysis_compute(&s.experiment, &s.arena, &a, NULL), BL_ERR_FORMAT);
    bl_analysis_clear(&a);
    sample_clear(&s);
}

/* ---- warnings ---- */

static bl_strv collect(void)
{
    bl_strv warnings;
    bl_strv_init(&warnings);
    sample_analyse(&s);
    assert_int_equal(bl_warnings_collect(&s.analysis, &warnings, NULL), BL_OK);
    return warnings;
}

static void expect_warning(const char *start, const char *part)
{
    bl_strv warnings = collect();
    size_t found = 0;
    for (size_t i = 0; i < warnings.len; i++)
        found += strncmp(warnings.items[i], start, strlen(start)) == 0 && strstr(warnings.items[i], part) != NULL;
    if (found != 1)
        fail_msg("%zu warnings, %zu of them '%s ... %s'; the first: %s", warnings.len, found, start, part,
                 warnings.len ? warnings.items[0] : "-");
    bl_strv_clear(&warnings);
    sample_clear(&s);
}

/* sample.c's trials wait for data in a quarter of their time. */
static void stop_waiting(void)
{
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        for (size_t k = 0; k < s.trials[i].n_steps; k++)
            s.trials[i].steps[k].wait_ns = 0;
}

static void a_calm_experiment_has_no_warnings(void **state)
{
    for (double luck = 0.001; luck < 0.05; luck *= 3) {
        fill((const double[]){1, 1, 1}, BLOCKS, luck, 0);
        stop_waiting();
        bl_strv warnings = collect();
        if (warnings.len > 0)
            fail_msg("%s", warnings.items[0]);
        bl_strv_clear(&warnings);
        sample_clear(&s);
    }
}

static void drift_is_told(void **state)
{
    fill((const double[]){1, 1, 1}, BLOCKS, 0.003, 0.002);
    stop_waiting();
    expect_warning("Drift: ", "% slower");
    fill((const double[]){1, 1, 1}, BLOCKS, 0.003, -0.002);
    expect_warning("Drift: ", "% faster");
}

/* The first half of the blocks on one node, the second on another that is slower by `factor`. */
static void run_on_nodes(double factor)
{
    for (size_t i = 0; i < s.experiment.n_trials; i++) {
        bool second = s.trials[i].block >= BLOCKS / 2;
        s.trials[i].node = second ? "n2" : "n1";
        s.trials[i].job_step = "12.3";
        for (size_t k = 0, n = s.trials[i].n_steps; second && k < n; k++) {
            bl_stored_step *step = &s.trials[i].steps[k];
            step->time_ns = (int64_t)((double)step->time_ns * factor);
            step->end_ns = step->time_ns + (k > 0 ? step[-1].end_ns : 0);
        }
    }
}

static void a_slower_node_is_no_drift(void **state)
{
    fill((const double[]){1, 1, 1.1}, BLOCKS, 0.001, 0);
    stop_waiting();
    run_on_nodes(1.3);
    bl_strv warnings = collect();
    assert_int_equal(warnings.len, 0);
    bl_strv_clear(&warnings);
    /* Blocks compare inside one node, so its speed harms no verdict. */
    assert_true(s.analysis.pairs[0].verdict.kind == BL_VERDICT_NO_PRACTICAL_DIFFERENCE);
    assert_true(s.analysis.pairs[1].verdict.kind == BL_VERDICT_DIFFERENT);
    bl_str out;
    bl_str_init(&out);
    bl_report_style style = {.width = 200};
    bl_report_text(&s.analysis, &style, &out);
    expect(bl_str_text(&out), "Nodes\n");
    expect(bl_str_text(&out), "n1        10      30  30           -12.3 %\n");
    expect(bl_str_text(&out), "n2        10      30  30           +14.0 %\n");
    bl_str_reset(&out);
    bl_report_details(&s.analysis, &style, &out);
    expect(bl_str_text(&out), "batch=129  n2 ");
    bl_str_reset(&out);
    assert_int_equal(bl_report_json(&s.analysis, false, &out, NULL), BL_OK);
    json_t *json = json_loads(bl_str_text(&out), 0, NULL);
    const json_t *trial = json_array_get(json_object_get(json, "trials"), 59);
    assert_string_equal(json_string_value(json_object_get(trial, "node")), "n2");
    assert_string_equal(json_string_value(json_object_get(trial, "job_step")), "12.3");
    json_decref(json);
    bl_str_clear(&out);
    sample_clear(&s);
    /* A drift that is the same on both is told all the same. */
    fill((const double[]){1, 1, 1}, BLOCKS, 0.001, 0.004);
    stop_waiting();
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        s.trials[i].node = s.trials[i].block % 2 ? "n1" : "n2";
    expect_warning("Drift: ", "% slower");
}

static void waiting_for_data_is_told(void **state)
{
    fill((const double[]){1, 1, 1}, 6, 0.003, 0);
    expect_warning("Data loading: 3 of 3 cases wait ", "the loader's as well as the model's.");
    fill((const double[]){1, 1, 1}, 6, 0.003, 0);
    bl_strv warnings = collect();
    assert_true(warnings.len == 1 && strstr(warnings.items[0], "for 25 %") && !strstr(warnings.items[0], "bound by"));
    bl_strv_clear(&warnings);
    sample_clear(&s);
    fill((const double[]){1, 1, 1}, 6, 0.003, 0);
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        for (size_t k = 0; s.trials[i].case_index == 1 && k < s.trials[i].n_steps; k++)
            s.trials[i].steps[k].wait_ns = s.trials[i].steps[k].time_ns / 10 * 6;
    expect_warning("Data loading: 3 of 3 cases wait ", " 1 of them for half of it or more: bound by the loader");
}

/* The second case gets slower against the first for a while, then faster again. */
static void dependent_differences_are_told(void **state)
{
    fill((const double[]){1, 1, 1}, BLOCKS, 0.001, 0);
    stop_waiting();
    for (size_t i = 0; i < s.experiment.n_trials; i++)
        if (s.trials[i].case_index == 2)
            for (size_t k = 0; k < s.trials[i].n_steps; k++)
                s.trials[i].steps[k].time_ns += (int64_t)(1e6 * sin((double)s.trials[i].block / 3));
    expect_warning("Autocorrelation: ", "129 from 128");
}

static void what_follows_a_case_is_told(void **state)
{
    bl_rng rng;
    bl_rng_init(&rng, 5, 0);
    fill((const double[]){1, 1, 1}, BLOCKS, 0.001, 0);
    stop_waiting();
    for (size_t i = 1; i < s.experiment.n_trials; i++) {
        s.trials[i].predecessor = (int64_t)bl_rng_below(&rng, 3);
        for (size_t k = 0; s.trials[i].predecessor == 1 && k < s.trials[i].n_steps; k++)
            s.trials[i].steps[k].time_ns += s.trials[i].steps[k].time_ns / 100;
    }
    expect_warning("Predecessor: what runs just after batch=128 is ", "slower");
}

/* ---- self-tests ---- */

static void a_self_test_counts_its_alarms(void **state)
{
    bl_selftest t;
    bl_report_style style = {.width = 2000};
    bl_str out;
    bl_str_init(&out);
    fill((const double[]){1, 128.0 / 127, 1}, BLOCKS, 0.003, 0); /* equal step times are not equal times a sample */
    s.experiment.comparison.n_pairs = 1;
    s.experiment.blocks = BLOCKS;
    sample_analyse(&s);
    assert_int_equal(bl_selftest_compute(&s.analysis, &t, NULL), BL_OK);
    assert_true(t.n_stretches == 2);
    assert_true(isfinite(t.resolution[4].difference));
    sample_clear(&s);

    fill((const double[]){1, 1, 1}, BLOCKS, 0.003, 0);
    s.experiment.comparison.n_pairs = 1;
    s.experiment.blocks = BLOCKS;
    sample_analyse(&s);
    assert_int_equal(bl_selftest_compute(&s.analysis, &t, NULL), BL_OK);
    bl_selftest_text(&s.analysis, &t, &style, &out);
    assert_true(!t.alarm == (strstr(bl_str_text(&out), "The interval holds 0") != NULL));
    sample_clear(&s);

    fill((const double[]){1.05, 1, 1}, BLOCKS, 0.003, 0);
    s.experiment.comparison.n_pairs = 1;
    s.experiment.blocks = BLOCKS;
    sample_analyse(&s);
    bl_str_reset(&out);
    assert_int_equal(bl_selftest_compute(&s.analysis, &t, NULL), BL_OK);
    assert_true(t.alarm && t.n_stretch_alarms == 2);
    bl_selftest_text(&s.analysis, &t, &style, &out);
    expect(bl_str_text(&out), "FALSE ALARM");
    expect(bl_str_text(&out), "stretches of 10 blocks: 2 of 2");
    expect(bl_str_text(&out), "'different' after 10 blocks");
    bl_str_clear(&out);
    s.analysis.n_pairs = 2;
    assert_int_equal(bl_selftest_compute(&s.analysis, &t, NULL), BL_ERR_USAGE);
    sample_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_replayed_from_the_trials),
        cmocka_unit_test(verdicts_are_drawn),
        cmocka_unit_test(a_decided_case_need_not_go_on),
        cmocka_unit_test(pairs_that_do_not_exist_are_refused),
        cmocka_unit_test(a_calm_experiment_has_no_warnings),
        cmocka_unit_test(drift_is_told),
        cmocka_unit_test(a_slower_node_is_no_drift),
        cmocka_unit_test(waiting_for_data_is_told),
        cmocka_unit_test(dependent_differences_are_told),
        cmocka_unit_test(what_follows_a_case_is_told),
        cmocka_unit_test(a_self_test_counts_its_alarms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
