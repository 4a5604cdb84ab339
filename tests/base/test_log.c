#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static char *say_all(bl_log_level level)
{
    test_capture capture;
    bl_log_init("prog", level);
    test_capture_begin(&capture, 2);
    bl_log_note("note %d", 1);
    bl_log_verbose("verbose %s", "2");
    bl_log_warn("warn %c", '3');
    return test_capture_end(&capture);
}

static void test_levels(void **state)
{
    static const char *const wanted[] = {
        [BL_LOG_QUIET] = "prog: warning: warn 3\n",
        [BL_LOG_NORMAL] = "prog: note 1\nprog: warning: warn 3\n",
        [BL_LOG_VERBOSE] = "prog: note 1\nprog: verbose 2\nprog: warning: warn 3\n",
        [BL_LOG_DEBUG] = "prog: note 1\nprog: verbose 2\nprog: warning: warn 3\n",
    };
    for (int level = BL_LOG_QUIET; level <= BL_LOG_DEBUG; level++) {
        char *text = say_all((bl_log_level)level);
        assert_string_equal(text, wanted[level]);
        free(text);
    }
}

static void test_a_long_message_is_cut_and_ends_its_line(void **state)
{
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    test_capture capture;
    bl_log_init("prog", BL_LOG_NORMAL);
    test_capture_begin(&capture, 2);
    bl_log_warn("%s", text);
    bl_log_init(text, BL_LOG_NORMAL); /* a program's name can be long too */
    bl_log_warn("y");
    char *out = test_capture_end(&capture);
    bl_log_init("prog", BL_LOG_NORMAL);
    assert_true(strlen(out) < sizeof text);
    assert_int_equal(out[strlen(out) - 1], '\n');
    assert_int_equal(memcmp(out, "prog: warning: xxx", 18), 0);
    free(out);
}

static void test_errors_tell_the_remedy_and_the_exit_status(void **state)
{
    bl_error err = {0};
    test_capture capture;
    bl_log_init("prog", BL_LOG_NORMAL);
    test_capture_begin(&capture, 2);
    assert_int_equal(bl_log_error(&err), 0); /* nothing happened, nothing is said */
    BL_FAIL(&err, BL_ERR_USAGE, "batch list '8x'");
    assert_int_equal(bl_log_error(&err), 2);
    bl_error_remedy(&err, "a number");
    assert_int_equal(bl_log_error(&err), 2);
    char *text = test_capture_end(&capture);
    assert_string_equal(text, "prog: error: batch list '8x'\nprog: error: batch list '8x'\n  try: a number\n");
    free(text);
    bl_log_init("prog", BL_LOG_DEBUG);
    test_capture_begin(&capture, 2);
    bl_log_error(&err);
    text = test_capture_end(&capture);
    assert_non_null(strstr(text, "test_log.c:"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_a_long_message_is_cut_and_ends_its_line),
        cmocka_unit_test(test_errors_tell_the_remedy_and_the_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
