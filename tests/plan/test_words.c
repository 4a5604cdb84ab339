#include <string.h>

#include "plan/words.h"
#include "testing.h"

/* The words joined by '|'. */
static void assert_words(const char *text, const char *wanted)
{
    bl_strv words;
    bl_str joined;
    bl_str_init(&joined);
    assert_int_equal(bl_words_split(text, &words, NULL), BL_OK);
    for (size_t i = 0; i < words.len; i++)
        bl_str_printf(&joined, "%s%s", i ? "|" : "", words.items[i]);
    assert_string_equal(bl_str_text(&joined), wanted);
    bl_str_clear(&joined);
    bl_strv_clear(&words);
}

static void words_are_those_of_a_shell(void **state)
{
    assert_words("one", "one");
    assert_words("  a  b\tc\n", "a|b|c");
    assert_words("'a b' \"c d\" e\\ f", "a b|c d|e f");
    assert_words("a'b'\"c\"d", "abcd");
    assert_words("'' x \"\"", "|x|");
    assert_words("'\\' \"\\\\ \\\" \\$ \\` \\n\"", "\\|\\ \" $ ` \\n");
    assert_words("a;b | $HOME *", "a;b|||$HOME|*");
    assert_words("cp -r {batch} '{outdir}/x'", "cp|-r|{batch}|{outdir}/x");
}

static void what_is_left_open_is_an_error(void **state)
{
    static const char *const bad[] = {"", "  ", "a 'b", "a \"b", "a\\", "\"a\\"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bl_strv words;
        bl_error err = {0};
        assert_int_equal(bl_words_split(bad[i], &words, &err), BL_ERR_USAGE);
        assert_true(err.message[0]);
        assert_int_equal(words.len, 0);
    }
}

static void every_lost_allocation_is_an_error(void **state)
{
    for (int n = 0; n < 100; n++) {
        bl_strv words;
        test_alloc_fail_after(n);
        int rc = bl_words_split("one 'a second word that is long enough to grow' three", &words, NULL);
        bool failed = test_alloc_restore();
        assert_int_equal(rc, failed ? BL_ERR_NOMEM : BL_OK);
        bl_strv_clear(&words);
        if (!failed)
            return;
    }
    fail_msg("it never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_a_shell),
        cmocka_unit_test(what_is_left_open_is_an_error),
        cmocka_unit_test(every_lost_allocation_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
