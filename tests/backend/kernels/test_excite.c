/* Global pooling and gating against their formulas in doubles. */
#include "helpers.h"

#include <math.h>

#include "backend/cpu/kernels/excite.h"
#include "graph/act.h"

#define TOLERANCE 3e-6

typedef struct excite_case {
    bl_k_shape shape;
    bool norm;
    bl_act act;
} excite_case;

static const excite_case cases[] = {
    {.shape = {.n = 2, .c = 16, .h = 7, .w = 7, .block = 8}},
    {.shape = {.n = 3, .c = 19, .h = 5, .w = 3, .block = 16}},
    {.shape = {.n = 2, .c = 9, .h = 6, .w = 5, .block = 8}, .norm = true, .act = BL_ACT_RELU},
    {.shape = {.n = 2, .c = 21, .h = 4, .w = 9, .block = 16}, .norm = true, .act = BL_ACT_HARDSWISH},
    {.shape = {.n = 1, .c = 6, .h = 2, .w = 3, .block = 4}, .norm = true},
    {.shape = {.n = 2, .c = 5, .h = 3, .w = 3, .block = 8}, .norm = true, .act = BL_ACT_HARDSIGMOID},
    {.shape = {.n = 2, .c = 5, .h = 3, .w = 3, .block = 8}, .norm = true, .act = BL_ACT_SILU},
    {.shape = {.n = 1, .c = 1, .h = 1, .w = 1, .block = 4}},
};

typedef struct excite_data {
    bl_k_shape s, per_image;
    size_t count, images, pixels; /* elements; n * c; h * w */
    bool has_norm;
    bl_k_norm norm;
    float *x, *gate, *dy, *dgate_in;                              /* plain */
    float *x_blocked, *gate_blocked, *dy_blocked, *out, *out_one; /* blocked */
    double *u;                                                    /* x after the normalisation */
    void *scratch;
} excite_data;

static void make(const excite_case *test, excite_data *d)
{
    *d = (excite_data){.s = test->shape, .per_image = test->shape, .has_norm = test->norm};
    d->per_image.h = d->per_image.w = 1;
    d->count = kt_plain_count(&d->s);
    d->images = kt_plain_count(&d->per_image);
    d->pixels = (size_t)(d->s.h * d->s.w);
    size_t c = (size_t)d->s.c;
    d->x = kt_random(d->count, -3, 3, 1);
    d->gate = kt_random(d->images, 0.1, 1, 2);
    d->dy = kt_random(d->count, -1, 1, 3);
    d->norm = (bl_k_norm){.gamma = kt_random(c, 0.5, 2, 4),
                          .beta = kt_random(c, -1, 1, 5),
                          .mean = kt_random(c, -1, 1, 6),
                          .var = kt_random(c, 0.5, 2, 7),
                          .eps = 1e-3f,
                          .act = test->act};
    d->x_blocked = kt_blocked(&d->s, d->x);
    d->gate_blocked = kt_blocked(&d->per_image, d->gate);
    d->dy_blocked = kt_blocked(&d->s, d->dy);
    d->out = kt_floats(bl_k_count(&d->s));
    d->out_one = kt_floats(bl_k_count(&d->per_image));
    d->scratch = kt_memory(bl_k_excite_scratch_b(&d->s));
    d->u = kt_doubles(d->count);
    for (size_t i = 0; i < d->count; i++) {
        size_t at = i / d->pixels % c;
        const bl_k_norm *m = &d->norm;
        double xhat = ((double)d->x[i] - (double)m->mean[at]) / sqrt((double)m->var[at] + (double)m->eps);
        d->u[i] =
            d->has_norm ? bl_act_value(m->act, (double)m->gamma[at] * xhat + (double)m->beta[at]) : (double)d->x[i];
    }
}

static const bl_k_norm *norm_of(const excite_data *d)
{
    return d->has_norm ? &d->norm : NULL;
}

static void check_pool(const void *argument)
{
    excite_data d;
    make(argument, &d);
    double *mean = kt_doubles(d.images), *dx = kt_doubles(d.count);
    for (size_t i = 0; i < d.images; i++) {
        mean[i] = 0;
        for (size_t p = 0; p < d.pixels; p++) {
            mean[i] += d.u[i * d.pixels + p] / (double)d.pixels;
            dx[i * d.pixels + p] = (double)d.gate[i] / (double)d.pixels;
        }
    }
    bl_k_pool_forward(&d.s, norm_of(&d), d.x_blocked, d.out_one, d.scratch);
    kt_same_blocked("mean", &d.per_image, d.out_one, mean, TOLERANCE);
    bl_k_pool_grad(&d.s, d.gate_blocked, d.out); /* the gates serve as some dmean */
    kt_same_blocked("dx", &d.s, d.out, dx, TOLERANCE);
}

static void check_gate(const void *argument)
{
    excite_data d;
    make(argument, &d);
    double *y = kt_doubles(d.count), *dx = kt_doubles(d.count), *dgate = kt_doubles(d.images);
    for (size_t i = 0; i < d.count; i++) {
        y[i] = d.u[i] * (double)d.gate[i / d.pixels];
        dx[i] = (double)d.dy[i] * (double)d.gate[i / d.pixels];
        dgate[i / d.pixels] = (i % d.pixels == 0 ? 0 : dgate[i / d.pixels]) + (double)d.dy[i] * d.u[i];
    }
    bl_k_gate_forward(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.out, d.scratch);
    kt_same_blocked("y", &d.s, d.out, y, TOLERANCE);
    bl_k_gate_grad(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.dy_blocked, d.out, d.out_one, d.scratch);
    kt_same_blocked("dx", &d.s, d.out, dx, TOLERANCE);
    kt_same_blocked("dgate", &d.per_image, d.out_one, dgate, TOLERANCE);
    bl_k_gate_grad(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.dy_blocked, NULL, d.out_one, d.scratch);
    kt_same_blocked("dgate alone", &d.per_image, d.out_one, dgate, TOLERANCE);
    bl_k_gate_grad(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.dy_blocked, d.dy_blocked, d.out_one, d.scratch);
    kt_same_blocked("dx in place of dy", &d.s, d.dy_blocked, dx, TOLERANCE);
    bl_k_gate_forward(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.x_blocked, d.scratch);
    kt_same_blocked("y in place of x", &d.s, d.x_blocked, y, TOLERANCE);
}

static double gate_loss(void *context)
{
    excite_data *d = context;
    bl_k_gate_forward(&d->s, norm_of(d), d->x_blocked, d->gate_blocked, d->out, d->scratch);
    return kt_dot(&d->s, d->out, d->dy);
}

static double pool_loss(void *context)
{
    excite_data *d = context;
    bl_k_pool_forward(&d->s, NULL, d->x_blocked, d->out_one, d->scratch);
    return kt_dot(&d->per_image, d->out_one, d->gate);
}

/* Linear in each argument. */
static void check_differences(const void *argument)
{
    excite_data d;
    make(argument, &d);
    float *dx = kt_floats(bl_k_count(&d.s)), *dgate = kt_floats(bl_k_count(&d.per_image));
    bl_k_gate_grad(&d.s, norm_of(&d), d.x_blocked, d.gate_blocked, d.dy_blocked, dx, dgate, d.scratch);
    kt_differences("dgate", &d.per_image, d.gate_blocked, bl_k_count(&d.per_image), dgate, 0.5, 1e-4, gate_loss, &d);
    if (!d.has_norm)
        kt_differences("dx of the gate", &d.s, d.x_blocked, bl_k_count(&d.s), dx, 0.5, 1e-4, gate_loss, &d);
    bl_k_pool_grad(&d.s, d.gate_blocked, dx);
    kt_differences("dx of the pool", &d.s, d.x_blocked, bl_k_count(&d.s), dx, 0.5, 1e-4, pool_loss, &d);
}

static void for_cases(const char *what, void (*check)(const void *argument))
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[96];
        const bl_k_shape *s = &cases[i].shape;
        snprintf(name, sizeof name, "%s of %dx%dx%dx%d in %ds", what, s->n, s->c, s->h, s->w, s->block);
        kt_each(name, check, &cases[i]);
    }
}

static void test_pool(void **state)
{
    for_cases("pool", check_pool);
}

static void test_gate(void **state)
{
    for_cases("gate", check_gate);
}

static void test_differences(void **state)
{
    for_cases("differences", check_differences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
