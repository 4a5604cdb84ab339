#include "testing.h"

#include <math.h>
#include <string.h>

#include "plan/eta.h"
#include "plan/quote.h"

static void means_fill_in_for_what_did_not_run(void **state)
{
    bl_eta eta;
    assert_int_equal(bl_eta_init(&eta, 3, NULL), BL_OK);
    bl_plan_entry entries[] = {{.case_index = 0}, {.case_index = 1}, {.case_index = 2}, {.case_index = 0}};
    assert_true(isnan(bl_eta_remaining(&eta, entries, 4, 0)));
    assert_true(bl_eta_remaining(&eta, entries, 0, 0) == 0);
    bl_eta_add(&eta, 0, 10);
    assert_true(bl_eta_remaining(&eta, entries, 4, 0) == 40);
    bl_eta_add(&eta, 0, 20); /* mean 15 */
    bl_eta_add(&eta, 1, 5);  /* mean of the means 10, for case 2 */
    assert_true(bl_eta_remaining(&eta, entries, 4, 0) == 15 + 5 + 10 + 15);
    assert_true(bl_eta_remaining(&eta, entries, 4, 4) == 11 + 5 + 10 + 15);
    assert_true(bl_eta_remaining(&eta, entries, 4, 99) == 5 + 10 + 15); /* overran: about to end */
    assert_true(bl_eta_remaining(&eta, entries, 0, 0) == 0);
    bl_eta_clear(&eta);
}

static void nonsense_is_ignored(void **state)
{
    bl_eta eta;
    assert_int_equal(bl_eta_init(&eta, 1, NULL), BL_OK);
    bl_eta_add(&eta, 0, NAN);
    bl_eta_add(&eta, 0, INFINITY);
    bl_eta_add(&eta, 0, -1);
    bl_eta_add(&eta, 1, 5);
    bl_plan_entry entries[] = {{.case_index = 0}, {.case_index = 7}};
    assert_true(isnan(bl_eta_remaining(&eta, entries, 1, 0)));
    bl_eta_add(&eta, 0, 2);
    assert_true(bl_eta_remaining(&eta, entries, 2, 0) == 4);
    bl_eta_clear(&eta);
    assert_int_equal(bl_eta_init(&eta, 0, NULL), BL_OK);
    bl_eta_clear(&eta);
    for (int n = 0; n < 2; n++) {
        test_alloc_fail_after(n);
        assert_int_equal(bl_eta_init(&eta, 3, NULL), BL_ERR_NOMEM);
        assert_true(test_alloc_restore());
        assert_null(eta.sum_s);
    }
}

static void quotes_fit_one_line(void **state)
{
    assert_string_equal(bl_quote_n("8x", 2).text, "'8x'");
    assert_string_equal(bl_quote_n("8x", 1).text, "'8'");
    assert_string_equal(bl_quote_n("", 0).text, "''");
    assert_string_equal(bl_quote_n("a\n\x1b\x7f\tb", 6).text, "'a????b'");
    char text[BL_QUOTE_MAX + 10];
    memset(text, 'y', sizeof(text));
    bl_quote whole = bl_quote_n(text, BL_QUOTE_MAX), cut = bl_quote_n(text, BL_QUOTE_MAX + 1);
    assert_true(strlen(whole.text) == BL_QUOTE_MAX + 2 && strstr(whole.text, "...") == NULL);
    assert_true(strlen(cut.text) == BL_QUOTE_MAX + 2 && strstr(cut.text, "yyy...'") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_fill_in_for_what_did_not_run),
        cmocka_unit_test(nonsense_is_ignored),
        cmocka_unit_test(quotes_fit_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
