/* The roofline: where its roofs lie, which points stand in it, as a chart, as SVG and in letters. */
#include "sample.h"

#include <math.h>
#include <string.h>

#include "report/roofline.h"
#include "report/svg.h"

static const bl_roofline_point points[] = {
    {.intensity = 1, .gflops = 8, .low = 7, .high = 9, .name = "one"},
    {.intensity = 100, .gflops = 90, .low = NAN, .high = NAN, .name = "two", .series = 1},
    {.intensity = 50, .gflops = NAN, .low = NAN, .high = NAN, .name = "failed", .series = 1},
};
static const bl_roofline two = {.title = "A & B",
                                .peak_gflops = 100,
                                .bandwidth_gb_s = 10,
                                .names = {"forward", "weights"},
                                .marks = {'f', 'w'},
                                .n_series = 2,
                                .points = points,
                                .n_points = 3};
static bl_arena arena;
static bl_str out;

static int set_up(void **state)
{
    bl_arena_init(&arena);
    bl_str_init(&out);
    return 0;
}

static int tear_down(void **state)
{
    bl_arena_clear(&arena);
    bl_str_clear(&out);
    return 0;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static void test_chart(void **state)
{
    bl_chart chart;
    bl_error err = {0};
    assert_int_equal(bl_roofline_chart(&two, &arena, &chart, &err), BL_OK);
    assert_int_equal(chart.n_series, 3);
    const bl_chart_series *roof = &chart.series[0];
    /* Memory's slope up to peak / bandwidth, then the peak. */
    assert_int_equal(roof->n, 3);
    assert_true(roof->line && roof->x[1] == 10 && roof->y[1] == 100 && roof->y[2] == 100);
    assert_true(fabs(roof->y[0] / roof->x[0] - 10) < 1e-9);
    assert_true(roof->x[0] < 1 && roof->x[2] > 100);
    assert_int_equal(chart.series[1].n, 1);
    assert_int_equal(chart.series[2].n, 1); /* without the one that has no rate */
    assert_true(chart.series[2].x[0] == 100 && chart.series[2].y[0] == 90);
}

static void test_svg(void **state)
{
    bl_chart chart;
    bl_error err = {0};
    assert_int_equal(bl_roofline_chart(&two, &arena, &chart, &err), BL_OK);
    bl_svg_chart(&chart, true, &out);
    const char *svg = bl_str_text(&out);
    assert_int_equal(count(svg, "<circle"), 2);
    assert_non_null(strstr(svg, "A &amp; B"));
    /* Both axes have their tens, evenly apart. */
    for (int i = 0; i < 2; i++) {
        static const char *const anchors[] = {"text-anchor=\"middle\"", "text-anchor=\"end\""};
        double at[2];
        static const char *const tens[] = {"10", "100"};
        for (int k = 0; k < 2; k++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "%s>%s</text>", anchors[i], tens[k]);
            const char *found = strstr(svg, wanted);
            assert_non_null(found);
            while (*found != '<')
                found--;
            assert_int_equal(sscanf(found, i == 0 ? "<text x=\"%lf\"" : "<text x=\"%*f\" y=\"%lf\"", &at[k]), 1);
        }
        assert_true(i == 0 ? at[1] > at[0] : at[1] < at[0]);
    }
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
}

static void test_text(void **state)
{
    static const bl_report_style ascii = {.width = 60};
    bl_roofline_text(&two, &ascii, &out);
    const char *text = bl_str_text(&out);
    const char *f = strchr(text, 'f'), *w = strchr(text, 'w'), *legend = strstr(text, "f: forward; w: weights");
    assert_true(f && w && legend && f < legend && w < f); /* the faster one stands higher */
    assert_int_equal(count(text, "operations a byte"), 1);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        assert_true(strcspn(line, "\n") <= 60);
}

/* Without roofs the points alone; without points nothing. */
static void test_what_is_missing(void **state)
{
    bl_roofline r = two;
    bl_chart chart;
    bl_error err = {0};
    r.peak_gflops = r.bandwidth_gb_s = NAN;
    assert_int_equal(bl_roofline_chart(&r, &arena, &chart, &err), BL_OK);
    assert_int_equal(chart.series[0].n, 0);
    bl_svg_chart(&chart, true, &out);
    assert_int_equal(count(bl_str_text(&out), "<circle"), 2);
    assert_null(strstr(bl_str_text(&out), "nan"));
    bl_str_reset(&out);
    static const bl_report_style narrow = {.width = 10, .utf8 = true};
    bl_roofline_text(&r, &narrow, &out);
    assert_non_null(strchr(bl_str_text(&out), 'w'));
    bl_str_reset(&out);
    r.points = &points[2];
    r.n_points = 1;
    assert_int_equal(bl_roofline_chart(&r, &arena, &chart, &err), BL_ERR_FAILED);
    bl_roofline_text(&r, &narrow, &out);
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_chart, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_svg, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_what_is_missing, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
