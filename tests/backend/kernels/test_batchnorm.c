/* Batch normalisation with activation, gate and residual against its formulas in doubles. */
#include "helpers.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/batchnorm.h"
#include "graph/act.h"

#define TOLERANCE 5e-6

typedef struct bn_case {
    bl_k_shape shape;
    bl_act act;
    double offset; /* added to x */
    bool plain;    /* gamma and beta NULL */
} bn_case;

static const bn_case cases[] = {
    {.shape = {.n = 3, .c = 16, .h = 5, .w = 7, .block = 8}, .act = BL_ACT_RELU},
    {.shape = {.n = 2, .c = 19, .h = 9, .w = 3, .block = 16}, .act = BL_ACT_HARDSWISH},
    {.shape = {.n = 2, .c = 64, .h = 4, .w = 4, .block = 8}, .act = BL_ACT_HARDSWISH},
    {.shape = {.n = 4, .c = 5, .h = 6, .w = 6, .block = 8}, .act = BL_ACT_NONE},
    {.shape = {.n = 2, .c = 6, .h = 7, .w = 5, .block = 4}, .act = BL_ACT_NONE, .plain = true},
    {.shape = {.n = 2, .c = 9, .h = 5, .w = 5, .block = 8}, .act = BL_ACT_HARDSIGMOID},
    {.shape = {.n = 2, .c = 9, .h = 3, .w = 5, .block = 8}, .act = BL_ACT_SIGMOID},
    {.shape = {.n = 2, .c = 7, .h = 3, .w = 4, .block = 8}, .act = BL_ACT_RELU6},
    {.shape = {.n = 2, .c = 8, .h = 3, .w = 4, .block = 8}, .act = BL_ACT_SILU},
    {.shape = {.n = 2, .c = 8, .h = 3, .w = 4, .block = 8}, .act = BL_ACT_GELU},
    {.shape = {.n = 2, .c = 8, .h = 3, .w = 4, .block = 8}, .act = BL_ACT_LEAKY},
    {.shape = {.n = 5, .c = 12, .h = 1, .w = 1, .block = 4}, .act = BL_ACT_RELU},
    {.shape = {.n = 2, .c = 11, .h = 9, .w = 11, .block = 16}, .act = BL_ACT_NONE, .offset = 1000},
};

typedef struct bn_data {
    const bn_case *test;
    bl_k_shape s, per_image; /* x; gates */
    size_t count, channels, pixels;
    bl_k_norm norm;
    float *x, *residual, *gate, *add, *dy; /* plain */
    float *x_blocked, *residual_blocked, *gate_blocked, *add_blocked, *dy_blocked, *y_blocked;
    float *mean, *var, *dx, *dgamma, *dbeta, *gamma, *beta;
    void *scratch;
    double *true_mean, *true_var;
} bn_data;

static size_t channel_of(const bn_data *d, size_t i)
{
    return i / d->pixels % d->channels;
}

static void true_stats(const bn_data *d, double *mean, double *var)
{
    double each = (double)d->count / (double)d->channels;
    for (size_t c = 0; c < d->channels; c++)
        mean[c] = var[c] = 0;
    for (size_t i = 0; i < d->count; i++)
        mean[channel_of(d, i)] += (double)d->x[i] / each;
    for (size_t i = 0; i < d->count; i++) {
        double off = (double)d->x[i] - mean[channel_of(d, i)];
        var[channel_of(d, i)] += off * off / each;
    }
}

static void make(const bn_case *test, bn_data *d)
{
    *d = (bn_data){.test = test, .s = test->shape, .per_image = test->shape};
    d->per_image.h = d->per_image.w = 1;
    d->count = kt_plain_count(&d->s);
    d->channels = (size_t)d->s.c;
    d->pixels = (size_t)(d->s.h * d->s.w);
    size_t images = kt_plain_count(&d->per_image);
    d->x = kt_random(d->count, test->offset - 3, test->offset + 3, 1);
    d->residual = kt_random(d->count, -1, 1, 2);
    d->dy = kt_random(d->count, -1, 1, 3);
    d->gate = kt_random(images, 0.1, 1, 4);
    d->add = kt_random(images, -1, 1, 5);
    d->x_blocked = kt_blocked(&d->s, d->x);
    d->residual_blocked = kt_blocked(&d->s, d->residual);
    d->dy_blocked = kt_blocked(&d->s, d->dy);
    d->gate_blocked = kt_blocked(&d->per_image, d->gate);
    d->add_blocked = kt_blocked(&d->per_image, d->add);
    d->y_blocked = kt_floats(bl_k_count(&d->s));
    d->dx = kt_floats(bl_k_count(&d->s));
    d->mean = kt_floats(d->channels);
    d->var = kt_floats(d->channels);
    d->dgamma = kt_floats(d->channels);
    d->dbeta = kt_floats(d->channels);
    d->gamma = kt_random(d->channels, 0.5, 2, 6);
    d->beta = kt_random(d->channels, -1, 1, 7);
    d->scratch = kt_memory(bl_k_bn_scratch_b(&d->s));
    d->norm = (bl_k_norm){
        .gamma = test->plain ? NULL : d->gamma, .beta = test->plain ? NULL : d->beta, .eps = 1e-3f, .act = test->act};
    d->true_mean = kt_doubles(d->channels);
    d->true_var = kt_doubles(d->channels);
    true_stats(d, d->true_mean, d->true_var);
}

/* Statistics as floats, for the functions that are given them. */
static void give_stats(bn_data *d)
{
    for (size_t c = 0; c < d->channels; c++) {
        d->mean[c] = (float)d->true_mean[c];
        d->var[c] = (float)d->true_var[c];
    }
    d->norm.mean = d->mean;
    d->norm.var = d->var;
}

static double inv_std(const bn_data *d, size_t c)
{
    return 1 / sqrt(d->true_var[c] + (double)d->norm.eps);
}

static double xhat(const bn_data *d, size_t i)
{
    size_t c = channel_of(d, i);
    return ((double)d->x[i] - d->true_mean[c]) * inv_std(d, c);
}

static double gamma_of(const bn_data *d, size_t i)
{
    return d->norm.gamma ? (double)d->gamma[channel_of(d, i)] : 1;
}

static double before_act(const bn_data *d, size_t i)
{
    return gamma_of(d, i) * xhat(d, i) + (d->norm.beta ? (double)d->beta[channel_of(d, i)] : 0);
}

static double *expected_y(const bn_data *d, bool gate, bool residual)
{
    double *y = kt_doubles(d->count);
    for (size_t i = 0; i < d->count; i++)
        y[i] = bl_act_value(d->norm.act, before_act(d, i)) * (gate ? (double)d->gate[i / d->pixels] : 1) +
               (residual ? (double)d->residual[i] : 0);
    return y;
}

/* The normalisation itself loses digits where the mean is large. */
static double tolerance_of(const bn_data *d)
{
    return d->test->offset != 0 ? 2e-4 : TOLERANCE;
}

static void check_stats(const void *argument)
{
    bn_data d;
    make(argument, &d);
    bl_k_bn_stats(&d.s, d.x_blocked, d.mean, d.var, d.scratch);
    kt_same("mean", d.channels, d.mean, d.true_mean, 1e-6);
    kt_same("var", d.channels, d.var, d.true_var, d.test->offset != 0 ? 2e-5 : TOLERANCE);
}

static void check_apply(const void *argument)
{
    bn_data d;
    make(argument, &d);
    give_stats(&d);
    for (int k = 0; k < 4; k++) {
        bool gate = k & 1, residual = k & 2;
        bl_k_bn_apply(&d.s, &d.norm, d.x_blocked, gate ? d.gate_blocked : NULL, residual ? d.residual_blocked : NULL,
                      d.y_blocked, d.scratch);
        kt_same_blocked("y", &d.s, d.y_blocked, expected_y(&d, gate, residual), tolerance_of(&d));
    }
    bl_k_bn_apply(&d.s, &d.norm, d.x_blocked, NULL, d.residual_blocked, d.x_blocked, d.scratch);
    kt_same_blocked("y in place of x", &d.s, d.x_blocked, expected_y(&d, false, true), tolerance_of(&d));
}

static void check_train(const void *argument)
{
    bn_data d;
    make(argument, &d);
    bl_k_bn_train(&d.s, &d.norm, d.x_blocked, NULL, d.mean, d.var, d.y_blocked, d.scratch);
    kt_same("mean", d.channels, d.mean, d.true_mean, 1e-6);
    kt_same("var", d.channels, d.var, d.true_var, d.test->offset != 0 ? 2e-5 : TOLERANCE);
    kt_same_blocked("y", &d.s, d.y_blocked, expected_y(&d, false, false), tolerance_of(&d));
    bl_k_bn_train(&d.s, &d.norm, d.x_blocked, d.residual_blocked, d.mean, d.var, d.x_blocked, d.scratch);
    kt_same_blocked("y in place of x", &d.s, d.x_blocked, expected_y(&d, false, true), tolerance_of(&d));
}

/* What arrives at the normalisation: (dy * gate + add * scale) * act'. */
static void expected_gradients(const bn_data *d, const bl_k_bn_dy *dy, double *dx, double *dgamma, double *dbeta)
{
    double *g = kt_doubles(d->count), each = (double)d->count / (double)d->channels;
    for (size_t c = 0; c < d->channels; c++)
        dgamma[c] = dbeta[c] = 0;
    for (size_t i = 0; i < d->count; i++) {
        double arriving = (dy->dy ? (double)d->dy[i] : 0) * (dy->gate ? (double)d->gate[i / d->pixels] : 1) +
                          (dy->add ? (double)d->add[i / d->pixels] * (double)dy->add_scale : 0);
        g[i] = arriving * bl_act_slope(d->norm.act, before_act(d, i));
        dbeta[channel_of(d, i)] += g[i];
        dgamma[channel_of(d, i)] += g[i] * xhat(d, i);
    }
    for (size_t i = 0; i < d->count; i++) {
        size_t c = channel_of(d, i);
        dx[i] = gamma_of(d, i) * inv_std(d, c) * (g[i] - dbeta[c] / each - xhat(d, i) * dgamma[c] / each);
    }
}

static void check_grad_with(bn_data *d, const bl_k_bn_dy *dy, const char *what)
{
    double *dx = kt_doubles(d->count), *dgamma = kt_doubles(d->channels), *dbeta = kt_doubles(d->channels);
    char name[64];
    expected_gradients(d, dy, dx, dgamma, dbeta);
    bl_k_bn_grad(&d->s, &d->norm, d->x_blocked, dy, d->dx, d->dgamma, d->dbeta, d->scratch);
    snprintf(name, sizeof name, "dx, %s", what);
    kt_same_blocked(name, &d->s, d->dx, dx, tolerance_of(d));
    snprintf(name, sizeof name, "dgamma, %s", what);
    kt_same(name, d->channels, d->dgamma, dgamma, tolerance_of(d));
    snprintf(name, sizeof name, "dbeta, %s", what);
    kt_same(name, d->channels, d->dbeta, dbeta, tolerance_of(d));
}

static void check_grad(const void *argument)
{
    bn_data d;
    make(argument, &d);
    give_stats(&d);
    bl_k_bn_dy dy = {.dy = d.dy_blocked};
    check_grad_with(&d, &dy, "dy alone");
    dy.gate = d.gate_blocked;
    check_grad_with(&d, &dy, "gate");
    dy.add = d.add_blocked;
    dy.add_scale = 0.25f;
    check_grad_with(&d, &dy, "gate and addend");
    dy.dy = NULL;
    check_grad_with(&d, &dy, "addend alone");
}

static void check_grad_in_place(const void *argument)
{
    bn_data d;
    make(argument, &d);
    give_stats(&d);
    double *dx = kt_doubles(d.count), *dgamma = kt_doubles(d.channels), *dbeta = kt_doubles(d.channels);
    float *dy_copy = kt_blocked(&d.s, d.dy);
    bl_k_bn_dy dy = {.dy = dy_copy};
    expected_gradients(&d, &dy, dx, dgamma, dbeta);
    bl_k_bn_grad(&d.s, &d.norm, d.x_blocked, &dy, dy_copy, NULL, NULL, d.scratch);
    kt_same_blocked("dx in place of dy", &d.s, dy_copy, dx, tolerance_of(&d));
    dy.dy = d.dy_blocked;
    bl_k_bn_grad(&d.s, &d.norm, d.x_blocked, &dy, d.x_blocked, NULL, NULL, d.scratch);
    kt_same_blocked("dx in place of x", &d.s, d.x_blocked, dx, tolerance_of(&d));
}

/* The loss is the sum of dy * y in training mode, statistics and all. */
static double loss(void *context)
{
    bn_data *d = context;
    bl_k_bn_train(&d->s, &d->norm, d->x_blocked, NULL, d->mean, d->var, d->y_blocked, d->scratch);
    return kt_dot(&d->s, d->y_blocked, d->dy);
}

static void check_differences(const void *argument)
{
    bn_data d;
    make(argument, &d);
    if (d.norm.act != BL_ACT_NONE && d.norm.act != BL_ACT_SILU && d.norm.act != BL_ACT_GELU &&
        d.norm.act != BL_ACT_SIGMOID)
        return; /* a step may cross a kink */
    if (d.test->offset != 0)
        return; /* floats near 1000 are too coarse */
    give_stats(&d);
    bl_k_bn_dy dy = {.dy = d.dy_blocked};
    bl_k_bn_grad(&d.s, &d.norm, d.x_blocked, &dy, d.dx, d.dgamma, d.dbeta, d.scratch);
    kt_differences("dx", &d.s, d.x_blocked, bl_k_count(&d.s), d.dx, 1.0 / 64, 5e-3, loss, &d);
    if (d.norm.gamma)
        kt_differences("dgamma", NULL, d.gamma, d.channels, d.dgamma, 1.0 / 64, 5e-3, loss, &d);
    if (d.norm.beta)
        kt_differences("dbeta", NULL, d.beta, d.channels, d.dbeta, 1.0 / 64, 5e-3, loss, &d);
}

static void for_cases(const char *what, void (*check)(const void *argument))
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[96];
        const bl_k_shape *s = &cases[i].shape;
        snprintf(name, sizeof name, "%s of %dx%dx%dx%d in %ds, activation %d", what, s->n, s->c, s->h, s->w, s->block,
                 (int)cases[i].act);
        kt_each(name, check, &cases[i]);
    }
}

static void test_stats(void **state)
{
    for_cases("statistics", check_stats);
}

static void test_apply(void **state)
{
    for_cases("normalisation", check_apply);
}

static void test_train(void **state)
{
    for_cases("training", check_train);
}

static void test_grad(void **state)
{
    for_cases("gradient", check_grad);
    for_cases("gradient", check_grad_in_place);
}

static void test_differences(void **state)
{
    for_cases("differences", check_differences);
}

/* A batch in two parts, of unequal sizes where that can be, is the batch. */
static void check_parts(const void *argument)
{
    bn_data d;
    make(argument, &d);
    if (d.s.n < 2)
        return;
    double *sums = kt_doubles(2 * d.channels), *both = kt_doubles(2 * d.channels);
    double *dx = kt_doubles(d.count), *dgamma = kt_doubles(d.channels), *dbeta = kt_doubles(d.channels);
    double count = (double)d.count / (double)d.channels;
    bl_k_shape part[2] = {d.s, d.s};
    part[0].n = 1;
    part[1].n = d.s.n - 1;
    size_t at[2] = {0, bl_k_count(&part[0])};
    for (int p = 0; p < 2; p++) {
        bl_k_bn_stats(&part[p], d.x_blocked + at[p], d.mean, d.var, d.scratch);
        bl_k_bn_part_sums(&part[p], d.mean, d.var, sums);
        for (size_t i = 0; i < 2 * d.channels; i++)
            both[i] = (p > 0 ? both[i] : 0) + sums[i];
    }
    bl_k_bn_whole_stats(d.s.c, both, count, d.mean, d.var);
    kt_same("mean of parts", d.channels, d.mean, d.true_mean, tolerance_of(&d));
    kt_same("variance of parts", d.channels, d.var, d.true_var, tolerance_of(&d));
    give_stats(&d);
    bl_k_bn_dy dy = {.dy = d.dy_blocked};
    expected_gradients(&d, &dy, dx, dgamma, dbeta);
    for (int p = 0; p < 2; p++) {
        dy.dy = d.dy_blocked + at[p];
        bl_k_bn_grad_sums(&part[p], &d.norm, d.x_blocked + at[p], &dy, sums, d.dgamma, d.dbeta, d.scratch);
        for (size_t i = 0; i < 2 * d.channels; i++)
            both[i] = (p > 0 ? both[i] : 0) + sums[i];
        for (size_t c = 0; c < d.channels; c++)
            assert_true(d.dbeta[c] == (float)sums[c] && d.dgamma[c] == (float)sums[d.channels + c]);
    }
    for (int p = 0; p < 2; p++) {
        dy.dy = d.dy_blocked + at[p];
        bl_k_bn_grad_apply(&part[p], &d.norm, d.x_blocked + at[p], &dy, both, count, d.dx + at[p]);
    }
    kt_same_blocked("dx of parts", &d.s, d.dx, dx, tolerance_of(&d));
}

static void test_parts(void **state)
{
    for_cases("parts", check_parts);
}

/* PyTorch's rule: the running variance follows the unbiased one, except where that has no meaning. */
static void test_track(void **state)
{
    float mean[2] = {1, -2}, var[2] = {3, 6}, running_mean[2] = {0, 2}, running_var[2] = {1, 1};
    bl_k_bn_track(2, 4, 0.25f, mean, var, running_mean, running_var);
    const double means[2] = {0.25, 1}, vars[2] = {0.75 + 0.25 * 4, 0.75 + 0.25 * 8};
    kt_same("running mean", 2, running_mean, means, 1e-7);
    kt_same("running var", 2, running_var, vars, 1e-7);
    bl_k_bn_track(2, 1, 1, mean, var, running_mean, running_var);
    assert_float_equal(running_var[0], 3, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats), cmocka_unit_test(test_apply),       cmocka_unit_test(test_train),
        cmocka_unit_test(test_grad),  cmocka_unit_test(test_differences), cmocka_unit_test(test_track),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
