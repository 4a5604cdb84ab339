/* The marker protocol's reader: bytes in, facts out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/rng.h"
#include "trial/markers.h"

static bl_markers m;

static void feed(const char *text)
{
    bl_markers_clear(&m);
    bl_markers_feed(&m, text, strlen(text));
    bl_markers_end(&m);
}

static void a_whole_run_is_understood(void **state)
{
    feed("{\"type\":\"hello\",\"version\":1,\"program\":\"p\",\"program_version\":\"2\",\"precision\":\"bf16\","
         "\"ranks\":4,\"batch\":128}\n"
         "{\"type\":\"ready\",\"t_ns\":1000}\n"
         "{\"type\":\"step\",\"samples\":128,\"t_ns\":3000,\"loss\":2.5,\"wait_ns\":500}\r\n"
         "\n"
         "{\"type\":\"step\",\"samples\":127,\"t_ns\":4000}\n"
         "{\"type\":\"phase\",\"name\":\"eval\",\"t_ns\":5000}\n"
         "{\"type\":\"step\",\"samples\":9,\"t_ns\":6000}\n"
         "{\"type\":\"phase\",\"name\":\"train\",\"t_ns\":9000}\n"
         "{\"type\":\"step\",\"samples\":128.0,\"t_ns\":9500}\n"
         "{\"type\":\"memory\",\"kind\":\"slab\",\"bytes\":7}\n"
         "{\"type\":\"metric\",\"name\":\"top1\",\"value\":0.5,\"t_ns\":9600}\n"
         "{\"type\":\"metric\",\"name\":\"top1\",\"value\":0.75,\"t_ns\":9700}\n"
         "{\"type\":\"a later version's\",\"x\":1}\n"
         "{\"type\":\"done\",\"t_ns\":9999}");
    assert_true(m.any && m.hello && m.ready && m.done && !m.oom);
    assert_string_equal(m.precision, "bf16");
    assert_int_equal(m.ranks, 4);
    assert_int_equal(m.batch, 128);
    assert_int_equal(m.n_steps, 3);
    assert_int_equal(m.samples, 383);
    assert_int_equal(m.steps[0].time_ns, 2000);
    assert_int_equal(m.steps[0].wait_ns, 500);
    assert_true(m.steps[0].loss == 2.5 && isnan(m.steps[1].loss));
    assert_int_equal(m.steps[1].wait_ns, -1);
    assert_int_equal(m.steps[2].time_ns, 500); /* since the training went on, not since the evaluation */
    assert_int_equal(m.n_ignored, 2);
    assert_int_equal(m.n_malformed, 0);
    assert_int_equal(m.n_metrics, 1);
    assert_true(m.metrics[0].value == 0.75);
}

static void without_a_start_the_first_step_has_no_time(void **state)
{
    feed("{\"type\":\"step\",\"samples\":8,\"t_ns\":3000}\n{\"type\":\"step\",\"samples\":8,\"t_ns\":4000}\n");
    assert_int_equal(m.n_steps, 2);
    assert_int_equal(m.steps[0].time_ns, 0);
    assert_int_equal(m.steps[1].time_ns, 1000);
    assert_string_equal(m.phase, "train");
}

static void what_makes_no_sense_is_counted_and_passed_over(void **state)
{
    static const char *const lines[] = {
        "x",
        "[]",
        "3",
        "{\"type\":\"step\"",
        "{\"type\":\"step\",\"samples\":0,\"t_ns\":10}",
        "{\"type\":\"step\",\"samples\":-1,\"t_ns\":10}",
        "{\"type\":\"step\",\"samples\":1.5,\"t_ns\":10}",
        "{\"type\":\"step\",\"samples\":8}",
        "{\"type\":\"step\",\"samples\":8,\"t_ns\":\"10\"}",
        "{\"type\":\"step\",\"samples\":8,\"t_ns\":1e300}",
        "{\"type\":\"step\",\"samples\":99999999999999999999,\"t_ns\":10}",
        "{\"type\":\"step\",\"samples\":8,\"t_ns\":10,\"loss\":\"low\"}",
        "{\"type\":\"step\",\"samples\":8,\"t_ns\":10,\"wait_ns\":-5}",
        "{\"type\":\"phase\"}",
        "{\"type\":\"memory\",\"kind\":\"x\"}",
        "{\"type\":\"memory\",\"bytes\":1}",
        "{\"type\":\"metric\",\"name\":\"x\",\"value\":\"1\"}",
        "{\"type\":\"hello\",\"batch\":-8}",
        "{\"type\":\"step\",\"samples\":8,\"samples\":9,\"t_ns\":10}",
        "{\"type\":7}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        feed(lines[i]);
        if (m.any || m.n_malformed != 1 || m.n_steps != 0)
            fail_msg("%s", lines[i]);
    }
    feed("{\"type\":\"ready\",\"t_ns\":100}\n{\"type\":\"step\",\"samples\":8,\"t_ns\":90}\n"
         "{\"type\":\"step\",\"samples\":8,\"t_ns\":110}\n");
    assert_int_equal(m.n_malformed, 1); /* it went back in time */
    assert_int_equal(m.n_steps, 1);
}

static void the_gradients_noise_belongs_to_its_step(void **state)
{
    feed("{\"type\":\"noise\",\"small\":8,\"big\":64,\"small_sq\":2,\"big_sq\":1}\n"
         "{\"type\":\"step\",\"samples\":8,\"t_ns\":10}\n"
         "{\"type\":\"phase\",\"name\":\"noise\",\"t_ns\":20}\n"
         "{\"type\":\"noise\",\"small\":8.0,\"big\":64,\"small_sq\":2.5,\"big_sq\":0,\"scaled\":true,\"t_ns\":25}\n");
    assert_int_equal(m.n_malformed, 0);
    assert_int_equal(m.n_noise, 2);
    assert_true(m.noise[0].after_steps == 0 && !m.noise[0].scaled && m.noise[0].norms.small_sq == 2);
    assert_true(m.noise[1].after_steps == 1 && m.noise[1].scaled && m.noise[1].norms.small_n == 8);
    assert_true(m.noise[1].norms.big_n == 64 && m.noise[1].norms.small_sq == 2.5 && m.noise[1].t_ns == 25);
    static const char *const bad[] = {
        "{\"type\":\"noise\",\"small\":64,\"big\":64,\"small_sq\":2,\"big_sq\":1}",
        "{\"type\":\"noise\",\"small\":0,\"big\":64,\"small_sq\":2,\"big_sq\":1}",
        "{\"type\":\"noise\",\"small\":8,\"big\":64,\"small_sq\":-2,\"big_sq\":1}",
        "{\"type\":\"noise\",\"small\":8,\"big\":64,\"small_sq\":NaN,\"big_sq\":1}",
        "{\"type\":\"noise\",\"small\":8,\"big\":64,\"small_sq\":2}",
        "{\"type\":\"noise\",\"small\":8,\"big\":64,\"small_sq\":2,\"big_sq\":1,\"scaled\":1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        feed(bad[i]);
        if (m.n_malformed != 1 || m.n_noise != 0)
            fail_msg("%s", bad[i]);
    }
}

static void a_loss_that_is_no_number_keeps_its_step(void **state)
{
    feed("{\"type\":\"step\",\"samples\":8,\"t_ns\":10,\"loss\":NaN}\n"
         "{\"type\":\"step\",\"samples\":8,\"t_ns\":20,\"loss\":-Infinity}\n"
         "{\"type\":\"hello\",\"program\":\"NaN \\\" Infinity\",\"x\":Infinity}\n");
    assert_int_equal(m.n_malformed, 0);
    assert_int_equal(m.n_steps, 2);
    assert_true(isnan(m.steps[0].loss) && isnan(m.steps[1].loss));
    assert_string_equal(m.program, "NaN \" Infinity");
}

static void lines_that_are_too_long_are_skipped(void **state)
{
    char *text = malloc(BL_MARKER_LINE_MAX_B + 200);
    assert_non_null(text);
    memset(text, 'x', BL_MARKER_LINE_MAX_B + 1);
    strcpy(text + BL_MARKER_LINE_MAX_B + 1, "\n{\"type\":\"oom\",\"bytes\":5}\n");
    feed(text);
    free(text);
    assert_int_equal(m.n_malformed, 1);
    assert_true(m.oom);
    assert_int_equal(m.oom_b, 5);
}

static void the_pieces_a_stream_comes_in_do_not_matter(void **state)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_append(&text, "{\"type\":\"ready\",\"t_ns\":1}\n");
    for (int i = 0; i < 500; i++)
        bl_str_printf(&text, "{\"type\":\"step\",\"samples\":%d,\"t_ns\":%d}\n", 1 + i % 7, 100 + i * 10);
    bl_rng rng;
    bl_rng_init(&rng, 1, 0);
    for (int run = 0; run < 20; run++) {
        bl_markers_clear(&m);
        for (size_t at = 0; at < text.len;) {
            size_t n = 1 + (size_t)bl_rng_below(&rng, 200);
            if (n > text.len - at)
                n = text.len - at;
            bl_markers_feed(&m, text.data + at, n);
            at += n;
        }
        bl_markers_end(&m);
        assert_int_equal(m.n_steps, 500);
        assert_int_equal(m.n_malformed, 0);
        assert_int_equal(m.steps[499].time_ns, 10);
    }
    bl_str_clear(&text);
}

static int clear(void **state)
{
    bl_markers_clear(&m);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run_is_understood),
        cmocka_unit_test(without_a_start_the_first_step_has_no_time),
        cmocka_unit_test(what_makes_no_sense_is_counted_and_passed_over),
        cmocka_unit_test(the_gradients_noise_belongs_to_its_step),
        cmocka_unit_test(a_loss_that_is_no_number_keeps_its_step),
        cmocka_unit_test(lines_that_are_too_long_are_skipped),
        cmocka_unit_test(the_pieces_a_stream_comes_in_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
