/* Nominal batches against what YOLOv7's training computes, by hand. */
#include "testing.h"

#include <math.h>

#include "train/nominal.h"

static bl_optim_rates scheduled(void)
{
    bl_optim_rates rates = bl_optim_rates_of(0.01);
    rates.momentum = NAN;
    return rates;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-12)
        fail_msg("%.15g, not %.15g", a, b);
}

/* 64 in batches of 16: from 1 batch an update to 4. */
static void sums_and_rates_grow_during_warm_up(void **state)
{
    bl_nominal n = bl_nominal_make(64, 16, 100, 50, 0.937);
    int64_t updates = 0, since = 0;
    for (int64_t step = 0; step < 200; step++) {
        bl_optim_rates rates = scheduled();
        bool due = bl_nominal_due(&n, step, &rates);
        double share = step < 100 ? (double)step / 100 : 1;
        int64_t batches = step < 17 ? 1 : step < 50 ? 2 : step <= 83 ? 3 : 4; /* round(1 + 3 share), halves to even */
        if (step == 50)
            batches = 2; /* 2.5 */
        since++;
        assert_true(due == (step % batches == 0));
        assert_near(rates.lr[BL_OPTIM_WEIGHTS], 0.01 * share);
        assert_near(rates.lr[BL_OPTIM_SCALES], 0.01 * share);
        assert_near(rates.lr[BL_OPTIM_BIASES], 0.1 + (0.01 - 0.1) * share);
        assert_near(rates.momentum, 0.8 + (0.937 - 0.8) * share);
        assert_near(rates.grad_scale, (double)since); /* the sum over as many batches as were added */
        if (due) {
            updates++;
            since = 0;
        }
    }
    assert_in_range(updates, 73, 75); /* 17 + 17 + 11 + 4 + 25, and one more or less where they change */
}

static void large_batches_are_not_divided(void **state)
{
    bl_nominal n = bl_nominal_make(64, 128, 0, 10, 0.9);
    assert_int_equal(n.warmup_steps, 1000);
    for (int64_t step = 0; step < 1500; step++) {
        bl_optim_rates rates = scheduled();
        assert_true(bl_nominal_due(&n, step, &rates));
        assert_near(rates.grad_scale, 1);
    }
    assert_int_equal(bl_nominal_make(64, 8, 0, 400, 0.9).warmup_steps, 1200);
}

/* weight_decay * batch * batches / nominal */
static void decay_follows_the_samples_of_an_update(void **state)
{
    static const struct {
        int64_t batch;
        double decay;
    } cases[] = {{64, 1}, {32, 1}, {16, 1}, {128, 2}, {48, 0.75}, {24, 24 * 3 / 64.0}, {10, 10 * 6 / 64.0}, {1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bl_nominal n = bl_nominal_make(64, cases[i].batch, 0, 10, 0.9);
        assert_near(bl_nominal_decay(&n, 5e-4), 5e-4 * cases[i].decay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_rates_grow_during_warm_up),
        cmocka_unit_test(large_batches_are_not_divided),
        cmocka_unit_test(decay_follows_the_samples_of_an_update),
    };
    return cmocka_run_group_tests_name("train/nominal", tests, NULL, NULL);
}
