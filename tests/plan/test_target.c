#include "testing.h"

#include <math.h>

#include "plan/target.h"

static double at(const void *steps, size_t i)
{
    return ((const double *)steps)[i];
}

/* The step, from 1; 0: never. In pieces of `piece` steps, as they come while a training runs. */
static size_t in_pieces(const double *loss, size_t n, double target, size_t piece)
{
    bl_target_watch watch;
    bl_target_watch_init(&watch, target);
    for (size_t done = piece; done < n; done += piece)
        bl_target_watch_take(&watch, at, loss, done);
    return bl_target_watch_take(&watch, at, loss, n) ? watch.done : 0;
}

static size_t steps_to_loss(const double *loss, size_t n, double target)
{
    size_t whole = in_pieces(loss, n, target, n + 1);
    for (size_t piece = 1; piece < 9; piece += 3)
        assert_int_equal(in_pieces(loss, n, target, piece), whole);
    return whole;
}

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
    assert_int_equal(steps_to_loss(loss, 2000, 1996 + 2), 5);
    assert_int_equal(steps_to_loss(loss, 2000, 1001 + 49.5), 1000);
    assert_int_equal(steps_to_loss(loss, 2000, 1001 + 49.4), 1001);
    assert_int_equal(steps_to_loss(loss, 999, 1001 + 49.5), 0);
    assert_int_equal(steps_to_loss(loss, 4, 1e9), 0);
    assert_int_equal(steps_to_loss(loss, 0, 1e9), 0);
}

/* One lucky batch reaches nothing; missing losses are no losses. */
static void a_single_low_loss_does_not_count(void **state)
{
    const double loss[] = {9, 9, 9, 9, 9, 1, 9, 9, 4, 4, 4, 4, 4};
    assert_int_equal(steps_to_loss(loss, 13, 4.5), 13);
    const double gaps[] = {NAN, 9, NAN, 3, NAN, NAN, 3, 3, NAN, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(steps_to_loss(gaps, 14, 4), 7);
    const double none[] = {NAN, NAN, NAN, NAN, NAN, NAN};
    assert_int_equal(steps_to_loss(none, 6, 4), 0);
}

/* A loss that nearly overflowed is gone once the window has left it behind. */
static void great_losses_leave_no_trace(void **state)
{
    double loss[100];
    for (int i = 0; i < 100; i++)
        loss[i] = i < 3 ? 1e300 : 0.3 + 1e-9;
    assert_int_equal(steps_to_loss(loss, 100, 0.3), 0);
    assert_int_equal(steps_to_loss(loss, 100, 0.3 + 2e-9), 8);
}

static void fewer_steps_are_another_training(void **state)
{
    const double first[] = {1, 1, 1, 1, 1, 1}, second[] = {9, 9, 9};
    bl_target_watch watch;
    bl_target_watch_init(&watch, 2);
    assert_true(bl_target_watch_take(&watch, at, first, 6));
    assert_int_equal(watch.done, 5);
    assert_false(bl_target_watch_take(&watch, at, second, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_a_loss),
        cmocka_unit_test(the_window_grows_with_the_steps),
        cmocka_unit_test(great_losses_leave_no_trace),
        cmocka_unit_test(fewer_steps_are_another_training),
        cmocka_unit_test(a_single_low_loss_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
