#include "testing.h"

#include <math.h>

#include "base/attributes.h"
#include "optim/schedule.h"

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        fail_msg("%.15g, not %.15g", got, want);
}

static void rates_rise_and_fall(void **unused)
{
    bl_schedule s = {.kind = BL_SCHEDULE_COSINE, .peak = 2, .warmup_steps = 4, .total_steps = 12};
    near(bl_schedule_rate(&s, 0), 0.5);
    near(bl_schedule_rate(&s, 3), 2);
    near(bl_schedule_rate(&s, 4), 2);
    near(bl_schedule_rate(&s, 6), 1 + sqrt(0.5));
    near(bl_schedule_rate(&s, 8), 1);
    near(bl_schedule_rate(&s, 12), 0);
    near(bl_schedule_rate(&s, 100), 0);
    s.kind = BL_SCHEDULE_LINEAR;
    near(bl_schedule_rate(&s, 6), 1.5);
    near(bl_schedule_rate(&s, 12), 0);
    s.kind = BL_SCHEDULE_CONSTANT;
    near(bl_schedule_rate(&s, 1), 1);
    near(bl_schedule_rate(&s, 100), 2);
    s = (bl_schedule){.kind = BL_SCHEDULE_COSINE, .peak = 1, .warmup_steps = 5, .total_steps = 5};
    near(bl_schedule_rate(&s, 4), 1);
    near(bl_schedule_rate(&s, 5), 1);
}

static void floors_hold(void **unused)
{
    bl_schedule s = {.kind = BL_SCHEDULE_COSINE, .peak = 2, .floor = 0.5, .warmup_steps = 4, .total_steps = 12};
    near(bl_schedule_rate(&s, 4), 2);
    near(bl_schedule_rate(&s, 8), 1.25);
    near(bl_schedule_rate(&s, 12), 0.5);
    near(bl_schedule_rate(&s, 50), 0.5);
    s.kind = BL_SCHEDULE_LINEAR;
    near(bl_schedule_rate(&s, 6), 1.625);
    near(bl_schedule_rate(&s, 12), 0.5);
}

static void warm_up_begins_where_it_is_told(void **unused)
{
    bl_schedule s = {.peak = 2, .warmup_factor = 0.2, .warmup_steps = 4};
    static const double rates[] = {0.8, 1.2, 1.6, 2, 2};
    for (int i = 0; i < (int)BL_ARRAY_LEN(rates); i++)
        near(bl_schedule_rate(&s, i), rates[i]);
}

static void rates_drop_after_epochs(void **unused)
{
    bl_schedule s = {.kind = BL_SCHEDULE_STEP, .peak = 1, .gamma = 0.1, .steps_per_epoch = 7, .drop_every = 2};
    near(bl_schedule_rate(&s, 13), 1);
    near(bl_schedule_rate(&s, 14), 0.1);
    near(bl_schedule_rate(&s, 27), 0.1);
    near(bl_schedule_rate(&s, 28), 0.01);
    s.floor = 0.05;
    near(bl_schedule_rate(&s, 28), 0.05);
    s = (bl_schedule){.kind = BL_SCHEDULE_STEP,
                      .peak = 1,
                      .gamma = 0.5,
                      .warmup_steps = 3,
                      .steps_per_epoch = 7,
                      .milestones = (const int64_t[]){1, 4},
                      .n_milestones = 2};
    near(bl_schedule_rate(&s, 1), 2.0 / 3);
    near(bl_schedule_rate(&s, 6), 1);
    near(bl_schedule_rate(&s, 7), 0.5);
    near(bl_schedule_rate(&s, 27), 0.5);
    near(bl_schedule_rate(&s, 28), 0.25);
}

static void rates_grow_with_the_batch(void **unused)
{
    near(bl_rate_scaled(0.1, BL_RATE_LINEAR, 1024, 256), 0.4);
    near(bl_rate_scaled(0.1, BL_RATE_LINEAR, 129, 256), 0.1 * 129 / 256);
    near(bl_rate_scaled(0.1, BL_RATE_SQRT, 1024, 256), 0.2);
}

static void names(void **unused)
{
    bl_schedule_kind kind;
    bl_rate_scaling scaling;
    static const char *const kinds[] = {"constant", "cosine", "linear", "step"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(kinds); i++)
        assert_true(bl_schedule_kind_from_name(kinds[i], &kind) && (int)kind == i);
    assert_false(bl_schedule_kind_from_name("", &kind));
    assert_true(bl_rate_scaling_from_name("sqrt", &scaling) && scaling == BL_RATE_SQRT);
    assert_true(bl_rate_scaling_from_name("linear", &scaling) && scaling == BL_RATE_LINEAR);
    assert_false(bl_rate_scaling_from_name("root", &scaling));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_rise_and_fall),
        cmocka_unit_test(floors_hold),
        cmocka_unit_test(warm_up_begins_where_it_is_told),
        cmocka_unit_test(rates_drop_after_epochs),
        cmocka_unit_test(rates_grow_with_the_batch),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("optim/schedule", tests, NULL, NULL);
}
