/* Picks against the closed forms, and what keeps them back: memory, the sizes measured, numbers that are not known. */
#include "testing.h"

#include <math.h>

#include "plan/choice.h"
#include "stats/best_batch.h"

enum { N = 6 };

static bl_size_cost sizes[N];
static bl_steps_fit steps;
static bl_choice_question question;

/* Steps of 20 ms + 1 ms a sample, 2 J + 0.05 J, 100 MiB + 2 MiB, at 8 to 256; S_min 80, Bc 80. */
static int make(void **state)
{
    double batch[3], counts[3];
    for (int i = 0; i < N; i++) {
        double b = 8 << i;
        sizes[i] = (bl_size_cost){
            .batch = b, .step_s = 0.02 + 0.001 * b, .step_j = 2 + 0.05 * b, .memory_b = 0x1p20 * (100 + 2 * b)};
    }
    for (int i = 0; i < 3; i++) {
        batch[i] = 8 << i * 2;
        counts[i] = 80 * (1 + 80 / batch[i]);
    }
    question = (bl_choice_question){.sizes = sizes,
                                    .n_sizes = N,
                                    .steps = &steps,
                                    .batch_max = INFINITY,
                                    .memory_limit_b = INFINITY,
                                    .efficiency = 0.5};
    return bl_fit_steps(batch, counts, 3, 0.03, 0.95, &steps, NULL);
}

static void assert_close(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

static void the_soonest_is_that_of_the_closed_form(void **state)
{
    bl_choice c;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    bl_step_cost step = {0.02, 0.001};
    assert_close(c.best, 40, 1e-6);
    assert_close(c.soonest.row.batch, 40, 1e-12);
    assert_close(c.soonest.row.time_s, bl_best_batch_time(&step, 80, 80), 1e-6);
    assert_close(c.soonest.row.steps, 240, 1e-6);
    assert_close(c.soonest.row.samples, 9600, 1e-6);
    assert_close(c.soonest.row.efficiency, 80.0 / 120, 1e-6);
    assert_close(c.soonest.row.energy_j, 240 * 4, 1e-6);
    assert_close(c.soonest.row.memory_b, 0x1p20 * 180, 1e-6);
    assert_true(isnan(c.soonest.row.cost) && isnan(c.cheapest.row.batch));
    assert_false(c.soonest.at_memory || c.soonest.at_range);
    /* Its interval is that of Bc by the square root, and the regret the worse of both ends. */
    assert_close(c.soonest.low, sqrt(20 * steps.low.critical), 0.03);
    assert_close(c.soonest.high, sqrt(20 * steps.high.critical), 0.03);
    double at_high = bl_batch_regret(&step, steps.high.critical, 40 / sqrt(20 * steps.high.critical));
    double at_low = bl_batch_regret(&step, steps.low.critical, 40 / sqrt(20 * steps.low.critical));
    assert_close(c.soonest.regret, fmax(at_low, at_high), 0.05);
    assert_true(c.soonest.row.time_low_s < c.soonest.row.time_s && c.soonest.row.time_s < c.soonest.row.time_high_s);
    /* e = 1 / 2 at Bc. */
    assert_close(c.large.row.batch, 80, 1e-12);
    assert_int_equal(c.large.row.accumulate, 1);
}

static void money_has_its_own_best(void **state)
{
    bl_choice c;
    question.price_kwh = 0.3;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.cheapest.row.batch, floor(bl_best_batch(&(bl_step_cost){2, 0.05}, 80) + 0.5), 1e-12); /* 57 */
    assert_close(c.cheapest.row.cost, c.cheapest.row.energy_j / 3.6e6 * 0.3, 1e-9);
    question.price_kwh = 0;
    question.price_hour = 7.2;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.cheapest.row.batch, c.soonest.row.batch, 1e-12);
    assert_close(c.cheapest.row.cost, c.cheapest.row.time_s * 0.002, 1e-9);
    question.price_kwh = 0.3;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_true(c.cheapest.row.batch >= 40 && c.cheapest.row.batch <= 57);
    for (int i = 0; i < N; i++)
        sizes[i].step_j = NAN;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_ERR_USAGE);
}

static void memory_clips(void **state)
{
    bl_choice c;
    question.memory_limit_b = 0x1p20 * 150; /* 25 samples */
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.soonest.row.batch, 25, 1e-12);
    assert_true(c.soonest.at_memory && !c.soonest.at_range);
    assert_close(c.best, 40, 1e-6); /* what would be best otherwise */
    /* The efficiency allows 80: three batches of 25 a step, at thrice the time of one. */
    assert_close(c.large.row.batch, 75, 1e-12);
    assert_int_equal(c.large.row.accumulate, 3);
    assert_close(c.large.row.time_s, bl_steps_at(&steps.curve, 75) * 3 * 0.045, 1e-9);
    assert_true(c.large.row.time_s > c.soonest.row.time_s);
    question.batch_max = 16;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.soonest.row.batch, 16, 1e-12);
    question.batch_max = 3;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_ERR_USAGE);
    question.batch_max = INFINITY;
    question.memory_limit_b = 0x1p20 * 90;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_ERR_USAGE);
    /* A measured size that does not fit is believed, whatever the line says. */
    question.memory_limit_b = 0x1p20 * 300;
    sizes[2].memory_b = 0x1p20 * 301;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_true(c.largest <= 31);
}

static void no_size_far_from_those_measured_is_chosen(void **state)
{
    bl_choice c;
    for (int i = 0; i < N; i++)
        sizes[i].step_s = 1 + 1e-5 * sizes[i].batch; /* best at 2828 */
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.best, sqrt(80 * 1e5), 1e-3);
    assert_close(c.soonest.row.batch, 512, 1e-12);
    assert_true(c.soonest.at_range && !c.soonest.at_memory);
    for (int i = 0; i < N; i++)
        sizes[i].step_s = 1e-6 + 0.01 * sizes[i].batch; /* best below 1 */
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.soonest.row.batch, 4, 1e-12);
    assert_true(c.soonest.at_range);
}

/* Steps that double from 65 samples on, as where a cache overflows: no line fits, so the measurements themselves count.
 */
static void times_that_are_no_line_are_read_from_the_table(void **state)
{
    static const double batch[] = {8, 16, 32, 64, 66, 128};
    bl_choice c;
    for (int i = 0; i < N; i++) {
        sizes[i].batch = batch[i];
        sizes[i].step_s = (0.1 + 0.0001 * batch[i]) * (batch[i] > 64 ? 2 : 1);
    }
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_true(c.time.table && isnan(c.best));
    assert_true(c.least == 8 && c.largest == 128);
    assert_close(c.soonest.row.batch, 64, 1e-12);
    bl_choice_row row;
    bl_choice_row_at(&question, &c, 7, &row);
    assert_true(isnan(row.time_s));
    bl_choice_row_at(&question, &c, 16, &row);
    assert_close(row.time_s, 480 * sizes[1].step_s, 1e-6);
}

static void curves_without_a_bend_are_taken_as_they_are(void **state)
{
    bl_choice c;
    const double batch[] = {8, 64}, flat[] = {100, 100}, falling[] = {800, 100};
    assert_int_equal(bl_fit_steps(batch, flat, 2, NAN, 0.95, &steps, NULL), BL_OK);
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.soonest.row.batch, 4, 1e-12); /* larger ones only take longer */
    assert_true(isnan(c.soonest.low) && isnan(c.soonest.regret));
    assert_close(c.large.row.batch, 1, 1e-12);
    assert_int_equal(bl_fit_steps(batch, falling, 2, 0.1, 0.95, &steps, NULL), BL_OK);
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_close(c.soonest.row.batch, 512, 1e-12);
    assert_close(c.large.row.batch, 512, 1e-12);
    assert_true(c.soonest.at_range && c.large.at_range && isfinite(c.soonest.regret));
    question.efficiency = 1;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_OK);
    assert_true(isnan(c.large.row.batch));
}

static void nonsense_is_refused(void **state)
{
    bl_choice c;
    bl_choice_question q = question;
    q.efficiency = 0;
    assert_int_equal(bl_choice_make(&q, &c, NULL), BL_ERR_USAGE);
    q = question;
    q.price_hour = -1;
    assert_int_equal(bl_choice_make(&q, &c, NULL), BL_ERR_USAGE);
    q = question;
    q.n_sizes = 1;
    assert_int_equal(bl_choice_make(&q, &c, NULL), BL_ERR_USAGE);
    sizes[1].batch = 8;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_ERR_USAGE);
    sizes[1].batch = 16;
    steps.shape = BL_STEPS_NO_FIT;
    assert_int_equal(bl_choice_make(&question, &c, NULL), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_soonest_is_that_of_the_closed_form, make),
        cmocka_unit_test_setup(money_has_its_own_best, make),
        cmocka_unit_test_setup(memory_clips, make),
        cmocka_unit_test_setup(no_size_far_from_those_measured_is_chosen, make),
        cmocka_unit_test_setup(times_that_are_no_line_are_read_from_the_table, make),
        cmocka_unit_test_setup(curves_without_a_bend_are_taken_as_they_are, make),
        cmocka_unit_test_setup(nonsense_is_refused, make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
