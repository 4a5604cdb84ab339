/* Pictures, the page and the terminal's plot: golden files (BATCHLAB_UPDATE_GOLDEN=1 writes them anew), and texts that
 * want to be markup. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "report/page.h"
#include "report/page_script.h"
#include "report/svg.h"
#include "report/traces.h"

static sample s;
static bl_str out;
static bl_chart charts[BL_CHARTS_MAX];
static size_t n_charts;

static int set_up(void **state)
{
    sample_fill(&s, 6);
    s.trials[4].outcome = "crashed";
    s.trials[4].reason = "exit status 3";
    bl_str_init(&out);
    return 0;
}

static int tear_down(void **state)
{
    sample_clear(&s);
    bl_str_clear(&out);
    return 0;
}

static const bl_analysis *const only[] = {&s.analysis};

static void make_charts(void)
{
    sample_analyse(&s);
    assert_int_equal(bl_charts_make(only, 1, &s.arena, charts, &n_charts, NULL), BL_OK);
}

static const bl_chart *chart_of(const char *id)
{
    for (size_t i = 0; i < n_charts; i++)
        if (strcmp(charts[i].id, id) == 0)
            return &charts[i];
    fail_msg("no chart %s", id);
    return NULL;
}

static void expect_golden(const char *name)
{
    sample_expect_golden(name, &out);
}

static void pictures_are_as_they_were(void **state)
{
    make_charts();
    static const char *const ids[] = {"throughput", "step_time",   "residuals", "memory",
                                      "wait",       "differences", "timeline",  "steps"};
    for (size_t i = 0; i < BL_ARRAY_LEN(ids); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.svg", ids[i]);
        bl_str_reset(&out);
        bl_svg_chart(chart_of(ids[i]), true, &out);
        expect_golden(name);
    }
}

static void terminal_plots_are_as_they_were(void **state)
{
    sample_analyse(&s);
    static const int widths[] = {40, 80, 200};
    for (size_t i = 0; i < 6; i++) {
        bl_report_style style = {.utf8 = i % 2 == 0, .width = widths[i / 2]};
        char name[64];
        snprintf(name, sizeof name, "plot-%d-%s.txt", style.width, style.utf8 ? "utf8" : "ascii");
        bl_str_reset(&out);
        bl_report_plot(&s.analysis, &style, &out);
        expect_golden(name);
    }
}

/* Each text format, from one and the same made-up experiment, hostile words in it. */
static void texts_are_as_they_were(void **state)
{
    static char program[] = "train|x", placeholder[] = "{batch} `<b>*_$";
    static char *command[] = {program, placeholder, NULL};
    static bl_environment_item item = {.name = "cpu", .value = "a <b>|c`", .source = "s"};
    static const bl_report_style style = {.utf8 = true, .width = 100}, ascii = {.width = 100};
    s.experiment.command = command;
    s.experiment.name = "first `try` *x*";
    s.experiment.environment = (bl_environment){&item, 1};
    sample_analyse(&s);
    bl_report_text(&s.analysis, &style, &out);
    expect_golden("text-utf8.txt");
    bl_str_reset(&out);
    bl_report_text(&s.analysis, &ascii, &out);
    expect_golden("text-ascii.txt");
    bl_str_reset(&out);
    bl_report_details(&s.analysis, &ascii, &out);
    expect_golden("details.txt");
    bl_str_reset(&out);
    bl_report_markdown(&s.analysis, &out);
    expect_golden("experiment.md");
    bl_str_reset(&out);
    assert_int_equal(bl_report_json(&s.analysis, true, &out, NULL), BL_OK);
    expect_golden("experiment.json");
    bl_str_reset(&out);
    bl_report_csv_steps(&s.analysis, &out);
    expect_golden("steps.csv");
}

static void scripts_for_gnuplot_are_as_they_were(void **state)
{
    make_charts();
    bl_gnuplot_chart(chart_of("throughput"), false, &out);
    expect_golden("throughput.gnuplot");
    bl_str_reset(&out);
    bl_gnuplot_chart(chart_of("differences"), true, &out);
    expect_golden("differences.gnuplot");
}

static void csv_is_as_it_was(void **state)
{
    sample_analyse(&s);
    bl_report_csv_trials(&s.analysis, &out);
    expect_golden("trials.csv");
}

/* Charts hold the figures of the analysis, in their units. */
static void charts_hold_the_figures(void **state)
{
    make_charts();
    const bl_chart_series *rate = &chart_of("throughput")->series[0], *memory = &chart_of("memory")->series[0];
    const bl_chart_series *order = &chart_of("timeline")->series[0], *left = &chart_of("residuals")->series[0];
    assert_int_equal(rate->n, 3);
    for (size_t c = 0; c < 3; c++) {
        const bl_interval *seconds = &s.analysis.cases[c].seconds;
        assert_true(rate->x[c] == 127 + (double)c && fabs(rate->y[c] * seconds->estimate - 1) < 1e-12);
        assert_true(fabs(rate->low[c] * seconds->high - 1) < 1e-12);
        assert_int_equal(rate->special[c], c == 1);
        assert_true(memory->y[c] * (1 << 30) == s.analysis.cases[c].peak_memory_b);
        assert_true(fabs(left->y[c]) < 6);
    }
    assert_int_equal(order->n, 18);
    for (size_t i = 0; i < 18; i++)
        assert_int_equal(order->special[i], i == 4);
    const bl_chart *differences = chart_of("differences");
    assert_int_equal(differences->n_rows, 3); /* two cases, and the neighbours of 128 */
    for (size_t i = 0; i < 2; i++) {
        double ratio = s.analysis.cases[i == 0 ? 0 : 2].against_best.ratio.estimate;
        assert_true(fabs(differences->series[0].x[i] - 100 * (ratio - 1)) < 1e-9);
    }
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

#define HOSTILE "</title></svg><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\x01\xff\xe2\x80\xae"

static void hostile_texts_stay_text(void **state)
{
    static const char *values[] = {"127", "128", HOSTILE};
    static bl_stored_factor factors[] = {{"batch", values, 3}};
    static char argument[] = HOSTILE;
    static char *command[] = {argument, NULL};
    static bl_environment_item item = {.name = HOSTILE, .value = HOSTILE, .source = HOSTILE};
    bl_experiment *e = &s.experiment;
    e->name = e->workload = HOSTILE;
    e->command = command;
    e->n_command = 1;
    e->factors = factors;
    e->environment = (bl_environment){&item, 1};
    for (size_t i = 0; i < e->n_trials; i++) {
        s.trials[i].reason = HOSTILE;
        s.trials[i].outcome = i < 3 ? HOSTILE : "ok";
    }
    make_charts();
    assert_int_equal(bl_report_page(only, 1, 0, &out, NULL), BL_OK);
    const char *page = bl_str_text(&out);
    assert_true(count(page, "<script") == (bl_page_script[0] ? 2 : 0) && count(page, "<img") == 0);
    assert_int_equal(count(page, "</script>"), count(page, "<script"));
    assert_true(count(page, "&lt;script&gt;alert(1)") > 20);
    assert_int_equal(count(page, "</title>"), count(page, "<title>"));
    assert_int_equal(count(page, "</svg>"), n_charts);
    assert_true(strchr(page, '\x01') == NULL && strchr(page, '\xff') == NULL && strstr(page, "\xe2\x80\xae") == NULL);
}

static void the_page_reloads_only_while_live(void **state)
{
    sample_analyse(&s);
    assert_int_equal(bl_report_page(only, 1, 5, &out, NULL), BL_OK);
    assert_non_null(strstr(bl_str_text(&out), "<meta http-equiv=\"refresh\" content=\"5\">"));
    bl_str_reset(&out);
    assert_int_equal(bl_report_page(only, 1, 0, &out, NULL), BL_OK);
    assert_null(strstr(bl_str_text(&out), "http-equiv=\"refresh\""));
    assert_non_null(strstr(bl_str_text(&out), "Powers of two: 127 and 129 against 128: "));
}

static void several_experiments_overlay(void **state)
{
    sample_analyse(&s);
    const bl_analysis *const two[] = {&s.analysis, &s.analysis};
    s.experiment.name = "here";
    assert_int_equal(bl_charts_make(two, 2, &s.arena, charts, &n_charts, NULL), BL_OK);
    const bl_chart *rate = chart_of("throughput");
    assert_int_equal(rate->n_series, 2);
    assert_string_equal(rate->series[0].name, "4 here");
    assert_true(rate->series[0].color != rate->series[1].color);
    for (size_t i = 0; i < n_charts; i++)
        assert_true(strcmp(charts[i].id, "timeline") != 0 && strcmp(charts[i].id, "differences") != 0 &&
                    strcmp(charts[i].id, "steps") != 0);
}

static void nothing_measured_gives_a_page_without_pictures(void **state)
{
    s.experiment.n_trials = 0;
    make_charts();
    assert_int_equal(n_charts, 0);
    assert_int_equal(bl_report_page(only, 1, 0, &out, NULL), BL_OK);
    assert_int_equal(count(bl_str_text(&out), "<svg"), 0);
}

/* Inside a script element nothing but the end of the string may end the string, and nothing the element. */
static void json_is_escaped(void **state)
{
    static const struct {
        const char *in, *wanted;
    } cases[] = {
        {"</script><!--", "\"\\u003c/script\\u003e\\u003c!--\""},
        {"a\"b\\c'd&", "\"a\\u0022b\\u005cc\\u0027d\\u0026\""},
        {"\xe2\x80\xa8\xe2\x80\xa9\n\x7f", "\"\\u2028\\u2029\\u000a\\ufffd\""},
        {"\xc3\xa4\xf0\x9f\x98\x80", "\"\\u00e4\\ud83d\\ude00\""},
        {"\xff\xe2\x80\xae", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        bl_str_reset(&out);
        bl_markup_json(&out, cases[i].in);
        assert_string_equal(bl_str_text(&out), cases[i].wanted);
    }
}

/* Where there are more steps than room, each stretch keeps its least and its greatest. */
static void steps_are_thinned_between_their_bounds(void **state)
{
    enum { N = 1001, CAP = 40 };
    static bl_stored_step steps[N];
    double ms[CAP + 2];
    bl_trial_record t = {.steps = steps, .n_steps = N};
    for (size_t i = 0; i < N; i++)
        steps[i].time_ns = 1000000 * (int64_t)(1 + i * 7919 % 977);
    steps[500].time_ns = 5000000000;
    steps[3].time_ns = 0; /* not known */
    size_t every, n = bl_trace_thin(&t, CAP, ms, &every);
    assert_true(every == 51 && n == 40);
    for (size_t k = 0; k < n / 2; k++) {
        double least = INFINITY, greatest = 0;
        for (size_t i = k * every; i < N && i < (k + 1) * every; i++)
            if (steps[i].time_ns > 0) {
                least = fmin(least, (double)steps[i].time_ns / 1e6);
                greatest = fmax(greatest, (double)steps[i].time_ns / 1e6);
            }
        assert_true(ms[2 * k] == least && ms[2 * k + 1] == greatest);
    }
    t.n_steps = CAP;
    assert_int_equal(bl_trace_thin(&t, CAP, ms, &every), CAP);
    assert_true(every == 0 && isnan(ms[3]) && ms[4] == (double)steps[4].time_ns / 1e6);
    t.steps = NULL;
    assert_int_equal(bl_trace_thin(&t, CAP, ms, &every), 0);
}

/* The machine's memory is a line where it is near enough to be seen, and words in any case. */
static void memory_has_its_limit(void **state)
{
    static bl_environment_item item = {.name = "memory bytes", .value = "157286400"}; /* 150 MiB; measured: 117 */
    s.experiment.environment = (bl_environment){&item, 1};
    make_charts();
    const bl_chart *memory = chart_of("memory");
    assert_true(memory->limit * 1024 == 150);
    assert_string_equal(memory->limit_label, "memory of the machine: 150 MiB");
    assert_non_null(strstr(memory->caption, "reach the machine's 150 MiB at batch "));
    bl_svg_chart(memory, true, &out);
    assert_non_null(strstr(bl_str_text(&out), ">memory of the machine: 150 MiB</text>"));
    item.value = "15728640000";
    bl_analysis_clear(&s.analysis);
    make_charts();
    bl_str_reset(&out);
    bl_svg_chart(chart_of("memory"), true, &out);
    assert_null(strstr(bl_str_text(&out), ">memory of the machine"));
}

static void markup_is_escaped(void **state)
{
    static const struct {
        const char *in, *wanted;
    } cases[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"\t\n\x1b\x7f", "\t\n\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xc0\xbc", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* '<' in an overlong form */
        {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\xe2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* cut off */
        {"\xc2\x9b", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* C1 */
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        bl_str_reset(&out);
        bl_markup_text(&out, cases[i].in);
        assert_string_equal(bl_str_text(&out), cases[i].wanted);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pictures_are_as_they_were),
        TEST(terminal_plots_are_as_they_were),
        TEST(csv_is_as_it_was),
        TEST(texts_are_as_they_were),
        TEST(scripts_for_gnuplot_are_as_they_were),
        TEST(charts_hold_the_figures),
        TEST(hostile_texts_stay_text),
        TEST(the_page_reloads_only_while_live),
        TEST(several_experiments_overlay),
        TEST(nothing_measured_gives_a_page_without_pictures),
        TEST(markup_is_escaped),
        TEST(json_is_escaped),
        TEST(steps_are_thinned_between_their_bounds),
        TEST(memory_has_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
