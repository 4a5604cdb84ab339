#include "testing.h"

#include <math.h>
#include <string.h>

#include "plan/target.h"

static double at(const void *steps, size_t i)
{
    return ((const double *)steps)[i];
}

static double three_hundred(const void *steps, size_t i)
{
    return 300;
}

typedef struct point {
    const char *name;
    double after_steps, value;
} point;

static bool point_at(const void *points, size_t i, const char *name, double *after_steps, double *value)
{
    const point *p = (const point *)points + i;
    *after_steps = p->after_steps;
    *value = p->value;
    return strcmp(p->name, name) == 0;
}

static bl_target target_of(const char *text)
{
    bl_target target;
    assert_true(bl_target_parse(text, &target));
    return target;
}

static bool take_losses(bl_target_watch *watch, const double *loss, size_t n)
{
    bl_target_series series = {.steps = loss, .n_steps = n, .loss_at = at, .samples_at = three_hundred};
    return bl_target_watch_take(watch, &series);
}

/* The step, from 1; 0: never. In pieces of `piece` steps, as they come while a training runs. */
static size_t in_pieces(const double *loss, size_t n, double value, size_t piece)
{
    bl_target_watch watch;
    bl_target target = {.name = "loss", .value = value, .falls = true};
    bl_target_watch_init(&watch, &target);
    for (size_t done = piece; done < n; done += piece)
        take_losses(&watch, loss, done);
    if (!take_losses(&watch, loss, n))
        return 0;
    assert_true(watch.steps == (double)watch.done);
    return watch.done;
}

static size_t steps_to_loss(const double *loss, size_t n, double target)
{
    size_t whole = in_pieces(loss, n, target, n + 1);
    for (size_t piece = 1; piece < 9; piece += 3)
        assert_int_equal(in_pieces(loss, n, target, piece), whole);
    return whole;
}

static void a_target_is_a_name_and_a_number(void **state)
{
    bl_target t = target_of("loss=0.25");
    assert_true(t.value == 0.25 && t.falls && bl_target_is_loss(&t));
    t = target_of("loss=-3");
    assert_true(t.value == -3 && t.falls);
    t = target_of("test_loss=1.5");
    assert_true(t.value == 1.5 && t.falls && !bl_target_is_loss(&t));
    t = target_of("top1=0.6");
    assert_true(t.value == 0.6 && !t.falls && strcmp(t.name, "top1") == 0);
    static const char *const bad[] = {
        "",         "loss",     "loss=",
        "loss=x",   "0.25",     "=1",
        "loss=nan", "top1=inf", "a-name-that-is-longer-than-any-that-a-marker-may-have=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(bl_target_parse(bad[i], &t));
    }
}

static double steps_to(const char *text, const point *points, size_t n)
{
    bl_target_watch watch;
    bl_target target = target_of(text);
    bl_target_watch_init(&watch, &target);
    for (size_t i = 1; i <= n; i++) { /* as they come */
        bl_target_series series = {.points = points, .n_points = i, .point_at = point_at};
        if (bl_target_watch_take(&watch, &series))
            return watch.steps;
    }
    return NAN;
}

static void a_metric_is_reached_between_two_of_its_values(void **state)
{
    const point points[] = {{"top1", 100, 0.2},    {"loss", 100, 0.1}, {"top1", 200, 0.4},   {"top1", 300, NAN},
                            {"test_loss", 300, 2}, {"top1", 400, 0.8}, {"test_loss", 400, 1}};
    assert_true(steps_to("top1=0.1", points, 7) == 100);
    assert_true(fabs(steps_to("top1=0.4", points, 7) - 200) < 1e-9);
    assert_true(fabs(steps_to("top1=0.5", points, 7) - 250) < 1e-9);
    assert_true(fabs(steps_to("test_loss=1.25", points, 7) - 375) < 1e-9);
    assert_true(isnan(steps_to("top1=0.81", points, 7)));
    assert_true(isnan(steps_to("map=0", points, 7)));
    const point before[] = {{"top1", 0, 0.5}};
    assert_true(steps_to("top1=0.1", before, 1) == 1);
}

/* Progress lines may come every so many steps. */
static void an_element_may_hold_several_steps(void **state)
{
    const double loss[] = {9, 9, 1, 1, 1, 1, 1};
    bl_target_watch watch;
    bl_target target = target_of("loss=1");
    bl_target_series series = {.steps = loss, .n_steps = 7, .loss_at = at, .samples_at = three_hundred, .batch = 10};
    bl_target_watch_init(&watch, &target);
    assert_true(bl_target_watch_take(&watch, &series));
    assert_true(watch.steps == 7 * 30);
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
    bl_target target = target_of("loss=2");
    bl_target_watch_init(&watch, &target);
    assert_true(take_losses(&watch, first, 6));
    assert_int_equal(watch.done, 5);
    assert_false(take_losses(&watch, second, 3));
    assert_true(watch.target.value == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_a_name_and_a_number),
        cmocka_unit_test(a_metric_is_reached_between_two_of_its_values),
        cmocka_unit_test(an_element_may_hold_several_steps),
        cmocka_unit_test(the_window_grows_with_the_steps),
        cmocka_unit_test(great_losses_leave_no_trace),
        cmocka_unit_test(fewer_steps_are_another_training),
        cmocka_unit_test(a_single_low_loss_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
