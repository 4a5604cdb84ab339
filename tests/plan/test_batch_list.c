#include "testing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/str.h"
#include "plan/batch_list.h"

/* The list as text, so that a failure shows both. */
static void expect(const char *text, const char *wanted)
{
    bl_batch_list list;
    bl_error err = {0};
    int rc = bl_batch_list_parse(text, &list, &err);
    if (rc != BL_OK)
        fail_msg("'%s': %s", text, err.message);
    bl_str got;
    bl_str_init(&got);
    for (size_t i = 0; i < list.len; i++)
        bl_str_printf(&got, "%s%lld", i > 0 ? "," : "", (long long)list.items[i]);
    assert_string_equal(bl_str_text(&got), wanted);
    bl_str_clear(&got);
    bl_batch_list_clear(&list);
    assert_null(list.items);
}

/* One line, with the part at fault and a remedy; nothing left to free. */
static void refuse(const char *text, const char *reason)
{
    bl_batch_list list = {.items = (int64_t *)1, .len = 9};
    bl_error err = {0};
    int rc = bl_batch_list_parse(text, &list, &err);
    if (rc != BL_ERR_USAGE || strstr(err.message, reason) == NULL)
        fail_msg("'%s' gave %d '%s', not '%s'", text, rc, err.message, reason);
    assert_null(strchr(err.message, '\n'));
    assert_true(err.remedy[0] != '\0');
    assert_null(list.items);
    assert_true(list.len == 0);
}

static void sizes_and_ranges(void **state)
{
    expect("128", "128");
    expect("1,2,3", "1,2,3");
    expect("100,127,128,129,156", "100,127,128,129,156");
    expect("1..4", "1,2,3,4");
    expect("7..7", "7");
    expect("8..64:8", "8,16,24,32,40,48,56,64");
    expect("8..63:8", "8,16,24,32,40,48,56");
    expect("5..9:100", "5");
    expect("007", "7");
    expect("1000000000", "1000000000");
    bl_batch_list list;
    assert_int_equal(bl_batch_list_parse("1..64", &list, NULL), BL_OK);
    assert_true(list.len == 64 && list.items[0] == 1 && list.items[63] == 64);
    bl_batch_list_clear(&list);
}

static void powers_and_geometric_series(void **state)
{
    expect("pow2:1..512", "1,2,4,8,16,32,64,128,256,512");
    expect("pow2:3..100", "4,8,16,32,64");
    expect("pow2:64..64", "64");
    expect("pow2:536870912..1000000000", "536870912");
    expect("x1.25:8..256", "8,10,13,16,20,24,31,38,48,60,75,93,116,146,182,227");
    expect("x2:1..16", "1,2,4,8,16");
    expect("x1000:1..1000000000", "1,1000,1000000,1000000000");
    /* A factor near 1 rounds to the same size many times over. */
    expect("x1.1:1..4", "1,2,3,4");
}

static void mixtures_come_ascending_and_once(void **state)
{
    expect("64,1..3,2,pow2:2..8,64", "1,2,3,4,8,64");
    expect("129,128,127", "127,128,129");
    expect(" 1 ,\t2 , 3..4 ", "1,2,3,4");
    expect("128,1..2,x1.5:4..9,pow2:128..256,128", "1,2,4,6,9,128,256");
}

static void what_overlaps_does_not_count_twice_against_the_limit(void **state)
{
    expect("1..1,1..1,1..1", "1");
    bl_batch_list list;
    bl_error err = {0};
    assert_int_equal(bl_batch_list_parse("1..4096,1..4096,1..4096,4096", &list, &err), BL_OK);
    assert_true(list.len == BL_BATCH_LIST_MAX);
    bl_batch_list_clear(&list);
    refuse("1..4097", "more than 4096");
    refuse("1..4096,5000", "more than 4096");
    refuse("1..4000,5000..5096", "more than 4096");
}

static void malformed_lists_say_where(void **state)
{
    refuse("", "it is empty");
    refuse("   ", "it is empty");
    refuse("\t", "it is empty");
    refuse(",", "part 1 of ',' is empty");
    refuse("1,,2", "part 2 of '1,,2' is empty");
    refuse("1,2,", "part 3 of '1,2,' is empty");
    refuse("8x", "'8x' is not a whole number");
    refuse("16,8x,32", "'8x' is not a whole number");
    refuse("1.5", "'1.5' is not a whole number");
    refuse("1e3", "'1e3' is not a whole number");
    refuse("+8", "'+8' is not a whole number");
    refuse("0x10", "'0x10' is not a whole number");
    refuse("1 2", "'1 2' is not a whole number");
    refuse("\xef\xbc\x98", "is not a whole number"); /* a full-width 8 */
    refuse("0", "'0' asks for 0");
    refuse("000", "asks for 0");
    refuse("-4", "'-4' is negative");
    refuse("8,-0", "'-0' is negative");
    refuse("0..4", "'0..4' asks for 0");
    refuse("-4..4", "'-4..4' is negative");
    refuse("..", "'..' lacks a number");
    refuse("1..", "'1..' lacks a number");
    refuse("..4", "'..4' lacks a number");
    refuse("1...4", "'.4' in '1...4' is not a whole number");
    refuse("1..2..3", "is not a whole number");
    refuse("1..a", "'a' in '1..a' is not a whole number");
    refuse("64..8", "'64..8' runs backwards");
    refuse("8..64:", "'8..64:' lacks a number");
    refuse("8..64:0", "'8..64:0' asks for 0");
    refuse("8..64:-8", "'8..64:-8' is negative");
    refuse("8..64:x", "'x' in '8..64:x' is not a whole number");
    refuse("8:64", "'8:64' is not a whole number");
}

static void malformed_series_say_where(void **state)
{
    refuse("pow2:", "'pow2:' lacks a range");
    refuse("pow2:8", "'pow2:8' lacks a range");
    refuse("pow2:5..7", "'pow2:5..7' holds no power of two");
    refuse("pow2:512..1", "'pow2:512..1' runs backwards");
    refuse("pow2:0..8", "asks for 0");
    refuse("pow3:1..9", "is not a whole number");
    refuse("x", "lacks a range");
    refuse("x1.25", "'x1.25' lacks a range");
    refuse("x1.25:8", "'x1.25:8' lacks a range");
    refuse("x:8..256", "lacks a factor");
    refuse("xx:8..256", "has a factor that is not a number");
    refuse("x1:8..256", "has a factor outside");
    refuse("x0.5:8..256", "has a factor outside");
    refuse("x-2:8..256", "has a factor outside");
    refuse("x1001:8..256", "has a factor outside");
    refuse("xnan:8..256", "has a factor");
    refuse("xinf:8..256", "has a factor");
    refuse("x1.25000000000000000000000000000000000000:8..256", "lacks a factor");
    refuse("x1.25:256..8", "runs backwards");
}

static void what_is_too_large_is_refused_at_once(void **state)
{
    refuse("1000000001", "'1000000001' is too large");
    refuse("99999999999999999999999999999999", "is too large");
    refuse("18446744073709551617", "is too large"); /* 2^64 + 1 would wrap to 1 */
    refuse("1..1000000000", "more than 4096");
    refuse("1..1000000001", "is too large");
    refuse("1..9223372036854775807:9223372036854775807", "is too large");
    refuse("1..1000000000:2", "more than 4096");
    refuse("x1.001:1..1000000000", "more than 4096");
    expect("1..1000000000:999999999", "1,1000000000");
    expect("999999999..1000000000", "999999999,1000000000");
}

static void long_and_hostile_text_is_cut_in_the_message(void **state)
{
    char text[4096];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuse(text, "...' is not a whole number");
    memset(text, ',', sizeof(text) - 1);
    refuse(text, "part 1 of");
    refuse("8\n9", "'8?9' is not a whole number");
    refuse("\x1b[31m8", "'?[31m8' is not a whole number");
}

static void every_lost_allocation_is_an_error(void **state)
{
    bl_batch_list list;
    for (int n = 0; n < 100; n++) {
        bl_error err = {0};
        test_alloc_fail_after(n);
        int rc = bl_batch_list_parse("1..1000,pow2:1..512,x1.25:8..256", &list, &err);
        bool failed = test_alloc_restore();
        assert_int_equal(rc, failed ? BL_ERR_NOMEM : BL_OK);
        if (!failed) {
            assert_true(n > 0 && list.len == 1000);
            bl_batch_list_clear(&list);
            return;
        }
        assert_null(list.items);
    }
    fail_msg("it never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_ranges),
        cmocka_unit_test(powers_and_geometric_series),
        cmocka_unit_test(mixtures_come_ascending_and_once),
        cmocka_unit_test(what_overlaps_does_not_count_twice_against_the_limit),
        cmocka_unit_test(malformed_lists_say_where),
        cmocka_unit_test(malformed_series_say_where),
        cmocka_unit_test(what_is_too_large_is_refused_at_once),
        cmocka_unit_test(long_and_hostile_text_is_cut_in_the_message),
        cmocka_unit_test(every_lost_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
