#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "optim/optim.h"

enum { N = 37, STEPS = 6 };

/* The formulas of torch.optim, in doubles, written down once more. */
typedef struct state {
    double w, m, v;
} state;

static double gradient_of(double w, int i)
{
    return 0.3 * w + sin(i); /* of a parabola */
}

static void step_by_hand(state *s, double g, const bl_optim_options *o, double lr, int step)
{
    if (o->kind == BL_OPTIM_SGD) {
        g += o->weight_decay * s->w;
        s->m = o->momentum * s->m + g;
        s->w -= lr * (o->nesterov ? g + o->momentum * s->m : s->m);
        return;
    }
    double beta1 = o->beta1 ? o->beta1 : 0.9, beta2 = o->beta2 ? o->beta2 : 0.999, eps = o->eps ? o->eps : 1e-8;
    if (o->kind == BL_OPTIM_ADAMW)
        s->w -= lr * o->weight_decay * s->w;
    else
        g += o->weight_decay * s->w;
    s->m = beta1 * s->m + (1 - beta1) * g;
    s->v = beta2 * s->v + (1 - beta2) * g * g;
    double m = s->m / (1 - pow(beta1, step)), v = s->v / (1 - pow(beta2, step));
    s->w -= lr * m / (sqrt(v) + eps);
}

static bl_params *make_params(void)
{
    bl_params *params;
    int at;
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(
        bl_params_declare(params, "w", &BL_SHAPE1(N), (bl_init){BL_INIT_UNIFORM, 1}, false, false, &at, NULL), BL_OK);
    assert_int_equal(
        bl_params_declare(params, "kept", &BL_SHAPE1(3), (bl_init){BL_INIT_ONES, 0}, true, false, &at, NULL), BL_OK);
    assert_int_equal(bl_params_alloc(params, true, NULL), BL_OK);
    assert_int_equal(bl_params_init(params, 3, NULL), BL_OK);
    return params;
}

static void check(bl_optim_options options, int arrays)
{
    bl_params *params = make_params();
    bl_optim *optim;
    state by_hand[N] = {{0}};
    float *w = bl_params_value(params, 0), *g = bl_params_grad(params, 0);
    assert_int_equal(bl_optim_new(params, &options, &optim, NULL), BL_OK);
    assert_int_equal(bl_optim_bytes(optim), (size_t)arrays * (size_t)bl_params_slab_count(params) * sizeof(float));
    for (int i = 0; i < N; i++)
        by_hand[i].w = (double)w[i];
    for (int step = 1; step <= STEPS; step++) {
        double lr = 0.1 / step;
        for (int i = 0; i < N; i++) {
            g[i] = (float)gradient_of((double)w[i], i);
            step_by_hand(&by_hand[i], gradient_of(by_hand[i].w, i), &options, lr, step);
        }
        uint64_t version = bl_params_version(params);
        bl_optim_step(optim, lr);
        assert_true(bl_params_version(params) != version); /* cached weights are stale now */
    }
    for (int i = 0; i < N; i++)
        if (fabs((double)w[i] - by_hand[i].w) > 2e-6)
            fail_msg("kind %d: parameter %d is %.8f, not %.8f", options.kind, i, (double)w[i], by_hand[i].w);
    for (int i = 0; i < 3; i++)
        assert_true(bl_params_value(params, 1)[i] == 1);
    bl_optim_free(optim);
    bl_params_free(params);
}

static void updates_follow_their_formulas(void **unused)
{
    check((bl_optim_options){.kind = BL_OPTIM_SGD}, 0);
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9}, 1);
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9, .nesterov = true, .weight_decay = 0.05}, 1);
    check((bl_optim_options){.kind = BL_OPTIM_ADAM}, 2);
    check((bl_optim_options){.kind = BL_OPTIM_ADAM, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1}, 2);
    check((bl_optim_options){.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1}, 2);
}

static void a_table_without_gradients_is_refused(void **unused)
{
    bl_params *params;
    bl_optim *optim;
    bl_error err = {0};
    int at;
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_params_declare(params, "w", &BL_SHAPE1(N), (bl_init){BL_INIT_ONES, 0}, false, false, &at, NULL),
                     BL_OK);
    assert_int_equal(bl_params_alloc(params, false, NULL), BL_OK);
    assert_int_equal(bl_optim_new(params, &(bl_optim_options){0}, &optim, &err), BL_ERR_INTERNAL);
    bl_params_free(params);
}

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-12)
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

static void names(void **unused)
{
    bl_optim_kind kind;
    bl_schedule_kind schedule;
    static const char *const kinds[] = {"sgd", "adam", "adamw"}, *const schedules[] = {"constant", "cosine", "linear"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(kinds); i++) {
        assert_true(bl_optim_kind_from_name(kinds[i], &kind) && (int)kind == i);
        assert_true(bl_schedule_kind_from_name(schedules[i], &schedule) && (int)schedule == i);
    }
    assert_false(bl_optim_kind_from_name("SGD", &kind));
    assert_false(bl_schedule_kind_from_name("", &schedule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_follow_their_formulas),
        cmocka_unit_test(a_table_without_gradients_is_refused),
        cmocka_unit_test(rates_rise_and_fall),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("optim/optim", tests, NULL, NULL);
}
