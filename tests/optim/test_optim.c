#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "optim/optim.h"

enum { STEPS = 6 };

/* The formulas of torch.optim, in doubles, written down once more. */
typedef struct state {
    double w, m, v;
} state;

static double gradient_of(double w, int64_t i)
{
    return 0.3 * w + sin((double)i); /* of a parabola */
}

static void step_by_hand(state *s, double g, const bl_optim_options *o, double momentum, double decay, double lr,
                         int step)
{
    if (o->kind == BL_OPTIM_SGD) {
        g += decay * s->w;
        s->m = momentum * s->m + g;
        s->w -= lr * (o->nesterov ? g + momentum * s->m : s->m);
        return;
    }
    double beta1 = o->beta1 ? o->beta1 : 0.9, beta2 = o->beta2 ? o->beta2 : 0.999, eps = o->eps ? o->eps : 1e-8;
    if (o->kind == BL_OPTIM_ADAMW)
        s->w -= lr * decay * s->w;
    else
        g += decay * s->w;
    s->m = beta1 * s->m + (1 - beta1) * g;
    s->v = beta2 * s->v + (1 - beta2) * g * g;
    double m = s->m / (1 - pow(beta1, step)), v = s->v / (1 - pow(beta2, step));
    s->w -= lr * m / (sqrt(v) + eps);
}

static const struct {
    const char *name;
    bl_shape shape;
    bool buffer;
    bl_optim_group group;
} entries[] = {
    {"conv.weight", {4, {5, 3, 3, 3}}, false, BL_OPTIM_WEIGHTS},
    {"conv.bias", {1, {5}}, false, BL_OPTIM_BIASES},
    {"norm.weight", {1, {5}}, false, BL_OPTIM_SCALES},
    {"norm.bias", {1, {5}}, false, BL_OPTIM_BIASES},
    {"norm.running_mean", {1, {5}}, true, BL_OPTIM_SCALES},
    {"block.layer_scale", {3, {5, 1, 1}}, false, BL_OPTIM_SCALES},
    {"class_token", {3, {1, 1, 7}}, false, BL_OPTIM_SCALES},
    {"encoder.pos_embedding", {3, {1, 4, 7}}, false, BL_OPTIM_SCALES},
    {"attention.in_proj_weight", {2, {21, 7}}, false, BL_OPTIM_WEIGHTS},
    {"attention.in_proj_bias", {1, {21}}, false, BL_OPTIM_BIASES},
    {"fc.weight", {2, {130, 130}}, false, BL_OPTIM_WEIGHTS}, /* longer than what one thread takes at a time */
};
enum { N_ENTRIES = BL_ARRAY_LEN(entries), N_MOST = 16900 };

static bl_params *make_params(void)
{
    bl_params *params;
    int at;
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    for (int i = 0; i < N_ENTRIES; i++)
        assert_int_equal(bl_params_declare(params, entries[i].name, &entries[i].shape, (bl_init){BL_INIT_UNIFORM, 1},
                                           entries[i].buffer, false, &at, NULL),
                         BL_OK);
    assert_int_equal(bl_params_alloc(params, true, NULL), BL_OK);
    assert_int_equal(bl_params_init(params, 3, NULL), BL_OK);
    return params;
}

static void groups_follow_names_and_shapes(void **unused)
{
    bl_params *params = make_params();
    for (int i = 0; i < N_ENTRIES; i++)
        if (!entries[i].buffer)
            assert_int_equal(bl_optim_group_of(bl_params_at(params, i)), entries[i].group);
    bl_params_free(params);
}

/* The gradients at the present values; all of them times `factor`. */
static void put_gradients(bl_params *params, double factor)
{
    for (int p = 0; p < N_ENTRIES; p++)
        for (int64_t i = 0; !entries[p].buffer && i < bl_params_at(params, p)->count; i++)
            bl_params_grad(params, p)[i] =
                (float)(factor * gradient_of((double)bl_params_value(params, p)[i], i + 100 * p));
}

static state by_hand[N_ENTRIES][N_MOST];

static void start_by_hand(bl_params *params)
{
    memset(by_hand, 0, sizeof by_hand);
    for (int p = 0; p < N_ENTRIES; p++)
        for (int64_t i = 0; i < bl_params_at(params, p)->count; i++)
            by_hand[p][i].w = (double)bl_params_value(params, p)[i];
}

static double norm_by_hand(double scale)
{
    double sum = 0;
    for (int p = 0; p < N_ENTRIES; p++)
        for (int64_t i = 0; !entries[p].buffer && i < bl_shape_count(&entries[p].shape); i++)
            sum += pow(scale * gradient_of(by_hand[p][i].w, i + 100 * p), 2);
    return sqrt(sum);
}

static void all_by_hand(const bl_optim_options *o, const bl_optim_rates *rates, int step)
{
    double scale = rates->grad_scale == 0 ? 1 : rates->grad_scale;
    if (o->clip_norm > 0)
        scale *= fmin(1, o->clip_norm / (norm_by_hand(scale) + 1e-6));
    for (int p = 0; p < N_ENTRIES; p++)
        for (int64_t i = 0; !entries[p].buffer && i < bl_shape_count(&entries[p].shape); i++) {
            double decay = entries[p].group == BL_OPTIM_WEIGHTS || o->decay_all ? o->weight_decay : 0;
            step_by_hand(&by_hand[p][i], scale * gradient_of(by_hand[p][i].w, i + 100 * p), o,
                         isnan(rates->momentum) ? o->momentum : rates->momentum, decay, rates->lr[entries[p].group],
                         step);
        }
}

static void compare(bl_params *params, const bl_optim_options *o)
{
    for (int p = 0; p < N_ENTRIES; p++)
        for (int64_t i = 0; i < bl_params_at(params, p)->count; i++) {
            double got = (double)bl_params_value(params, p)[i], want = by_hand[p][i].w;
            if (!(fabs(got - want) <= 4e-6 * fmax(1, fabs(want))))
                fail_msg("kind %d: %s[%d] is %.8f, not %.8f", o->kind, entries[p].name, (int)i, got, want);
        }
}

/* Several steps, each of `parts` accumulated thirds, halves, ...; parts 0: without accumulation. */
static void check(bl_optim_options options, bl_optim_rates rates, int arrays, int parts)
{
    bl_params *params = make_params();
    bl_optim *optim;
    options.accumulate = parts > 0;
    assert_int_equal(bl_optim_new(params, &options, &optim, NULL), BL_OK);
    assert_int_equal(bl_optim_bytes(optim),
                     (size_t)(arrays + (parts > 0)) * (size_t)bl_params_slab_count(params) * sizeof(float));
    assert_true(isnan(bl_optim_grad_norm(optim)));
    start_by_hand(params);
    for (int step = 1; step <= STEPS; step++) {
        if (parts == 0)
            put_gradients(params, 1);
        /* Part k weighs k and is k sum(k) / sum(k^2) times the right gradient, so that the mean is right. */
        for (int k = 1, sum = parts * (parts + 1) / 2, squares = sum * (2 * parts + 1) / 3; k <= parts; k++) {
            put_gradients(params, (double)(k * sum) / squares);
            bl_optim_accumulate(optim, k);
        }
        if (options.clip_norm > 0)
            assert_true(norm_by_hand(1) > options.clip_norm);
        double norm = norm_by_hand(rates.grad_scale == 0 ? 1 : rates.grad_scale);
        all_by_hand(&options, &rates, step);
        uint64_t version = bl_params_version(params);
        bl_optim_step(optim, &rates);
        assert_true(bl_params_version(params) != version); /* cached weights are stale now */
        assert_int_equal(bl_optim_steps(optim), step);
        if (options.clip_norm > 0)
            assert_true(fabs(bl_optim_grad_norm(optim) / norm - 1) < 1e-5);
        for (int i = 0; i < BL_OPTIM_GROUPS; i++)
            rates.lr[i] *= 0.8;
    }
    compare(params, &options);
    bl_optim_free(optim);
    bl_params_free(params);
}

static bl_optim_rates apart(double weights, double scales, double biases, double momentum)
{
    return (bl_optim_rates){.lr = {weights, scales, biases}, .momentum = momentum};
}

static void updates_follow_their_formulas(void **unused)
{
    bl_optim_rates one = bl_optim_rates_of(0.1);
    check((bl_optim_options){.kind = BL_OPTIM_SGD}, one, 0, 0);
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9}, one, 1, 0);
    check((bl_optim_options){.momentum = 0.9, .nesterov = true, .weight_decay = 0.05}, one, 1, 0);
    check((bl_optim_options){.momentum = 0.9, .weight_decay = 0.5, .decay_all = true}, one, 1, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAM}, one, 2, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAM, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1}, one,
          2, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1}, one, 2, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1, .decay_all = true}, one, 2, 0);
}

static void groups_have_their_own_rates(void **unused)
{
    bl_optim_rates rates = apart(0.01, 0.05, 0.2, NAN);
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9, .weight_decay = 0.1}, rates, 1, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1}, rates, 2, 0);
    rates.momentum = 0.4; /* as a warm-up may want it */
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9, .nesterov = true}, rates, 1, 0);
}

static void gradients_add_up_to_their_mean(void **unused)
{
    bl_optim_rates rates = apart(0.01, 0.05, 0.2, NAN);
    for (int parts = 1; parts <= 3; parts++) {
        check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9, .weight_decay = 0.1}, rates, 1, parts);
        check((bl_optim_options){.kind = BL_OPTIM_ADAM, .clip_norm = 3}, rates, 2, parts);
    }
    rates.grad_scale = 4;
    check((bl_optim_options){.kind = BL_OPTIM_SGD}, rates, 0, 2);
}

static void long_gradients_are_shortened(void **unused)
{
    bl_optim_rates rates = bl_optim_rates_of(0.1);
    check((bl_optim_options){.kind = BL_OPTIM_SGD, .momentum = 0.9, .weight_decay = 0.1, .clip_norm = 2}, rates, 1, 0);
    check((bl_optim_options){.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1, .clip_norm = 0.5}, rates, 2, 0);

    bl_params *params = make_params(), *same = make_params();
    bl_optim *clipping, *plain;
    assert_int_equal(bl_optim_new(params, &(bl_optim_options){.clip_norm = 1e6}, &clipping, NULL), BL_OK);
    assert_int_equal(bl_optim_new(same, &(bl_optim_options){0}, &plain, NULL), BL_OK);
    put_gradients(params, 1);
    put_gradients(same, 1);
    bl_optim_step(clipping, &rates); /* a short one stays */
    bl_optim_step(plain, &rates);
    assert_memory_equal(bl_params_value_slab(params), bl_params_value_slab(same),
                        (size_t)bl_params_whole_count(params) * sizeof(float));
    bl_optim_free(clipping);
    bl_optim_free(plain);
    bl_params_free(params);
    bl_params_free(same);
}

/* A run that is saved and taken up again ends at the same bits. */
static void its_state_is_all_there_is(void **unused)
{
    static const struct {
        bl_optim_options options;
        int n;
        const char *names[2];
    } cases[] = {{{.kind = BL_OPTIM_SGD}, 0, {NULL}},
                 {{.kind = BL_OPTIM_SGD, .momentum = 0.9}, 1, {"momentum_buffer"}},
                 {{.kind = BL_OPTIM_ADAMW, .weight_decay = 0.1}, 2, {"exp_avg", "exp_avg_sq"}}};
    bl_optim_rates rates = bl_optim_rates_of(0.1);
    for (size_t c = 0; c < BL_ARRAY_LEN(cases); c++) {
        bl_params *params[2] = {make_params(), make_params()};
        size_t bytes = (size_t)bl_params_slab_count(params[0]) * sizeof(float);
        bl_optim *optim[2];
        for (int k = 0; k < 2; k++)
            assert_int_equal(bl_optim_new(params[k], &cases[c].options, &optim[k], NULL), BL_OK);
        for (int step = 0; step < 6; step++) {
            if (step == 3) {
                const char *name;
                float *from, *to;
                int64_t count;
                int n = 0;
                for (; bl_optim_state(optim[0], n, &name, &from, &count); n++) {
                    assert_string_equal(name, cases[c].names[n]);
                    assert_true(bl_optim_state(optim[1], n, &name, &to, &count));
                    assert_int_equal(count, bl_params_slab_count(params[0]));
                    memcpy(to, from, bytes);
                }
                assert_int_equal(n, cases[c].n);
                memcpy(bl_params_value_slab(params[1]), bl_params_value_slab(params[0]), bytes);
                bl_optim_set_steps(optim[1], bl_optim_steps(optim[0]));
            }
            for (int k = 0; k < (step < 3 ? 1 : 2); k++) {
                put_gradients(params[k], 1);
                bl_optim_step(optim[k], &rates);
            }
        }
        assert_memory_equal(bl_params_value_slab(params[0]), bl_params_value_slab(params[1]), bytes);
        for (int k = 0; k < 2; k++) {
            bl_optim_free(optim[k]);
            bl_params_free(params[k]);
        }
    }
}

static void a_table_without_gradients_is_refused(void **unused)
{
    bl_params *params;
    bl_optim *optim;
    bl_error err = {0};
    int at;
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_params_declare(params, "w", &BL_SHAPE1(9), (bl_init){BL_INIT_ONES, 0}, false, false, &at, NULL),
                     BL_OK);
    assert_int_equal(bl_params_alloc(params, false, NULL), BL_OK);
    assert_int_equal(bl_optim_new(params, &(bl_optim_options){0}, &optim, &err), BL_ERR_INTERNAL);
    bl_params_free(params);
}

static void names(void **unused)
{
    bl_optim_kind kind;
    static const char *const kinds[] = {"sgd", "adam", "adamw"};
    for (int i = 0; i < (int)BL_ARRAY_LEN(kinds); i++)
        assert_true(bl_optim_kind_from_name(kinds[i], &kind) && (int)kind == i);
    assert_false(bl_optim_kind_from_name("SGD", &kind));
}

/* After equal gradients v is their square, so Adam's scaling is 1 / (|g| + eps). */
static void adams_scaling_is_had(void **unused)
{
    bl_params *params = NULL;
    bl_optim *optim = NULL;
    int at = 0;
    float scaling[64] = {0};
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_params_declare(params, "fc.weight", &BL_SHAPE2(3, 5), (bl_init){0}, false, false, &at, NULL),
                     BL_OK);
    assert_int_equal(bl_params_alloc(params, true, NULL), BL_OK);
    assert_in_range(bl_params_slab_count(params), 15, 64);
    bl_optim_options options = {.kind = BL_OPTIM_ADAMW, .eps = 0.125};
    assert_int_equal(bl_optim_new(params, &options, &optim, NULL), BL_OK);
    assert_false(bl_optim_scaling(optim, scaling));
    bl_optim_rates rates = bl_optim_rates_of(0.1);
    for (int i = 0; i < 15; i++)
        bl_params_grad(params, at)[i] = (float)(i - 7);
    for (int step = 0; step < 3; step++)
        bl_optim_step(optim, &rates);
    assert_true(bl_optim_scaling(optim, scaling));
    for (int i = 0; i < 15; i++)
        assert_true(fabs(scaling[i] * (abs(i - 7) + 0.125) - 1) < 1e-5);
    bl_optim_free(optim);
    options.kind = BL_OPTIM_SGD;
    assert_int_equal(bl_optim_new(params, &options, &optim, NULL), BL_OK);
    bl_optim_step(optim, &rates);
    assert_false(bl_optim_scaling(optim, scaling));
    bl_optim_free(optim);
    bl_params_free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_follow_names_and_shapes),
        cmocka_unit_test(updates_follow_their_formulas),
        cmocka_unit_test(groups_have_their_own_rates),
        cmocka_unit_test(gradients_add_up_to_their_mean),
        cmocka_unit_test(long_gradients_are_shortened),
        cmocka_unit_test(its_state_is_all_there_is),
        cmocka_unit_test(a_table_without_gradients_is_refused),
        cmocka_unit_test(names),
        cmocka_unit_test(adams_scaling_is_had),
    };
    return cmocka_run_group_tests_name("optim/optim", tests, NULL, NULL);
}
