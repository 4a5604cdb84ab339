#include "testing.h"

#include <string.h>

#include "base/error.h"

static void test_the_first_failure_wins(void **state)
{
    bl_error err = {0};
    assert_int_equal(BL_FAIL(&err, BL_ERR_IO, "cannot write '%s'", "a"), BL_ERR_IO);
    int const line = __LINE__ - 1;
    assert_int_equal(BL_FAIL(&err, BL_ERR_NOMEM, "later"), BL_ERR_IO);
    assert_string_equal(err.message, "cannot write 'a'");
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.file, "test_error.c"));
    bl_error_remedy(&err, "free %d bytes", 5);
    bl_error_remedy(&err, "another");
    assert_string_equal(err.remedy, "free 5 bytes");
    bl_error_clear(&err);
    assert_int_equal(err.code, BL_OK);
    assert_string_equal(err.message, "");
    assert_string_equal(err.remedy, "");
}

static void test_without_an_error_object(void **state)
{
    assert_int_equal(BL_FAIL(NULL, BL_ERR_USAGE, "nobody reads this"), BL_ERR_USAGE);
    bl_error_remedy(NULL, "nor this");
    bl_error_context(NULL, "nor this");
    bl_error_clear(NULL);
    bl_error none = {0};
    bl_error_remedy(&none, "a remedy without an error");
    bl_error_context(&none, "a context without an error");
    assert_string_equal(none.remedy, "");
    assert_string_equal(none.message, "");
}

static void test_context(void **state)
{
    bl_error err = {0};
    BL_FAIL(&err, BL_ERR_FORMAT, "no class folders");
    bl_error_context(&err, "data '%s'", "flowers");
    bl_error_context(&err, "trial %d", 3);
    assert_string_equal(err.message, "trial 3: data 'flowers': no class folders");
    assert_int_equal(err.code, BL_ERR_FORMAT);
}

static void test_long_texts_are_cut(void **state)
{
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    bl_error err = {0};
    BL_FAIL(&err, BL_ERR_USAGE, "%s", text);
    bl_error_remedy(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_int_equal(strlen(err.remedy), sizeof err.remedy - 1);
    bl_error_clear(&err);
    /* A long context leaves the cause readable. */
    BL_FAIL(&err, BL_ERR_USAGE, "the cause");
    bl_error_context(&err, "%s", text);
    assert_true(strlen(err.message) < sizeof err.message);
    assert_non_null(strstr(err.message, ": the cause"));
    /* A long cause leaves a short context whole. */
    bl_error_clear(&err);
    BL_FAIL(&err, BL_ERR_USAGE, "%s", text);
    bl_error_context(&err, "short");
    assert_int_equal(memcmp(err.message, "short: xxx", 10), 0);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void test_exit_status(void **state)
{
    static const int wanted[] = {
        [BL_OK] = 0,         [BL_ERR_USAGE] = 2, [BL_ERR_ENV] = 3,    [BL_ERR_IO] = 3,          [BL_ERR_NOMEM] = 3,
        [BL_ERR_FORMAT] = 2, [BL_ERR_BUSY] = 3,  [BL_ERR_FAILED] = 1, [BL_ERR_INTERRUPTED] = 1, [BL_ERR_INTERNAL] = 3};
    for (int code = 0; code < (int)BL_ARRAY_LEN(wanted); code++)
        assert_int_equal(bl_error_exit_status((bl_code)code), wanted[code]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_failure_wins),
        cmocka_unit_test(test_without_an_error_object),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
