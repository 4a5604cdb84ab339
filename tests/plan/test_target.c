#include "testing.h"

#include <math.h>

#include "plan/target.h"

static void a_target_is_a_loss(void **state)
{
    double loss = 0;
    assert_true(bl_target_parse("loss=0.25", &loss) && loss == 0.25);
    assert_true(bl_target_parse("loss=-3", &loss) && loss == -3);
    static const char *const bad[] = {"", "loss", "loss=", "loss=x", "0.25", "top1=0.5", "loss=nan", "loss=inf"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(bl_target_parse(bad[i], &loss));
}

static void the_window_grows_with_the_steps(void **state)
{
    double loss[2000];
    for (int i = 0; i < 2000; i++)
        loss[i] = 2000 - i; /* of step i + 1: the mean of the last w is 2001 - step + (w - 1) / 2 */
    assert_int_equal(bl_steps_to_loss(loss, 2000, 1996 + 2), 5);
    assert_int_equal(bl_steps_to_loss(loss, 2000, 1001 + 49.5), 1000);
    assert_int_equal(bl_steps_to_loss(loss, 2000, 1001 + 49.4), 1001);
    assert_int_equal(bl_steps_to_loss(loss, 999, 1001 + 49.5), 0);
    assert_int_equal(bl_steps_to_loss(loss, 4, 1e9), 0);
    assert_int_equal(bl_steps_to_loss(loss, 0, 1e9), 0);
}

/* One lucky batch reaches nothing; missing losses are no losses. */
static void a_single_low_loss_does_not_count(void **state)
{
    const double loss[] = {9, 9, 9, 9, 9, 1, 9, 9, 4, 4, 4, 4, 4};
    assert_int_equal(bl_steps_to_loss(loss, 13, 4.5), 13);
    const double gaps[] = {NAN, 9, NAN, 3, NAN, NAN, 3, 3, NAN, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(bl_steps_to_loss(gaps, 14, 4), 7);
    const double none[] = {NAN, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(bl_steps_to_loss(none, 6, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_a_loss),
        cmocka_unit_test(the_window_grows_with_the_steps),
        cmocka_unit_test(a_single_low_loss_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
