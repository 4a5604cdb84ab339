#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

static void test_append(void **state)
{
    bl_str s;
    bl_str_init(&s);
    assert_string_equal(bl_str_text(&s), "");
    bl_str_append(&s, "");
    bl_str_append_n(&s, NULL, 0);
    assert_int_equal(s.len, 0);
    bl_str_append(&s, "ab");
    bl_str_append_c(&s, 'c');
    bl_str_append_n(&s, "defgh", 3);
    bl_str_printf(&s, "-%d-%s", 12, "x");
    assert_string_equal(bl_str_text(&s), "abcdef-12-x");
    assert_int_equal(s.len, strlen("abcdef-12-x"));
    bl_str_reset(&s);
    assert_string_equal(bl_str_text(&s), "");
    assert_true(s.cap > 0);
    bl_str_append(&s, "again");
    assert_string_equal(bl_str_text(&s), "again");
    bl_str_clear(&s);
    assert_null(s.data);
}

static void test_append_keeps_nul_bytes_and_grows(void **state)
{
    bl_str s;
    bl_str_init(&s);
    for (int i = 0; i < 10000; i++)
        bl_str_append_n(&s, "\0\1", 2);
    assert_false(s.failed);
    assert_int_equal(s.len, 20000);
    for (size_t i = 0; i < s.len; i++)
        assert_int_equal(s.data[i], i % 2);
    bl_str_printf(&s, "%3000s", "y");
    assert_int_equal(s.len, 23000);
    assert_int_equal(s.data[s.len], 0);
    bl_str_clear(&s);
}

/* Each byte for itself, as escaping does: the number of times that all is copied must not grow with the length. */
static void test_growth_is_geometric(void **state)
{
    bl_str s;
    size_t n_grown = 0, cap = 0;
    bl_str_init(&s);
    for (int i = 0; i < 1000000; i++) {
        bl_str_append_c(&s, 'x');
        n_grown += s.cap != cap;
        cap = s.cap;
    }
    assert_false(s.failed);
    assert_true(n_grown <= 20);
    bl_str_clear(&s);
}

static void test_a_failure_stays(void **state)
{
    bl_str s;
    bl_str_init(&s);
    bl_str_append(&s, "kept");
    bl_str_append_n(&s, "x", SIZE_MAX - 2); /* the size overflows before anything is read */
    assert_true(s.failed);
    bl_str_append(&s, "lost");
    assert_string_equal(bl_str_text(&s), "kept");
    assert_null(bl_str_take(&s));
    assert_false(s.failed); /* usable again, and nothing leaked */
    bl_str_append(&s, "new");
    assert_string_equal(bl_str_text(&s), "new");
    test_alloc_fail_after(0);
    bl_str_printf(&s, "%100d", 1);
    bl_str_append(&s, "not either");
    assert_int_equal(test_alloc_restore(), 1);
    assert_true(s.failed);
    assert_string_equal(bl_str_text(&s), "new");
    bl_str_reset(&s);
    assert_false(s.failed);
    bl_str_clear(&s);
}

static void test_take(void **state)
{
    bl_str s;
    bl_str_init(&s);
    char *empty = bl_str_take(&s);
    assert_string_equal(empty, "");
    free(empty);
    bl_str_append(&s, "mine");
    char *text = bl_str_take(&s);
    assert_string_equal(text, "mine");
    assert_null(s.data);
    free(text);
    test_alloc_fail_after(0);
    assert_null(bl_str_take(&s));
    test_alloc_restore();
}

static void test_copies(void **state)
{
    char *copy = bl_strdup("batch");
    assert_string_equal(copy, "batch");
    free(copy);
    copy = bl_strndup("batchlab", 5);
    assert_string_equal(copy, "batch");
    free(copy);
    copy = bl_strndup("ab", 100);
    assert_string_equal(copy, "ab");
    free(copy);
    char const unterminated[3] = {'a', 'b', 'c'};
    copy = bl_strndup(unterminated, 3);
    assert_string_equal(copy, "abc");
    free(copy);
    test_alloc_fail_after(0);
    assert_null(bl_strdup("x"));
    assert_null(bl_strndup("x", 1));
    test_alloc_restore();
}

static void test_strv(void **state)
{
    bl_strv v;
    bl_strv_init(&v);
    bl_strv_clear(&v);
    for (int i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "item %d", i);
        assert_int_equal(bl_strv_push(&v, text), BL_OK);
        assert_null(v.items[v.len]); /* an argv at any time */
    }
    assert_int_equal(v.len, 100);
    assert_string_equal(v.items[99], "item 99");
    for (int fail_at = 0; fail_at < 2; fail_at++) {
        bl_strv w;
        bl_strv_init(&w);
        test_alloc_fail_after(fail_at);
        assert_int_equal(bl_strv_push(&w, "x"), BL_ERR_NOMEM);
        test_alloc_restore();
        assert_int_equal(w.len, 0);
        assert_int_equal(bl_strv_push(&w, "x"), BL_OK);
        bl_strv_clear(&w);
    }
    bl_strv_clear(&v);
    assert_null(v.items);
    assert_int_equal(v.len, 0);
}

static void test_distance(void **state)
{
    assert_int_equal(bl_str_distance("", ""), 0);
    assert_int_equal(bl_str_distance("", "abc"), 3);
    assert_int_equal(bl_str_distance("abc", ""), 3);
    assert_int_equal(bl_str_distance("batch", "batch"), 0);
    assert_int_equal(bl_str_distance("batch", "bacth"), 2);
    assert_int_equal(bl_str_distance("kitten", "sitting"), 3);
    assert_int_equal(bl_str_distance("sweep", "seep"), 1);
    char long_a[200], long_b[200];
    memset(long_a, 'a', sizeof long_a);
    memset(long_b, 'b', sizeof long_b);
    long_a[199] = long_b[199] = '\0';
    assert_int_equal(bl_str_distance(long_a, long_b), 63); /* both are cut there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),          cmocka_unit_test(test_append_keeps_nul_bytes_and_grows),
        cmocka_unit_test(test_a_failure_stays), cmocka_unit_test(test_take),
        cmocka_unit_test(test_copies),          cmocka_unit_test(test_strv),
        cmocka_unit_test(test_distance),        cmocka_unit_test(test_growth_is_geometric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
