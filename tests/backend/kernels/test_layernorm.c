/* Layer normalisation, channel scales and dropped branches against their definitions in doubles. */
#include "helpers.h"

#include <math.h>
#include <stdio.h>

#include "backend/cpu/kernels/branch.h"
#include "backend/cpu/kernels/layernorm.h"
#include "graph/dropout.h"

#define TOLERANCE 3e-6
#define EPS       1e-5f

static const bl_k_shape shapes[] = {
    {.n = 2, .c = 16, .h = 5, .w = 7, .block = 8},   {.n = 3, .c = 19, .h = 4, .w = 4, .block = 16},
    {.n = 1, .c = 96, .h = 20, .w = 19, .block = 8}, /* more pixels than one task of the gradient takes */
    {.n = 2, .c = 3, .h = 1, .w = 1, .block = 8},    {.n = 1, .c = 6, .h = 3, .w = 3, .block = 4},
};

typedef struct data {
    bl_k_shape s;
    bl_k_rows at;
    size_t count, pixels, c;
    float *x, *dy, *gamma, *beta, *x_blocked, *dy_blocked, *out;
    double *y, *dx, *dgamma, *dbeta, *mean, *rstd; /* expected */
    size_t rows;
} data;

static void make(const bl_k_shape *shape, data *d)
{
    *d = (data){.s = *shape, .c = (size_t)shape->c, .pixels = (size_t)(shape->h * shape->w)};
    d->at = bl_k_rows_of_image(shape);
    d->count = kt_plain_count(shape);
    d->rows = d->count / d->c;
    d->x = kt_random(d->count, -2, 3, 1);
    d->dy = kt_random(d->count, -1, 1, 2);
    d->gamma = kt_random(d->c, 0.5, 2, 3);
    d->beta = kt_random(d->c, -1, 1, 4);
    d->x_blocked = kt_blocked(shape, d->x);
    d->dy_blocked = kt_blocked(shape, d->dy);
    d->out = kt_floats(bl_k_count(shape));
    d->y = kt_doubles(d->count);
    d->dx = kt_doubles(d->count);
    d->dgamma = kt_doubles(d->c);
    d->dbeta = kt_doubles(d->c);
    d->mean = kt_doubles(d->rows);
    d->rstd = kt_doubles(d->rows);
}

static size_t element(const data *d, size_t row, size_t c)
{
    return (row / d->pixels * d->c + c) * d->pixels + row % d->pixels;
}

static void expect(data *d)
{
    for (size_t c = 0; c < d->c; c++)
        d->dgamma[c] = d->dbeta[c] = 0;
    for (size_t r = 0; r < d->rows; r++) {
        double mean = 0, var = 0, g_mean = 0, gx_mean = 0, n = (double)d->c;
        for (size_t c = 0; c < d->c; c++)
            mean += (double)d->x[element(d, r, c)] / n;
        for (size_t c = 0; c < d->c; c++)
            var += ((double)d->x[element(d, r, c)] - mean) * ((double)d->x[element(d, r, c)] - mean) / n;
        double rstd = 1 / sqrt(var + (double)EPS);
        d->mean[r] = mean;
        d->rstd[r] = rstd;
        for (size_t c = 0; c < d->c; c++) {
            size_t i = element(d, r, c);
            double xhat = ((double)d->x[i] - mean) * rstd, g = (double)d->dy[i] * (double)d->gamma[c];
            d->y[i] = xhat * (double)d->gamma[c] + (double)d->beta[c];
            d->dgamma[c] += (double)d->dy[i] * xhat;
            d->dbeta[c] += (double)d->dy[i];
            g_mean += g / n;
            gx_mean += g * xhat / n;
        }
        for (size_t c = 0; c < d->c; c++) {
            size_t i = element(d, r, c);
            double xhat = ((double)d->x[i] - mean) * rstd, g = (double)d->dy[i] * (double)d->gamma[c];
            d->dx[i] = rstd * (g - g_mean - xhat * gx_mean);
        }
    }
}

static void compare(data *given)
{
    data d = *given;
    expect(&d);
    float *mean = kt_floats(d.rows), *rstd = kt_floats(d.rows), *dgamma = kt_floats(d.c), *dbeta = kt_floats(d.c);
    bl_k_layernorm_forward(&d.at, d.gamma, d.beta, EPS, d.x_blocked, d.out, mean, rstd);
    kt_same_blocked("y", &d.s, d.out, d.y, TOLERANCE);
    kt_same("mean", d.rows, mean, d.mean, TOLERANCE);
    kt_same("rstd", d.rows, rstd, d.rstd, TOLERANCE);
    void *scratch = kt_memory(bl_k_layernorm_grad_scratch_b(&d.at));
    bl_k_layernorm_grad(&d.at, d.gamma, mean, rstd, d.x_blocked, d.dy_blocked, d.out, dgamma, dbeta, scratch);
    kt_same_blocked("dx", &d.s, d.out, d.dx, TOLERANCE);
    kt_same("dgamma", d.c, dgamma, d.dgamma, TOLERANCE);
    kt_same("dbeta", d.c, dbeta, d.dbeta, TOLERANCE);
    bl_k_layernorm_grad(&d.at, d.gamma, mean, rstd, d.x_blocked, d.dy_blocked, d.dy_blocked, dgamma, dbeta, scratch);
    kt_same_blocked("dx in place of dy", &d.s, d.dy_blocked, d.dx, TOLERANCE);
}

static void check_layer_norm(const void *argument)
{
    data d;
    make(argument, &d);
    compare(&d);
}

/* Rows of a matrix lie as the pixels of an image that is one block of c channels: n rows, each an image of one pixel.
 */
static void check_matrix(const void *argument)
{
    const bl_k_shape *m = argument;
    bl_k_shape rows = {.n = m->n, .c = m->c, .h = 1, .w = 1, .block = 16};
    data d;
    make(&rows, &d);
    d.at = bl_k_rows_of_matrix(m->n, m->c);
    compare(&d);
}

static void check_scale(const void *argument)
{
    data d;
    make(argument, &d);
    for (size_t c = 0; c < d.c; c++)
        d.dgamma[c] = 0;
    for (size_t i = 0; i < d.count; i++) {
        size_t c = i / d.pixels % d.c;
        d.y[i] = (double)d.x[i] * (double)d.gamma[c];
        d.dx[i] = (double)d.dy[i] * (double)d.gamma[c];
        d.dgamma[c] += (double)d.dy[i] * (double)d.x[i];
    }
    float *dgamma = kt_floats(d.c);
    void *scratch = kt_memory(bl_k_scale_grad_scratch_b(&d.s));
    bl_k_scale_forward(&d.s, d.gamma, d.x_blocked, d.out);
    kt_same_blocked("y", &d.s, d.out, d.y, TOLERANCE);
    bl_k_scale_grad(&d.s, d.gamma, d.x_blocked, d.dy_blocked, NULL, dgamma, scratch);
    kt_same("dgamma", d.c, dgamma, d.dgamma, TOLERANCE);
    bl_k_scale_grad(&d.s, d.gamma, d.x_blocked, d.dy_blocked, d.dy_blocked, dgamma, scratch);
    kt_same_blocked("dx in place of dy", &d.s, d.dy_blocked, d.dx, TOLERANCE);
}

static void check_drop(const void *argument)
{
    data d;
    make(argument, &d);
    for (uint64_t step = 0; step < 6; step++) {
        bl_k_dropout drop = {.p = 0.4f, .stream = 3, .seed = 9, .step = step};
        for (size_t i = 0; i < d.count; i++) {
            bool keeps = bl_dropout_keeps(drop.p, drop.seed, drop.step, drop.stream, i / (d.c * d.pixels));
            d.y[i] = keeps ? (double)d.x[i] / (1 - (double)drop.p) : 0;
        }
        bl_k_drop_path(&d.s, &drop, d.x_blocked, d.out);
        kt_same_blocked("y", &d.s, d.out, d.y, TOLERANCE);
    }
}

static void for_shapes(const char *what, void (*check)(const void *argument))
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char name[96];
        const bl_k_shape *s = &shapes[i];
        snprintf(name, sizeof name, "%s of %dx%dx%dx%d in %ds", what, s->n, s->c, s->h, s->w, s->block);
        kt_each(name, check, s);
    }
}

static void test_layer_norm(void **state)
{
    for_shapes("layer norm", check_layer_norm);
}

static void test_matrix(void **state)
{
    static const bl_k_shape matrices[] = {
        {.n = 9, .c = 16}, {.n = 6, .c = 48}, {.n = 300, .c = 64}, {.n = 1, .c = 1024}};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        kt_each("layer norm of a matrix", check_matrix, &matrices[i]);
}

static void test_scale(void **state)
{
    for_shapes("channel scale", check_scale);
}

static void test_drop(void **state)
{
    for_shapes("drop path", check_drop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
