/* The closed forms against a search. */
#include "near.h"

#include "stats/best_batch.h"

static double time_at(const bl_step_cost *step, double min_steps, double critical, double batch)
{
    return min_steps * (1 + critical / batch) * (step->fixed + step->per_sample * batch);
}

static void the_best_is_the_least(void **state)
{
    static const struct {
        bl_step_cost step;
        double min_steps, critical;
    } cases[] = {{{0.02, 0.001}, 77.3, 75.6}, {{0.5, 0.001}, 14.34, 27.4}, {{0.001, 0.01}, 1000, 4000}};
    for (int i = 0; i < 3; i++) {
        double critical = cases[i].critical, min_steps = cases[i].min_steps;
        const bl_step_cost *step = &cases[i].step;
        double best = bl_best_batch(step, critical), least = bl_best_batch_time(step, min_steps, critical);
        assert_near_relative(time_at(step, min_steps, critical, best), least, 1e-12);
        for (double r = 0.1; r < 10; r *= 1.1) {
            double time = time_at(step, min_steps, critical, r * best);
            assert_true(time >= least * (1 - 1e-12));
            assert_near(bl_batch_regret(step, critical, r), time / least - 1, 1e-9);
        }
    }
}

/* The knees' geometric mean: a / b = 1.9 and Bc = 75.6 give 12. */
static void it_lies_between_the_knees(void **state)
{
    assert_near(bl_best_batch(&(bl_step_cost){1.9, 1}, 75.6), 11.985, 1e-3);
    assert_near(bl_best_batch(&(bl_step_cost){100, 1}, 100), 100, 1e-9);
}

/* A factor 2 in Bc is sqrt(2) in B*, and costs 3.04 % where both knees are equal, less elsewhere. */
static void a_factor_of_two_costs_three_percent(void **state)
{
    double worst = 0;
    for (double knee = 1e-3; knee < 1e6; knee *= 1.3)
        worst = fmax(worst, bl_batch_regret(&(bl_step_cost){knee, 1}, 100, sqrt(2)));
    assert_true(worst <= 0.0304 && worst > 0.029);
    assert_near(bl_batch_regret(&(bl_step_cost){100, 1}, 100, sqrt(2)), (sqrt(2) + 1 / sqrt(2) - 2) / 4, 1e-12);
}

static void efficiency_and_size_are_inverses(void **state)
{
    assert_near(bl_sample_efficiency(1000, 1000), 0.5, 1e-12);
    assert_near(bl_sample_efficiency(250, 1000), 0.8, 1e-12);
    assert_near(bl_batch_of_efficiency(0.8, 1000), 250, 1e-9);
    assert_near(bl_sample_efficiency(64, INFINITY), 1, 0);
    assert_true(isinf(bl_batch_of_efficiency(0.8, INFINITY)));
}

static void steps_without_a_part_have_no_inner_best(void **state)
{
    assert_true(isinf(bl_best_batch(&(bl_step_cost){1, 0}, 100)));
    assert_near(bl_best_batch(&(bl_step_cost){0, 1}, 100), 0, 0);
    assert_near(bl_batch_regret(&(bl_step_cost){0, 1}, 100, 2), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_the_least),
        cmocka_unit_test(it_lies_between_the_knees),
        cmocka_unit_test(a_factor_of_two_costs_three_percent),
        cmocka_unit_test(efficiency_and_size_are_inverses),
        cmocka_unit_test(steps_without_a_part_have_no_inner_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
