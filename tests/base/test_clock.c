#include "testing.h"

#include <time.h>

#include "base/clock.h"

static void test_clocks(void **state)
{
    int64_t before = bl_clock_ns();
    struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, NULL);
    assert_true(bl_clock_ns() - before >= 2000000);
    int64_t wall = bl_clock_wall_ns();
    assert_true(wall / BL_NS_PER_S - (int64_t)time(NULL) >= -2);
    assert_true(wall / BL_NS_PER_S - (int64_t)time(NULL) <= 2);
}

static void test_format(void **state)
{
    char text[32];
    bl_clock_format_utc(0, text, sizeof text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    bl_clock_format_utc(1715933350 * BL_NS_PER_S + 999999999, text, sizeof text);
    assert_string_equal(text, "2024-05-17T08:09:10Z");
    bl_clock_format_utc(1709164800 * BL_NS_PER_S, text, 21); /* a leap day, and just enough room */
    assert_string_equal(text, "2024-02-29T00:00:00Z");
    bl_clock_format_utc(0, text, 20);
    assert_string_equal(text, ""); /* not half a date */
    text[0] = 'x';
    bl_clock_format_utc(0, text, 0);
    assert_int_equal(text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clocks), cmocka_unit_test(test_format)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
