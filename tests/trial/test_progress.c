/* Progress output: single lines in all known formats, and whole runs on a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "progress_cases.h"
#include "stats/rng.h"
#include "trial/progress.h"

#define MS INT64_C(1000000)

static bl_progress_formats *formats;
static bl_progress p;
static int64_t now_ns;

static int set_up(void **state)
{
    bl_error err = {0};
    if (bl_progress_formats_new(NULL, false, &formats, &err) != BL_OK)
        print_error("%s\n", err.message);
    return formats == NULL;
}

static int tear_down(void **state)
{
    bl_progress_clear(&p);
    bl_progress_formats_free(formats);
    return 0;
}

/* ---- single lines ---- */

static void keep_line(void *context, const char *line, size_t n, int64_t t_ns)
{
    bl_str *out = context;
    bl_str_reset(out);
    bl_str_append_n(out, line, n);
}

/* The last line that a terminal would show. */
static void last_line(const char *text, size_t n, bl_str *out)
{
    bl_terminal terminal;
    bl_terminal_init(&terminal);
    bl_terminal_feed(&terminal, text, n, 1, keep_line, out);
    bl_terminal_end(&terminal, keep_line, out);
}

static bool parse(const char *text, bl_progress_line *line)
{
    bl_str shown;
    bl_str_init(&shown);
    last_line(text, strlen(text), &shown);
    bool is = bl_progress_parse(formats, bl_str_text(&shown), shown.len, line);
    bl_str_clear(&shown);
    return is;
}

static void known_lines_are_read(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < n_progress_cases; i++) {
        const progress_case *c = &progress_cases[i];
        bl_progress_line line = {.name = "none", .steps_per_s = NAN};
        bool is = parse(c->text, &line);
        bool right = is == (c->name != NULL);
        if (right && is)
            right = strcmp(line.name, c->name) == 0 && line.kind == c->kind && line.done == c->done &&
                    line.total == c->total &&
                    (c->steps_per_s > 0 ? fabs(line.steps_per_s / c->steps_per_s - 1) < 1e-9 : isnan(line.steps_per_s));
        if (!right) {
            print_error("%s kind %d: %lld/%lld at %g of: %s\n", line.name, (int)line.kind, (long long)line.done,
                        (long long)line.total, line.steps_per_s, c->text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* The collection's lines: the name of the trainer, two blanks or more, the line, with \r \e \b for control bytes. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        static const char letters[] = "reb", bytes[] = "\r\x1b\b";
        const char *letter = from[0] == '\\' && from[1] ? strchr(letters, from[1]) : NULL;
        *to++ = letter ? bytes[letter - letters] : *from;
        from += letter != NULL;
    }
    *to = '\0';
}

static void collected_lines_are_read(void **state)
{
    char path[4096], row[4096];
    snprintf(path, sizeof path, "%s/../shared/cases/progress-lines.txt", getenv("BATCHLAB_SOURCE_ROOT"));
    FILE *file = fopen(path, "r");
    if (!file)
        skip();
    int rows = 0, wrong = 0;
    while (fgets(row, sizeof row, file)) {
        if (row[0] == '#' || row[0] == '\n')
            continue;
        row[strcspn(row, "\n")] = '\0';
        char *text = strstr(row, "  ");
        assert_non_null(text);
        *text++ = '\0';
        unescape(text);
        bl_progress_line line;
        /* What must come out stands in the line itself, but in a summary: a counter and, mostly, its total. */
        if (!parse(text, &line) || (line.done < 0) != (strstr(row, "hf") != NULL)) {
            print_error("%s: %s\n", row, text);
            wrong++;
        }
        rows++;
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(rows > 10);
}

static void numbers_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        bool counter;
        double value;
        int64_t granule;
    } rows[] = {
        {"12", true, 12, 1},           {"1,234", true, 1234, 1},        {"1.234.567", true, 1234567, 1},
        {"12k", true, 12000, 1000},    {"1.20M", true, 1200000, 10000}, {"1,20M", true, 1200000, 10000},
        {"1_000", true, 1000, 1},      {"11,97", false, 11.97, 1},      {"11.970", false, 11.97, 1},
        {"1,234.5", false, 1234.5, 1}, {"1.5k", false, 1500, 100},      {"999999999999999", true, 999999999999999, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value;
        int64_t granule;
        if (!bl_progress_number(rows[i].text, strlen(rows[i].text), rows[i].counter, &value, &granule) ||
            fabs(value - rows[i].value) > 1e-9 * value || granule != rows[i].granule)
            fail_msg("%s: %g, %lld", rows[i].text, value, (long long)granule);
    }
    static const char *const bad[] = {"", "k", ".", "1234567890123456", "12x", "999999999T"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value;
        if (bl_progress_number(bad[i], strlen(bad[i]), true, &value, NULL))
            fail_msg("%s: %g", bad[i], value);
    }
}

/* ---- whole runs ---- */

static void begin(int64_t batch)
{
    bl_progress_clear(&p);
    bl_progress_init(&p, formats, batch);
    now_ns = 1000 * MS;
}

static void say(int64_t after_ms, const char *format, ...) BL_PRINTF(2, 3);

static void say(int64_t after_ms, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    now_ns += after_ms * MS;
    bl_progress_feed(&p, text, (size_t)n, now_ns);
}

static void check(int64_t steps, size_t n_records, int64_t step_ms)
{
    bl_progress_end(&p);
    const bl_progress_track *t = bl_progress_training(&p);
    assert_non_null(t);
    assert_int_equal(t->steps, steps);
    assert_int_equal(t->n_records, n_records);
    for (size_t i = 0; i < t->n_records && step_ms > 0; i++) {
        int64_t n = t->records[i].samples / p.batch;
        if (t->records[i].time_ns != n * step_ms * MS)
            fail_msg("record %zu: %lld samples in %lld ns", i, (long long)t->records[i].samples,
                     (long long)t->records[i].time_ns);
    }
}

static const char *note(void)
{
    static char text[1000];
    bl_str out;
    bl_str_init(&out);
    bl_progress_note(&p, &out);
    snprintf(text, sizeof text, "%s", bl_str_text(&out));
    bl_str_clear(&out);
    return text;
}

#define BAR_OF(after, label, done, total)                                                                              \
    say(after, "%s%3d%%|#| %d/%d [00:10<01:13, 50.0it/s]\r", label, 100 * (done) / (total), done, total)

static void a_counter_and_the_clock_give_the_steps(void **state)
{
    begin(32);
    BAR_OF(0, "", 0, 100);
    for (int i = 1; i <= 100; i++)
        BAR_OF(20, "", i, 100);
    check(100, 100, 20);
    assert_int_equal(bl_progress_training(&p)->record_samples, 3200);
    assert_string_equal(note(), "progress lines (tqdm): 100 steps at 100 moments");
}

static void a_counter_may_skip_and_start_anywhere(void **state)
{
    begin(8);
    BAR_OF(0, "", 90, 1000); /* resumed: these 90 are not this run's */
    for (int i = 1; i <= 50; i++)
        BAR_OF(20 * 7, "", 90 + 7 * i, 1000);
    check(350, 50, 20);
}

static void epochs_and_evaluations_take_no_time_of_the_steps(void **state)
{
    begin(4);
    for (int epoch = 0; epoch < 3; epoch++) {
        char label[40];
        snprintf(label, sizeof label, "Epoch %d: ", epoch);
        BAR_OF(5000, label, 0, 10);
        for (int i = 1; i <= 10; i++)
            BAR_OF(20, label, i, 10);
        BAR_OF(0, label, 10, 10); /* tqdm prints the last line again */
        say(0, "\n");
        for (int i = 0; i <= 5; i++)
            BAR_OF(3, "Validation: ", i, 5);
    }
    check(30, 30, 20);
    assert_string_equal(p.phase, "eval");
    /* And in the middle of an epoch: the step that holds the evaluation is left out. */
    begin(4);
    for (int i = 0; i <= 20; i++) {
        say(20, "Epoch(train) [1][%d/20] time: 0.02 loss: 1\n", i);
        if (i == 10)
            say(999, "Epoch(val) [1][5/5] time: 0.1\n");
    }
    check(20, 19, 20);
}

static void bars_inside_bars(void **state)
{
    begin(1);
    BAR_OF(0, "", 0, 3); /* counts epochs */
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int i = 0; i <= 40; i++)
            BAR_OF(20, "", i, 40);
        BAR_OF(0, "", epoch + 1, 3);
    }
    check(120, 120, 20);
    assert_int_equal(bl_progress_training(&p)->first.total, 40);
}

static void downloads_and_tests_are_no_training(void **state)
{
    begin(1);
    for (int i = 0; i <= 50; i++)
        say(10, "data.zip: %d%%|#| %d/50 [00:01<00:01, 41.2MB/s]\r", 2 * i, i);
    for (int i = 0; i <= 50; i++)
        BAR_OF(10, "Testing: ", i, 50);
    bl_progress_end(&p);
    assert_null(bl_progress_training(&p));
    assert_false(bl_progress_idle(&p));
    assert_string_equal(note(), "");
}

static void two_ranks_that_print_the_same_counter(void **state)
{
    begin(1);
    for (int i = 0; i <= 200; i++) {
        BAR_OF(10, "", i, 400);
        BAR_OF(10, "", i > 2 ? i - 2 : 0, 400);
    }
    bl_progress_end(&p);
    /* Near 0 the one that is behind looks like an epoch's beginning; from then on it does not count. */
    const bl_progress_track *t = bl_progress_training(&p);
    assert_true(t->steps >= 200 && t->steps <= 210);
    for (size_t i = t->n_records - 150; i < t->n_records; i++)
        assert_true(t->records[i].time_ns == 20 * MS && t->records[i].samples == 1);
}

static void rates_that_do_not_fit_are_told(void **state)
{
    begin(1);
    for (int i = 0; i <= 40; i++)
        BAR_OF(500, "", i, 40); /* it prints 50 it/s, and does 2 */
    check(40, 40, 500);
    assert_non_null(strstr(note(), "do not fit its counter"));
    begin(1);
    for (int i = 0; i <= 40; i++) /* the unit flips: both say 1 it/s */
        say(1000, "%d%%|#| %d/40 [00:10<01:13, %s]\r", i, i, i % 2 ? "1.00it/s" : "1.00s/it");
    say(0, "\n{'train_runtime': 40.0, 'train_samples_per_second': 8, 'train_steps_per_second': 9.5, 'epoch': 1.0}\n");
    check(40, 40, 1000);
    assert_null(strstr(note(), "do not fit"));
    assert_non_null(strstr(note(), "at its end it printed 9.5 steps/s"));
}

static void output_that_comes_at_once_tells_no_speed(void **state)
{
    begin(16);
    for (int i = 0; i <= 500; i++)
        BAR_OF(0, "", i, 500);
    check(500, 0, 0);
    assert_false(bl_progress_usable(bl_progress_training(&p)));
    assert_non_null(strstr(note(), "counted 500 steps, but at 0 moments only"));
    assert_non_null(strstr(note(), "--pty"));
    begin(16); /* in blocks: means over them */
    for (int i = 0; i <= 500; i++)
        BAR_OF(i % 50 == 0 ? 1000 : 0, "", i, 500);
    check(500, 10, 0);
    assert_true(bl_progress_usable(bl_progress_training(&p)));
    assert_non_null(strstr(note(), "means over these"));
    assert_int_equal(bl_progress_training(&p)->records[4].time_ns, 1000 * MS);
    assert_int_equal(bl_progress_training(&p)->records[4].samples, 50 * 16);
}

static void ten_thousand_updates_without_a_newline(void **state)
{
    begin(2);
    for (int i = 0; i <= 10000; i++)
        say(1, "\r%d/10000 [===] - 5s 1ms/step", i);
    check(10000, 10000, 1);
    begin(2); /* by backspaces alone, as older Keras */
    say(0, "        0/10000 [>  ] - ETA: 5s");
    for (int i = 1; i <= 10000; i++)
        say(1, "\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b%9d/10000 [>  ] - ETA: 5s", i);
    check(10000, 10000, 1);
    begin(2); /* by movements of the cursor */
    for (int i = 0; i <= 100; i++)
        say(20, "\x1b[2K\x1b[1G%d%%|#| %d/100 [00:10<01:13, 50.0it/s]\x1b[1A", i, i);
    check(100, 100, 20);
}

static void a_line_of_five_megabytes(void **state)
{
    begin(1);
    BAR_OF(0, "", 0, 10);
    char *flood = malloc(5 << 20);
    assert_non_null(flood);
    for (size_t i = 0; i < 5 << 20; i++)
        flood[i] = "0123456789%|#/[:.,=x "[i * 2654435761u % 21];
    bl_progress_feed(&p, flood, 5 << 20, now_ns);
    free(flood);
    say(0, "\n");
    for (int i = 1; i <= 10; i++)
        BAR_OF(20, "", i, 10);
    check(10, 10, 20);
}

static void bytes_that_are_no_text(void **state)
{
    begin(1);
    for (int i = 0; i <= 50; i++)
        say(20,
            "\xff\xfe\xc3\xe2\x94 \x01\x02%d%%|\xe2\x96\xff| %d/50 [00:10<01:13, 50.0it/s\xf0]\r\x1b]0;title \xff\a", i,
            i);
    check(50, 50, 20);
}

static void the_pieces_a_stream_comes_in_do_not_matter(void **state)
{
    bl_str text;
    bl_str_init(&text);
    for (int i = 0; i <= 200; i++)
        bl_str_printf(&text, "\x1b[1m%3d%%\x1b[0m|\xe2\x96\x88#| %d/200 [00:10<01:13, 50.0it/s]\r\x1b[K", i / 2, i);
    bl_rng rng;
    bl_rng_init(&rng, 1, 0);
    for (int run = 0; run < 20; run++) {
        begin(1);
        for (size_t at = 0; at < text.len;) {
            size_t n = 1 + (size_t)bl_rng_below(&rng, 90);
            if (n > text.len - at)
                n = text.len - at;
            bl_progress_feed(&p, text.data + at, n, now_ns += MS);
            at += n;
        }
        bl_progress_end(&p);
        assert_int_equal(p.n_lines, 201);
        assert_int_equal(bl_progress_training(&p)->steps, 200);
    }
    bl_str_clear(&text);
}

static void counters_of_samples_and_of_rounded_steps(void **state)
{
    begin(64);
    for (int i = 0; i <= 20; i++)
        say(20, "%d: 2.3, 2.4 avg, 0.001 rate, 0.02 seconds, %d images\n", 100 + i, (100 + i) * 48);
    check(20, 20, 0);
    assert_int_equal(bl_progress_training(&p)->record_samples, 20 * 48); /* what it says, not what was asked for */
    begin(64);
    for (int i = 0; i <= 20; i++)
        say(20, "Train Epoch: 1 [%d/60000 (%d%%)]\tLoss: 2.3\n", 640 * i, i);
    check(12800, 20, 0);
    assert_int_equal(bl_progress_training(&p)->record_samples, 12800);
    begin(1);
    for (int i = 0; i <= 20; i++)
        say(20, "%d%%|#| %dk/100k [00:10<01:13, 50.0kit/s]\r", i, i);
    check(20000, 20, 0);
    assert_non_null(strstr(note(), "rounded to 1000"));
}

static void a_bar_that_never_moves(void **state)
{
    begin(1);
    say(0, "  0%%|          | 0/1000 [00:00<?, ?it/s]\r");
    bl_progress_end(&p);
    assert_true(bl_progress_idle(&p));
    begin(1); /* words that need not be progress prove nothing */
    say(0, "step 5 of 9\n");
    bl_progress_end(&p);
    assert_false(bl_progress_idle(&p));
}

static void a_pattern_of_the_user(void **state)
{
    bl_strv regexes;
    bl_strv_init(&regexes);
    assert_int_equal(
        bl_strv_push(&regexes, "^(?<label>\\w+) tick (?<done>\\d+)(?: of (?<total>\\d+))?, (?<ms>[\\d.]+) ms"), BL_OK);
    bl_progress_formats *own, *standard = formats;
    assert_int_equal(bl_progress_formats_new(&regexes, false, &own, NULL), BL_OK);
    formats = own;
    begin(1);
    for (int i = 0; i <= 20; i++)
        say(20,
            "train tick %d of 100, 20.0 ms\nval tick %d of 100, 1 ms extra\n%d%%|#| %d/9999 [00:10<01:13, 50.0it/s]\r",
            i, i, i, i * 10);
    bl_progress_end(&p);
    assert_string_equal(bl_progress_training(&p)->first.name, "--progress-regex");
    assert_int_equal(bl_progress_training(&p)->steps, 20);
    formats = standard;
    bl_progress_clear(&p);
    bl_progress_formats_free(own);
    bl_strv_clear(&regexes);
    static const char *const bad[] = {"(", "step (\\d+)"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bl_error err = {0};
        assert_int_equal(bl_strv_push(&regexes, bad[i]), BL_OK);
        assert_int_equal(bl_progress_formats_new(&regexes, false, &own, &err), BL_ERR_USAGE);
        assert_non_null(strstr(err.message, "--progress-regex"));
        bl_strv_clear(&regexes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_lines_are_read),
        cmocka_unit_test(collected_lines_are_read),
        cmocka_unit_test(numbers_are_read_as_people_write_them),
        cmocka_unit_test(a_counter_and_the_clock_give_the_steps),
        cmocka_unit_test(a_counter_may_skip_and_start_anywhere),
        cmocka_unit_test(epochs_and_evaluations_take_no_time_of_the_steps),
        cmocka_unit_test(bars_inside_bars),
        cmocka_unit_test(downloads_and_tests_are_no_training),
        cmocka_unit_test(two_ranks_that_print_the_same_counter),
        cmocka_unit_test(rates_that_do_not_fit_are_told),
        cmocka_unit_test(output_that_comes_at_once_tells_no_speed),
        cmocka_unit_test(ten_thousand_updates_without_a_newline),
        cmocka_unit_test(a_line_of_five_megabytes),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(the_pieces_a_stream_comes_in_do_not_matter),
        cmocka_unit_test(counters_of_samples_and_of_rounded_steps),
        cmocka_unit_test(a_bar_that_never_moves),
        cmocka_unit_test(a_pattern_of_the_user),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
