#include "sample.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"

static sample s;
static bl_str out;

static int set_up(void **state)
{
    sample_fill(&s, 6);
    bl_str_init(&out);
    return 0;
}

static int tear_down(void **state)
{
    sample_clear(&s);
    bl_str_clear(&out);
    return 0;
}

static const bl_report_style ascii = {.utf8 = false, .color = false, .width = 80};

static void expect_within_width(const char *text, size_t width)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *copy = strndup(line, n);
        if (bl_format_width(copy) > width)
            fail_msg("more than %zu columns: '%s'", width, copy);
        if (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
            fail_msg("a blank ends the line '%s'", copy);
        free(copy);
        line += n + (line[n] == '\n');
    }
}

/* Cell `column` (words parted by two blanks) of the line that begins with `key`. */
static char *cell_of(const char *text, const char *key, size_t column)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " ");
        if (strncmp(at, key, strlen(key)) != 0)
            continue;
        size_t n = strcspn(at, "\n");
        for (; column > 0; column--) {
            const char *gap = memmem(at, n, "  ", 2);
            assert_non_null(gap);
            n -= (size_t)(gap - at);
            at = gap;
            size_t blanks = strspn(at, " ");
            at += blanks;
            n -= blanks;
        }
        const char *gap = memmem(at, n, "  ", 2);
        return strndup(at, gap ? (size_t)(gap - at) : n);
    }
    fail_msg("no line '%s'", key);
    return NULL;
}

static void expect_cell(const char *key, size_t column, const char *wanted)
{
    char *cell = cell_of(bl_str_text(&out), key, column);
    assert_string_equal(cell, wanted);
    free(cell);
}

static void the_table_says_what_was_measured(void **state)
{
    sample_analyse(&s);
    bl_report_table(&s.analysis, &ascii, &out);
    expect_within_width(bl_str_text(&out), 200);
    char wanted[80];
    for (size_t c = 0; c < 3; c++) {
        const bl_case_figure *f = &s.analysis.cases[c];
        char key[16], low[32], high[32];
        snprintf(key, sizeof key, "%lld ", (long long)f->batch);
        bl_format_number(1 / f->seconds.estimate, wanted, sizeof wanted);
        expect_cell(key, 1, wanted);
        bl_format_number(1 / f->seconds.high, low, sizeof low);
        bl_format_number(1 / f->seconds.low, high, sizeof high);
        snprintf(wanted, sizeof wanted, "[%s, %s]", low, high);
        expect_cell(key, 2, wanted);
        bl_format_number(1000 * f->step_seconds, wanted, sizeof wanted);
        expect_cell(key, 3, wanted);
        if (c == s.analysis.best) {
            expect_cell(key, 4, "best");
            continue;
        }
        bl_format_percent(1 / f->against_best.ratio.estimate, wanted, sizeof wanted);
        expect_cell(key, 4, wanted);
        assert_true(wanted[0] == '-'); /* fewer samples a second than the best */
        expect_cell(key, 6, "25 %");
        expect_cell(key, 8, "6/6");
        expect_cell(key, 9, "ok");
    }
    assert_true(s.analysis.best == 1);
}

static void columns_stand_under_their_headings(void **state)
{
    sample_analyse(&s);
    bl_report_table(&s.analysis, &ascii, &out);
    const char *text = bl_str_text(&out);
    const char *heading = strstr(text, "samples/s") + strlen("samples/s"), *lines[4];
    for (size_t i = 0; i < 4; i++) {
        lines[i] = text;
        text += strcspn(text, "\n") + 1;
    }
    size_t end = (size_t)(heading - lines[0]);
    for (size_t i = 1; i < 4; i++) { /* to the right: a digit there, and a blank behind it */
        assert_true(lines[i][end - 1] >= '0' && lines[i][end - 1] <= '9');
        assert_true(lines[i][end] == ' ');
    }
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80 || *text == 0x1b)
            return false;
    return true;
}

static void texts_fit_the_terminal(void **state)
{
    sample_analyse(&s);
    for (int width = 40; width <= 200; width += 37) {
        bl_report_style style = {.utf8 = width % 2 == 1, .width = width};
        bl_str_reset(&out);
        bl_report_plot(&s.analysis, &style, &out);
        bl_report_notes(&s.analysis, &style, &out);
        expect_within_width(bl_str_text(&out), (size_t)width);
        assert_int_equal(is_ascii(bl_str_text(&out)), !style.utf8);
    }
    bl_str_reset(&out);
    bl_report_style colour = {.color = true, .width = 80};
    bl_report_text(&s.analysis, &colour, &out);
    assert_non_null(strstr(bl_str_text(&out), "\x1b[1m"));
}

/* The points of the plot stand in the order of the figures, and the best one furthest right. */
static void the_plot_keeps_the_order(void **state)
{
    sample_analyse(&s);
    bl_report_plot(&s.analysis, &ascii, &out);
    size_t at[3] = {0};
    const char *text = bl_str_text(&out);
    for (size_t c = 0; c < 3; c++) {
        char key[16];
        snprintf(key, sizeof key, "%d |", 127 + (int)c);
        const char *line = strstr(text, key);
        assert_non_null(line);
        at[c] = strcspn(line, "o");
    }
    assert_true(at[1] > at[0] && at[0] > at[2]);
}

static void expect_note(const char *wanted)
{
    bl_str_reset(&out);
    bl_report_style wide = {.width = 10000};
    bl_report_notes(&s.analysis, &wide, &out);
    if (strstr(bl_str_text(&out), wanted) == NULL)
        fail_msg("no '%s' in:\n%s", wanted, bl_str_text(&out));
}

static void the_notes_say_what_the_figures_are_not(void **state)
{
    sample_analyse(&s);
    expect_note("Powers of two: 127 and 129 against 128: ");
    expect_note("from step markers, after the warm-up");
    expect_note("Hodges-Lehmann over the blocks, 95 %.");
    expect_note("only fresh blocks confirm it");
    sample_clear(&s);

    sample_init(&s, 5);
    for (size_t block = 0; block < 4; block++)
        for (size_t c = 0; c < 3; c++)
            sample_add(&s, block, c, 0.1);
    bl_trial_record *t = sample_add(&s, 4, 2, 0.1);
    t->outcome = "crashed";
    t->reason = "exit status 3\x1b[2J";
    sample_analyse(&s);
    expect_note("With 4 blocks no finite 95 % interval exists; the widest there is has 87.5 %");
    expect_note("batch=129: crashed: exit status 3 [2J");
    expect_note("4 of 5 blocks are complete; batchlab sweep --resume 4 goes on");
    sample_clear(&s);

    sample_init(&s, 1);
    for (size_t c = 0; c < 3; c++)
        sample_add_silent(&s, 0, c, 2, NAN);
    sample_analyse(&s);
    expect_note("One block gives no interval");
    expect_note("the figure is the whole run's wall time, start-up included");
    expect_note("cannot tell");
    bl_str_reset(&out);
    bl_report_table(&s.analysis, &ascii, &out);
    assert_non_null(strstr(bl_str_text(&out), "s a run"));
    assert_null(strstr(bl_str_text(&out), "samples/s"));
}

static void details_hold_every_trial(void **state)
{
    s.experiment.name = "x";
    sample_analyse(&s);
    bl_report_details(&s.analysis, &ascii, &out);
    size_t rows = 0;
    for (const char *at = bl_str_text(&out); (at = strstr(at, "batch=12")) != NULL; at++)
        rows++;
    assert_true(rows == 18);
    assert_non_null(strstr(bl_str_text(&out), "train {batch}"));
}

static void json_holds_what_was_computed(void **state)
{
    s.trials[4].outcome = "crashed";
    s.trials[4].peak_memory_b = NAN;
    sample_analyse(&s);
    assert_int_equal(bl_report_json(&s.analysis, true, &out, NULL), BL_OK);
    json_error_t problem;
    json_t *root = json_loads(bl_str_text(&out), 0, &problem);
    if (!root)
        fail_msg("%s", problem.text);
    json_t *cases = json_object_get(root, "cases"), *trials = json_object_get(root, "trials");
    assert_true(json_array_size(cases) == 3 && json_array_size(trials) == 18);
    for (size_t c = 0; c < 3; c++) {
        json_t *rate = json_object_get(json_array_get(cases, c), "samples_per_s");
        assert_true(json_real_value(json_object_get(rate, "estimate")) == 1 / s.analysis.cases[c].seconds.estimate);
        assert_true(json_real_value(json_object_get(rate, "low")) < json_real_value(json_object_get(rate, "high")));
    }
    json_t *failed = json_array_get(trials, 4);
    assert_true(json_is_null(json_object_get(failed, "peak_memory_b")));
    assert_true(json_is_null(json_object_get(failed, "seconds_per_sample")));
    json_t *steps = json_object_get(json_array_get(trials, 0), "steps");
    assert_true(json_array_size(steps) == SAMPLE_STEPS);
    assert_true(json_is_null(json_object_get(json_array_get(steps, 0), "loss")));
    json_decref(root);
}

/* Fields of one line as RFC 4180 reads them, joined by '|'. */
static void read_csv_line(const char **text, bl_str *fields)
{
    bool quoted = false;
    bl_str_reset(fields);
    for (; **text && (quoted || **text != '\r'); (*text)++) {
        if (**text == '"' && quoted && (*text)[1] == '"')
            bl_str_append_c(fields, *++*text);
        else if (**text == '"')
            quoted = !quoted;
        else
            bl_str_append_c(fields, **text == ',' && !quoted ? '|' : **text);
    }
    *text += strncmp(*text, "\r\n", 2) == 0 ? 2 : 0;
}

static size_t count_bars(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '|';
    return n;
}

static void csv_survives_any_text(void **state)
{
    s.trials[0].outcome = "crashed";
    s.trials[0].reason = "said \"no, never\",\r\nand left";
    s.trials[1].reason = "=HYPERLINK(1)";
    s.trials[2].wall_s = NAN;
    sample_analyse(&s);
    bl_report_csv_trials(&s.analysis, &out);
    const char *text = bl_str_text(&out);
    bl_str fields;
    bl_str_init(&fields);
    read_csv_line(&text, &fields);
    size_t columns = count_bars(bl_str_text(&fields));
    assert_true(strncmp(bl_str_text(&fields), "trial|block|position|batch|outcome|reason|", 42) == 0);
    size_t rows = 0;
    for (; *text; rows++) {
        read_csv_line(&text, &fields);
        assert_true(count_bars(bl_str_text(&fields)) == columns);
        if (rows == 0)
            assert_non_null(strstr(bl_str_text(&fields), "|said \"no, never\",\r\nand left|"));
        if (rows == 1) /* no formula for a spreadsheet */
            assert_non_null(strstr(bl_str_text(&fields), "|'=HYPERLINK(1)|"));
    }
    assert_true(rows == 18);
    bl_str_reset(&out);
    bl_report_csv_steps(&s.analysis, &out);
    rows = 0;
    for (text = bl_str_text(&out); *text; rows++)
        read_csv_line(&text, &fields);
    assert_true(rows == 1 + 18 * SAMPLE_STEPS);
    bl_str_clear(&fields);
}

static void numbers_and_bytes(void **state)
{
    static const struct {
        double value;
        const char *number, *bytes;
    } cases[] = {{0, "0.000", "0 B"},           {1.23456, "1.235", "1 B"},     {12.3456, "12.35", "12 B"},
                 {123.456, "123.5", "123 B"},   {1234.56, "1235", "1.21 KiB"}, {999.96, "1000", "1000 B"},
                 {0.0123456, "0.01235", "0 B"}, {9.99996, "10.00", "10 B"},    {1048576, "1048576", "1.00 MiB"},
                 {-12.3456, "-12.35", NULL},    {1e-12, "0.000000000", "0 B"}, {5e12, NULL, "4.55 TiB"}};
    char text[64];
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        bl_format_number(cases[i].value, text, sizeof text);
        if (cases[i].number)
            assert_string_equal(text, cases[i].number);
        bl_format_bytes(cases[i].value, text, sizeof text);
        if (cases[i].bytes)
            assert_string_equal(text, cases[i].bytes);
    }
    bl_format_number(NAN, text, sizeof text);
    assert_string_equal(text, "-");
    bl_format_bytes(NAN, text, sizeof text);
    assert_string_equal(text, "-");
    bl_format_percent(1.012345, text, sizeof text);
    assert_string_equal(text, "+1.23 %");
    bl_format_percent(0.5, text, sizeof text);
    assert_string_equal(text, "-50.0 %");
    bl_str_reset(&out);
    bl_format_clean("a\x1b[31mb\nc", 80, &out);
    assert_string_equal(bl_str_text(&out), "a [31mb c");
    bl_str_reset(&out);
    bl_format_clean("über den Wolken", 8, &out);
    assert_string_equal(bl_str_text(&out), "über ...");
    assert_true(bl_format_width("über") == 4);
}

static void noise_scales_stand_under_the_table(void **state)
{
    /* signal 4, 2, 6 and noise 40, 44, 36 of rounds with b = 1, B = 11: scale 10 */
    bl_stored_noise rows[3];
    for (int i = 0; i < 3; i++) {
        double signal = (double[]){4, 2, 6}[i], noise = (double[]){40, 44, 36}[i];
        rows[i] = (bl_stored_noise){.after_steps = 100, .norms = {1, 11, signal + noise, signal + noise / 11}};
    }
    s.experiment.trials[1].noise = rows;
    s.experiment.trials[1].n_noise = 3;
    sample_analyse(&s);
    bl_report_text(&s.analysis, &ascii, &out);
    const char *at = strstr(bl_str_text(&out), "How noisy the gradient is, in samples\n");
    assert_non_null(at);
    assert_non_null(strstr(at, "128          100           10"));
    assert_non_null(strstr(at, "3 of 11 by 1"));
    assert_non_null(strstr(at, "order of magnitude"));
    bl_str_clear(&out);
    bl_str_init(&out);
    assert_int_equal(bl_report_json(&s.analysis, false, &out, NULL), BL_OK);
    json_t *o = json_loads(bl_str_text(&out), 0, NULL);
    const json_t *row = json_array_get(json_object_get(o, "noise_scales"), 0);
    assert_true(fabs(json_real_value(json_object_get(row, "noise_scale")) - 10) < 1e-9);
    assert_true(json_number_value(json_object_get(row, "low")) < 10);
    assert_int_equal(json_array_size(json_object_get(o, "noise_scales")), 1);
    json_decref(o);
}

static void without_noise_nothing_is_said_of_it(void **state)
{
    sample_analyse(&s);
    bl_report_noise(&s.analysis, &ascii, &out);
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_table_says_what_was_measured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_stand_under_their_headings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_fit_the_terminal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_plot_keeps_the_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_notes_say_what_the_figures_are_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(details_hold_every_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_holds_what_was_computed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(noise_scales_stand_under_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_noise_nothing_is_said_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(csv_survives_any_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_and_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
