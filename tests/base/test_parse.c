#include "testing.h"

#include <locale.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/parse.h"

static void expect_i64(const char *text, int64_t wanted)
{
    bl_error err = {0};
    int64_t value = 77;
    assert_int_equal(bl_parse_i64(text, "number", INT64_MIN, INT64_MAX, &value, &err), BL_OK);
    assert_true(value == wanted);
}

static void refuse_i64(const char *text, int64_t min, int64_t max, const char *reason)
{
    bl_error err = {0};
    int64_t value = 77;
    assert_int_equal(bl_parse_i64(text, "--batch", min, max, &value, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "--batch"));
    assert_non_null(strstr(err.message, reason));
    assert_true(value == 77);
}

static void test_i64(void **state)
{
    expect_i64("0", 0);
    expect_i64("-0", 0);
    expect_i64("+5", 5);
    expect_i64("007", 7);
    expect_i64("9223372036854775807", INT64_MAX);
    expect_i64("-9223372036854775808", INT64_MIN);
    static const char *const malformed[] = {"",    " 1",  "1 ",   "8x",    "x",   "-",        "+",   "--1",
                                            "1.0", "1e3", "0x10", "1,000", "\t1", "\xd9\xa1", "1\n", "+-1"};
    for (size_t i = 0; i < BL_ARRAY_LEN(malformed); i++)
        refuse_i64(malformed[i], INT64_MIN, INT64_MAX, "is not a whole number");
    refuse_i64("9223372036854775808", INT64_MIN, INT64_MAX, "out of range");
    refuse_i64("-9223372036854775809", INT64_MIN, INT64_MAX, "out of range");
    refuse_i64("99999999999999999999999999", INT64_MIN, INT64_MAX, "out of range");
    refuse_i64("18446744073709551616", INT64_MIN, INT64_MAX, "out of range"); /* 2^64 wraps to 0 */
    refuse_i64("0", 1, 512, "between 1 and 512");
    refuse_i64("513", 1, 512, "between 1 and 512");
    int64_t value;
    assert_int_equal(bl_parse_i64("512", "n", 1, 512, &value, NULL), BL_OK);
    assert_int_equal(bl_parse_i64("8x", "n", 1, 512, &value, NULL), BL_ERR_USAGE);
}

static void expect_f64(const char *text, double wanted)
{
    bl_error err = {0};
    double value = NAN;
    assert_int_equal(bl_parse_f64(text, "rate", &value, &err), BL_OK);
    assert_true(value == wanted);
}

static void refuse_f64(const char *text)
{
    bl_error err = {0};
    double value = 77;
    assert_int_equal(bl_parse_f64(text, "rate", &value, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "rate"));
    assert_true(value == 77);
}

static void check_f64(void)
{
    expect_f64("0", 0);
    expect_f64("-1.5", -1.5);
    expect_f64("+.25", .25);
    expect_f64("5.", 5);
    expect_f64("1e-3", 1e-3);
    expect_f64("1E+3", 1e3);
    expect_f64("0.1", 0.1);
    static const char *const malformed[] = {"",   ".",   "-",   "e5",   "1e",    "1e+",   "1,5",    " 1",
                                            "1 ", "nan", "inf", "-inf", "0x1p3", "1e999", "-1e999", "1.2.3"};
    for (size_t i = 0; i < BL_ARRAY_LEN(malformed); i++)
        refuse_f64(malformed[i]);
    char long_text[200];
    memset(long_text, '1', sizeof long_text);
    long_text[199] = '\0';
    refuse_f64(long_text);
}

static void test_f64(void **state)
{
    check_f64();
}

/* Whatever the user's language writes for a decimal point, options and files have a point. */
static void test_f64_in_a_locale_with_a_comma(void **state)
{
    char *folder = test_make_folder();
    char *name = test_path(folder, "de_DE.UTF-8");
    const char *const argv[] = {"localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", name, NULL};
    extern char **environ;
    pid_t pid;
    int status = 1;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, (char **)(uintptr_t)argv, environ) == 0)
        waitpid(pid, &status, 0);
    free(name);
    setenv("LOCPATH", folder, 1);
    bool have = setlocale(LC_ALL, "de_DE.UTF-8") != NULL && localeconv()->decimal_point[0] == ',';
    if (have) {
        check_f64();
        double seconds;
        assert_int_equal(bl_parse_duration("1.5m", "time", &seconds, NULL), BL_OK);
        assert_true(seconds == 90);
        assert_int_equal(bl_parse_duration("1,5m", "time", &seconds, NULL), BL_ERR_USAGE);
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    test_remove_folder(folder);
    if (!have)
        skip(); /* neither localedef nor the locale's definition are installed */
}

static void test_duration(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"90", 90}, {"90s", 90},     {"1.5m", 90},  {"2min", 120}, {"2h", 7200},
                {"0", 0},   {"250ms", 0.25}, {"1d", 86400}, {"1e3", 1000}, {"1e9", 1e9}};
    for (size_t i = 0; i < BL_ARRAY_LEN(good); i++) {
        double value = -1;
        bl_error err = {0};
        assert_int_equal(bl_parse_duration(good[i].text, "--time", &value, &err), BL_OK);
        assert_true(fabs(value - good[i].seconds) <= 1e-12 * good[i].seconds);
    }
    static const char *const bad[] = {"", "s", "5 s", "5x", "-1s", "1e10", "2hh", "1m30s", "5S", "nan"};
    for (size_t i = 0; i < BL_ARRAY_LEN(bad); i++) {
        double value = 77;
        bl_error err = {0};
        assert_int_equal(bl_parse_duration(bad[i], "--time", &value, &err), BL_ERR_USAGE);
        assert_non_null(strstr(err.message, "--time"));
        assert_true(value == 77);
    }
    bl_error err = {0};
    double value;
    assert_int_equal(bl_parse_duration("5x", "--time", &value, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.remedy, "90s"));
}

static void test_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},           {"512", 512},         {"512B", 512},
                {"64K", 65536},     {"1.5K", 1536},       {"1M", 1048576},
                {"2MiB", 2097152},  {"1.5G", 1610612736}, {"8GiB", 1ull << 33},
                {"1T", 1ull << 40}, {"0.5KB", 512},       {"4194304T", 1ull << 62}};
    for (size_t i = 0; i < BL_ARRAY_LEN(good); i++) {
        uint64_t value = 77;
        bl_error err = {0};
        assert_int_equal(bl_parse_size(good[i].text, "--memory", &value, &err), BL_OK);
        assert_true(value == good[i].bytes);
    }
    static const char *const bad[] = {"", "G", "8 G", "8g", "8Gib", "-1", "-1K", "8388608T", "1e30", "8P", "inf"};
    for (size_t i = 0; i < BL_ARRAY_LEN(bad); i++) {
        uint64_t value = 77;
        bl_error err = {0};
        assert_int_equal(bl_parse_size(bad[i], "--memory", &value, &err), BL_ERR_USAGE);
        assert_non_null(strstr(err.message, "--memory"));
        assert_true(value == 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_i64),
        cmocka_unit_test(test_f64),
        cmocka_unit_test(test_f64_in_a_locale_with_a_comma),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
