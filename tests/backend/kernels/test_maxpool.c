/* Max pooling against its definition in doubles. */
#include "helpers.h"

#include <math.h>
#include <stdio.h>

#include "backend/cpu/kernels/maxpool.h"
#include "graph/act.h"

#define TOLERANCE 3e-6

typedef struct maxpool_case {
    bl_k_shape x;
    int k, stride, pad;
    bool norm, ties; /* ties: few different values, so that the first of equal ones must be found */
    bl_act act;
} maxpool_case;

static const maxpool_case cases[] = {
    {.x = {.n = 2, .c = 16, .h = 9, .w = 7, .block = 8}, .k = 3, .stride = 2, .pad = 1},
    {.x = {.n = 1, .c = 19, .h = 8, .w = 8, .block = 16}, .k = 2, .stride = 2},
    {.x = {.n = 2, .c = 5, .h = 6, .w = 7, .block = 4}, .k = 5, .stride = 1, .pad = 2},
    {.x = {.n = 1, .c = 3, .h = 4, .w = 9, .block = 8}, .k = 3, .stride = 3, .pad = 1, .ties = true},
    {.x = {.n = 2, .c = 9, .h = 7, .w = 7, .block = 8},
     .k = 3,
     .stride = 2,
     .pad = 1,
     .norm = true,
     .act = BL_ACT_RELU},
    {.x = {.n = 1, .c = 6, .h = 6, .w = 5, .block = 8},
     .k = 3,
     .stride = 1,
     .pad = 1,
     .norm = true,
     .act = BL_ACT_HARDSIGMOID},
    {.x = {.n = 1, .c = 20, .h = 6, .w = 6, .block = 16}, .k = 2, .stride = 1, .norm = true, .act = BL_ACT_SILU},
    {.x = {.n = 1, .c = 1, .h = 1, .w = 1, .block = 8}, .k = 1, .stride = 1},
};

static void check_case(const void *argument)
{
    const maxpool_case *test = argument;
    bl_k_maxpool pool = {.x = test->x, .k = test->k, .stride = test->stride, .pad = test->pad};
    pool.oh = (test->x.h + 2 * test->pad - test->k) / test->stride + 1;
    pool.ow = (test->x.w + 2 * test->pad - test->k) / test->stride + 1;
    bl_k_shape out = test->x;
    out.h = pool.oh;
    out.w = pool.ow;
    size_t count = kt_plain_count(&test->x), n_out = kt_plain_count(&out), c = (size_t)test->x.c;
    float *x = kt_random(count, -2, 2, 1), *d = kt_random(n_out, -1, 1, 2);
    for (size_t i = 0; test->ties && i < count; i++)
        x[i] = roundf(x[i]);
    bl_k_norm norm = {.gamma = kt_random(c, 0.5, 2, 3),
                      .beta = kt_random(c, -1, 1, 4),
                      .mean = kt_random(c, -1, 1, 5),
                      .var = kt_random(c, 0.5, 2, 6),
                      .eps = 1e-3f,
                      .act = test->act};
    /* What is compared in floats must be decided in floats: values that differ by rounding could win or lose. */
    double *u = kt_doubles(count), *y = kt_doubles(n_out), *dx = kt_doubles(count);
    int pixels = test->x.h * test->x.w, results = pool.oh * pool.ow;
    for (size_t i = 0; i < count; i++) {
        size_t at = i / (size_t)pixels % c;
        double xhat = ((double)x[i] - (double)norm.mean[at]) / sqrt((double)norm.var[at] + (double)norm.eps);
        u[i] =
            test->norm ? bl_act_value(norm.act, (double)norm.gamma[at] * xhat + (double)norm.beta[at]) : (double)x[i];
        dx[i] = 0;
    }
    for (size_t i = 0; i < n_out; i++) {
        const int oy = (int)(i % (size_t)results) / pool.ow, ox = (int)(i % (size_t)pool.ow);
        size_t plane = i / (size_t)results * (size_t)pixels, best = SIZE_MAX;
        for (int ky = 0; ky < test->k; ky++)
            for (int kx = 0; kx < test->k; kx++) {
                int iy = oy * test->stride + ky - test->pad, ix = ox * test->stride + kx - test->pad;
                if (iy < 0 || ix < 0 || iy >= test->x.h || ix >= test->x.w)
                    continue;
                size_t at = plane + (size_t)(iy * test->x.w + ix);
                if (best == SIZE_MAX || u[at] > u[best])
                    best = at;
            }
        y[i] = u[best];
        dx[best] += (double)d[i];
    }
    float *x_blocked = kt_blocked(&test->x, x), *d_blocked = kt_blocked(&out, d);
    float *got_y = kt_floats(bl_k_count(&out)), *got_dx = kt_floats(bl_k_count(&test->x));
    bl_k_maxpool_forward(&pool, test->norm ? &norm : NULL, x_blocked, got_y);
    kt_same_blocked("y", &out, got_y, y, TOLERANCE);
    bl_k_maxpool_grad(&pool, test->norm ? &norm : NULL, x_blocked, d_blocked, got_dx);
    kt_same_blocked("dx", &test->x, got_dx, dx, TOLERANCE);
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[96];
        snprintf(name, sizeof name, "max pooling %d/%d of %dx%dx%dx%d in %ds", cases[i].k, cases[i].stride,
                 cases[i].x.n, cases[i].x.c, cases[i].x.h, cases[i].x.w, cases[i].x.block);
        kt_each(name, check_case, &cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
