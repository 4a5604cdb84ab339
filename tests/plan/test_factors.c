#include "testing.h"

#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"
#include "base/str.h"
#include "plan/factors.h"

static void add_batches(bl_factors *factors, const char *list)
{
    bl_batch_list batches;
    bl_error err = {0};
    assert_int_equal(bl_batch_list_parse(list, &batches, &err), BL_OK);
    assert_int_equal(bl_factors_add_batch(factors, &batches, &err), BL_OK);
    bl_batch_list_clear(&batches);
}

static void expect_label(const bl_factors *factors, size_t c, const char *wanted)
{
    bl_str label;
    bl_str_init(&label);
    bl_factors_label(factors, c, &label);
    assert_string_equal(bl_str_text(&label), wanted);
    bl_str_clear(&label);
}

static void cases_are_the_product_with_batch_slowest(void **state)
{
    bl_factors factors;
    bl_factors_init(&factors);
    assert_true(bl_factors_n_cases(&factors) == 0);
    assert_null(bl_factors_value(&factors, 0, 0));
    add_batches(&factors, "64,32");
    assert_int_equal(bl_factors_add_param(&factors, "workers=0,1,2", NULL), BL_OK);
    assert_int_equal(bl_factors_add_param(&factors, "cache=ram", NULL), BL_OK);
    assert_true(bl_factors_n_cases(&factors) == 6);
    static const char *const wanted[] = {"batch=32 workers=0 cache=ram", "batch=32 workers=1 cache=ram",
                                         "batch=32 workers=2 cache=ram", "batch=64 workers=0 cache=ram",
                                         "batch=64 workers=1 cache=ram", "batch=64 workers=2 cache=ram"};
    for (size_t c = 0; c < 6; c++)
        expect_label(&factors, c, wanted[c]);
    assert_string_equal(bl_factors_value(&factors, 4, 1), "1");
    assert_null(bl_factors_value(&factors, 6, 0));
    assert_null(bl_factors_value(&factors, 0, 3));
    assert_true(bl_factors_find(&factors, "cache") == 2);
    assert_true(bl_factors_find(&factors, "nothing") == factors.len);
    bl_factors_clear(&factors);
    assert_true(factors.len == 0);
}

static void values_keep_their_order_and_lose_their_doubles(void **state)
{
    bl_factors factors;
    bl_factors_init(&factors);
    assert_int_equal(bl_factors_add_param(&factors, "p=b,a,b,c,a", NULL), BL_OK);
    assert_true(factors.items[0].values.len == 3);
    expect_label(&factors, 0, "p=b");
    expect_label(&factors, 2, "p=c");
    assert_int_equal(bl_factors_add_param(&factors, "q=,x", NULL), BL_OK);
    assert_string_equal(bl_factors_value(&factors, 0, 1), "");
    assert_int_equal(bl_factors_add_param(&factors, "r=1\\,2,back\\\\slash,\\x,a=b", NULL), BL_OK);
    assert_true(factors.items[2].values.len == 4);
    assert_string_equal(factors.items[2].values.items[0], "1,2");
    assert_string_equal(factors.items[2].values.items[1], "back\\slash");
    assert_string_equal(factors.items[2].values.items[2], "\\x");
    assert_string_equal(factors.items[2].values.items[3], "a=b");
    bl_factors_clear(&factors);
}

static void refuse(bl_factors *factors, const char *text, const char *reason)
{
    size_t had = factors->len;
    bl_error err = {0};
    int rc = bl_factors_add_param(factors, text, &err);
    if (rc != BL_ERR_USAGE || strstr(err.message, reason) == NULL)
        fail_msg("'%s' gave %d '%s', not '%s'", text, rc, err.message, reason);
    assert_true(factors->len == had);
}

static void malformed_parameters_are_refused(void **state)
{
    bl_factors factors;
    bl_factors_init(&factors);
    add_batches(&factors, "8");
    refuse(&factors, "", "lacks '='");
    refuse(&factors, "workers", "'workers' lacks '='");
    refuse(&factors, "workers=", "'workers=' lacks values");
    refuse(&factors, "=1,2", "'' is no name");
    refuse(&factors, "2x=1", "'2x' is no name");
    refuse(&factors, "a b=1", "'a b' is no name");
    refuse(&factors, "a{=1", "'a{' is no name");
    refuse(&factors, "batch=1", "has its own option");
    assert_int_equal(bl_factors_add_param(&factors, "w=1", NULL), BL_OK);
    refuse(&factors, "w=2", "'w' is given twice");
    bl_batch_list list = {0};
    assert_int_equal(bl_factors_add_batch(&factors, &list, NULL), BL_ERR_USAGE);
    bl_factors_clear(&factors);
    assert_int_equal(bl_factors_add_batch(&factors, &list, NULL), BL_ERR_USAGE);
}

static void too_many_cases_or_factors_are_refused(void **state)
{
    bl_factors factors;
    bl_factors_init(&factors);
    add_batches(&factors, "1..4096");
    refuse(&factors, "w=1,2", "more than 4096 cases");
    assert_int_equal(bl_factors_add_param(&factors, "w=1", NULL), BL_OK);
    assert_true(bl_factors_n_cases(&factors) == BL_CASES_MAX);
    for (int i = 2; i < BL_FACTORS_MAX; i++) {
        char text[16];
        snprintf(text, sizeof(text), "f%d=1", i);
        assert_int_equal(bl_factors_add_param(&factors, text, NULL), BL_OK);
    }
    refuse(&factors, "last=1", "more than 16 factors");
    bl_factors_clear(&factors);

    bl_str many;
    bl_str_init(&many);
    bl_str_append(&many, "w=0");
    for (int i = 1; i < 5000; i++)
        bl_str_printf(&many, ",%d", i);
    refuse(&factors, bl_str_text(&many), "more than 4096");
    bl_str_clear(&many);
}

static void every_lost_allocation_is_an_error(void **state)
{
    for (int n = 0; n < 200; n++) {
        bl_factors factors;
        bl_factors_init(&factors);
        bl_batch_list list = {(int64_t[]){8, 16}, 2};
        test_alloc_fail_after(n);
        int rc = bl_factors_add_batch(&factors, &list, NULL);
        if (rc == BL_OK)
            rc = bl_factors_add_param(&factors, "workers=one,two,three", NULL);
        bool failed = test_alloc_restore();
        assert_int_equal(rc, failed ? BL_ERR_NOMEM : BL_OK);
        bl_factors_clear(&factors);
        if (!failed)
            return;
    }
    fail_msg("it never succeeded");
}

static void a_batch_size_that_nobody_gave_has_no_name(void **state)
{
    bl_factors f;
    bl_factors_init(&f);
    assert_int_equal(bl_factors_add_no_batch(&f, NULL), BL_OK);
    assert_int_equal(bl_factors_add_param(&f, "command=A,B", NULL), BL_OK);
    assert_int_equal(bl_factors_n_cases(&f), 2);
    bl_str label;
    bl_str_init(&label);
    bl_factors_label(&f, 1, &label);
    assert_string_equal(bl_str_text(&label), "command=B");
    bl_str_clear(&label);
    bl_factors_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_product_with_batch_slowest),
        cmocka_unit_test(values_keep_their_order_and_lose_their_doubles),
        cmocka_unit_test(malformed_parameters_are_refused),
        cmocka_unit_test(too_many_cases_or_factors_are_refused),
        cmocka_unit_test(every_lost_allocation_is_an_error),
        cmocka_unit_test(a_batch_size_that_nobody_gave_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
