#include "testing.h"

#include <math.h>
#include <string.h>

#include "optim/ema.h"

enum { N = 37, UPDATES = 5 };

static bl_params *make_params(void)
{
    bl_params *params;
    int at;
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_params_declare(params, "fc.weight", &BL_SHAPE2(N, 1), (bl_init){BL_INIT_UNIFORM, 1}, false,
                                       false, &at, NULL),
                     BL_OK);
    assert_int_equal(bl_params_declare(params, "norm.running_mean", &BL_SHAPE1(N), (bl_init){BL_INIT_UNIFORM, 1}, true,
                                       false, &at, NULL),
                     BL_OK);
    assert_int_equal(
        bl_params_declare(params, "norm.num_batches_tracked", &BL_SHAPE0(), (bl_init){0}, true, true, &at, NULL),
        BL_OK);
    assert_int_equal(bl_params_alloc(params, true, NULL), BL_OK);
    assert_int_equal(bl_params_init(params, 3, NULL), BL_OK);
    return params;
}

static double moved(int entry, int i, int step)
{
    return sin(i + 7 * step + entry);
}

static void check(bl_ema_options options)
{
    bl_params *params = make_params();
    bl_ema *ema;
    double want[2][N];
    assert_int_equal(bl_ema_new(params, &options, &ema, NULL), BL_OK);
    assert_int_equal(bl_ema_bytes(ema), (size_t)bl_params_whole_count(params) * sizeof(float));
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < N; i++)
            want[e][i] = (double)bl_params_value(params, e)[i];
    for (int n = 1; n <= UPDATES; n++) {
        double d = options.ramp > 0 ? options.decay * (1 - exp(-(double)n / (double)options.ramp)) : options.decay;
        for (int e = 0; e < 2; e++)
            for (int i = 0; i < N; i++) {
                bl_params_value(params, e)[i] = (float)moved(e, i, n);
                want[e][i] = d * want[e][i] + (1 - d) * moved(e, i, n);
            }
        bl_params_value(params, 2)[0] = (float)n;
        bl_ema_update(ema);
        assert_int_equal(bl_ema_updates(ema), n);
    }
    for (int round = 0; round < 2; round++) { /* before the swap, and in the table after it */
        for (int e = 0; e < 2; e++)
            for (int i = 0; i < N; i++) {
                float *at = round == 0 ? bl_ema_value(ema, e) : bl_params_value(params, e);
                assert_true(fabs((double)at[i] - want[e][i]) < 1e-6);
            }
        assert_true((round == 0 ? bl_ema_value(ema, 2) : bl_params_value(params, 2))[0] == UPDATES);
        uint64_t version = bl_params_version(params);
        bl_ema_swap(ema);
        assert_true(bl_params_version(params) != version);
    }
    for (int e = 0; e < 2; e++) /* swapped back */
        for (int i = 0; i < N; i++)
            assert_true(bl_params_value(params, e)[i] == (float)moved(e, i, UPDATES));
    bl_ema_restart(ema);
    assert_int_equal(bl_ema_updates(ema), 0);
    assert_true(bl_ema_value(ema, 0)[3] == bl_params_value(params, 0)[3]);
    bl_ema_set_updates(ema, 8);
    assert_int_equal(bl_ema_updates(ema), 8);
    bl_ema_free(ema);
    bl_params_free(params);
}

static void averages_follow_their_formula(void **unused)
{
    check((bl_ema_options){.decay = 0.9});
    check((bl_ema_options){.decay = 0.999, .ramp = 3});
    check((bl_ema_options){.decay = 0});
}

static void a_table_without_values_is_refused(void **unused)
{
    bl_params *params;
    bl_ema *ema;
    bl_error err = {0};
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_ema_new(params, &(bl_ema_options){0}, &ema, &err), BL_ERR_INTERNAL);
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_follow_their_formula),
        cmocka_unit_test(a_table_without_values_is_refused),
    };
    return cmocka_run_group_tests_name("optim/ema", tests, NULL, NULL);
}
