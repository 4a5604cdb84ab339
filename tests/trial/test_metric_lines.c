#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "trial/metric_lines.h"

typedef struct heard {
    bl_str text; /* "name=value@step " for each */
} heard;

static void hear(void *context, const char *name, double value, int64_t step)
{
    bl_str_printf(&((heard *)context)->text, "%s=%g@%lld ", name, value, (long long)step);
}

static bl_metric_patterns *patterns_of(const char *first, const char *second)
{
    bl_strv regexes;
    bl_metric_patterns *patterns;
    bl_strv_init(&regexes);
    assert_int_equal(bl_strv_push(&regexes, first), BL_OK);
    if (second)
        assert_int_equal(bl_strv_push(&regexes, second), BL_OK);
    assert_int_equal(bl_metric_patterns_new(&regexes, &patterns, NULL), BL_OK);
    bl_strv_clear(&regexes);
    return patterns;
}

static void check(const bl_metric_patterns *patterns, const char *output, const char *expected)
{
    for (size_t piece = 1; piece < 40; piece += 6) {
        heard h;
        bl_metric_lines lines;
        bl_str_init(&h.text);
        bl_metric_lines_init(&lines, patterns);
        for (size_t at = 0, n = strlen(output); at < n; at += piece)
            bl_metric_lines_feed(&lines, output + at, piece < n - at ? piece : n - at, hear, &h);
        bl_metric_lines_end(&lines, hear, &h);
        assert_string_equal(bl_str_text(&h.text), expected);
        bl_metric_lines_clear(&lines);
        bl_str_clear(&h.text);
    }
}

static void named_groups_are_metrics(void **state)
{
    bl_metric_patterns *p =
        patterns_of("step (?<step>\\d+).*loss (?<loss>\\S+)(?: top1 (?<top1>[0-9.]+))?", "mAP: (?<map>[0-9.e-]+)");
    check(p, "step 10 loss 2.5\nnothing\rstep 20: loss 1.25 top1 0.5\r\nmAP: 3e-1",
          "loss=2.5@10 loss=1.25@20 top1=0.5@20 map=0.3@-1 ");
    check(p, "step 3 loss nan\nstep x loss 4\nstep 99999999999999999999 loss 4\nmAP: 1.2.3\n", "loss=4@-1 ");
    check(p, "", "");
    bl_metric_patterns_free(p);
}

static void a_line_that_is_too_long_is_passed_over(void **state)
{
    bl_metric_patterns *p = patterns_of("v(?<v>[0-9]+)", NULL);
    static char line[BL_METRIC_LINE_MAX_B + 100];
    memset(line, 'x', sizeof line - 1);
    memcpy(line + 10, "v5", 2);
    memcpy(line + sizeof line - 9, "\nv6\n", 4);
    heard h;
    bl_metric_lines lines;
    bl_str_init(&h.text);
    bl_metric_lines_init(&lines, p);
    bl_metric_lines_feed(&lines, line, strlen(line), hear, &h);
    bl_metric_lines_end(&lines, hear, &h);
    assert_string_equal(bl_str_text(&h.text), "v=6@-1 ");
    bl_metric_lines_clear(&lines);
    bl_str_clear(&h.text);
    bl_metric_patterns_free(p);
}

/* Exponential patterns end at the bound of a search, and the next line is read. */
static void a_search_is_bounded(void **state)
{
    bl_metric_patterns *p = patterns_of("^(?:(?:a+)+)+(?<v>[0-9]+)$", NULL);
    heard h;
    bl_metric_lines lines;
    bl_str_init(&h.text);
    bl_metric_lines_init(&lines, p);
    for (int i = 0; i < 2000; i++)
        bl_metric_lines_feed(&lines, "a", 1, hear, &h);
    bl_metric_lines_feed(&lines, "!\naa7\n", 6, hear, &h);
    assert_int_equal(lines.n_gave_up, 1);
    assert_string_equal(bl_str_text(&h.text), "v=7@-1 ");
    bl_metric_lines_clear(&lines);
    bl_str_clear(&h.text);
    bl_metric_patterns_free(p);
}

static void what_names_no_metric_is_refused(void **state)
{
    static const char *const bad[] = {"loss ([0-9]+)", "(?<step>[0-9]+)", "(?<loss>", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bl_strv regexes;
        bl_metric_patterns *patterns;
        bl_error err = {0};
        bl_strv_init(&regexes);
        assert_int_equal(bl_strv_push(&regexes, bad[i]), BL_OK);
        assert_int_equal(bl_metric_patterns_new(&regexes, &patterns, &err), BL_ERR_USAGE);
        assert_null(patterns);
        assert_non_null(strstr(err.message, "--metric-regex"));
        bl_strv_clear(&regexes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_groups_are_metrics),
        cmocka_unit_test(a_line_that_is_too_long_is_passed_over),
        cmocka_unit_test(a_search_is_bounded),
        cmocka_unit_test(what_names_no_metric_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
