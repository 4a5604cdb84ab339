/* Winograd convolutions against their definition in doubles. */
#include "helpers.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernels/winograd.h"

/* Of the largest value: the transformations cost about a digit. */
#define TOLERANCE 2e-5

static const bl_k_wino cases[] = {
    {.n = 2, .c = 16, .k = 16, .block = 8, .h = 9, .w = 7, .pad = 1},
    {.n = 1, .c = 19, .k = 40, .block = 8, .h = 4, .w = 4, .pad = 1},
    {.n = 3, .c = 5, .k = 21, .block = 4, .h = 6, .w = 13, .pad = 0},
    {.n = 1, .c = 32, .k = 9, .block = 16, .h = 8, .w = 12, .pad = 2},
    {.n = 1, .c = 8, .k = 8, .block = 8, .h = 1, .w = 1, .pad = 1},
    {.n = 2, .c = 24, .k = 48, .block = 16, .h = 14, .w = 14, .pad = 1},
    {.n = 4, .c = 8, .k = 24, .block = 8, .h = 30, .w = 29, .pad = 1},    /* weights' gradient in slices */
    {.n = 5, .c = 256, .k = 128, .block = 16, .h = 10, .w = 9, .pad = 1}, /* more parts than at a time */
};

static void check_case(const void *argument)
{
    const bl_k_wino *t = argument;
    bl_k_shape x_shape = {.n = t->n, .c = t->c, .h = t->h, .w = t->w, .block = t->block}, y_shape = x_shape;
    y_shape.c = t->k;
    y_shape.h = t->h + 2 * t->pad - 2;
    y_shape.w = t->w + 2 * t->pad - 2;
    size_t nx = kt_plain_count(&x_shape), ny = kt_plain_count(&y_shape), nw = (size_t)t->k * (size_t)t->c * 9;
    float *x = kt_random(nx, -1, 1, 1), *w = kt_random(nw, -1, 1, 2), *dy = kt_random(ny, -1, 1, 3);
    double *y = kt_doubles(ny), *dx = kt_doubles(nx), *dw = kt_doubles(nw);
    for (size_t i = 0; i < nx; i++)
        dx[i] = 0;
    for (size_t i = 0; i < nw; i++)
        dw[i] = 0;
    size_t at = 0;
    for (int n = 0; n < t->n; n++)
        for (int k = 0; k < t->k; k++)
            for (int oy = 0; oy < y_shape.h; oy++)
                for (int ox = 0; ox < y_shape.w; ox++, at++) {
                    y[at] = 0;
                    for (int c = 0; c < t->c; c++)
                        for (int r = 0; r < 9; r++) {
                            int iy = oy + r / 3 - t->pad, ix = ox + r % 3 - t->pad;
                            if (iy < 0 || ix < 0 || iy >= t->h || ix >= t->w)
                                continue;
                            size_t xi =
                                (((size_t)n * (size_t)t->c + (size_t)c) * (size_t)t->h + (size_t)iy) * (size_t)t->w +
                                (size_t)ix;
                            size_t wi = ((size_t)k * (size_t)t->c + (size_t)c) * 9 + (size_t)r;
                            y[at] += (double)x[xi] * (double)w[wi];
                            dx[xi] += (double)dy[at] * (double)w[wi];
                            dw[wi] += (double)dy[at] * (double)x[xi];
                        }
                }
    float *x_blocked = kt_blocked(&x_shape, x), *dy_blocked = kt_blocked(&y_shape, dy);
    float *got_y = kt_floats(bl_k_count(&y_shape)), *got_dx = kt_floats(bl_k_count(&x_shape)), *got_dw = kt_floats(nw);
    bl_k_wino_forward(t, x_blocked, w, got_y, kt_memory(bl_k_wino_scratch_b(t, BL_K_WINO_FORWARD)));
    kt_same_blocked("y", &y_shape, got_y, y, TOLERANCE);
    bl_k_wino_grad_data(t, dy_blocked, w, got_dx, kt_memory(bl_k_wino_scratch_b(t, BL_K_WINO_GRAD_DATA)));
    kt_same_blocked("dx", &x_shape, got_dx, dx, TOLERANCE);
    bl_k_wino_grad_weights(t, x_blocked, dy_blocked, got_dw, kt_memory(bl_k_wino_scratch_b(t, BL_K_WINO_GRAD_WEIGHTS)));
    kt_same("dw", nw, got_dw, dw, TOLERANCE);
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[96];
        snprintf(name, sizeof name, "winograd %d x %d -> %d of %d x %d, pad %d, in %ds", cases[i].n, cases[i].c,
                 cases[i].k, cases[i].h, cases[i].w, cases[i].pad, cases[i].block);
        kt_each(name, check_case, &cases[i]);
    }
}

/* Scratch measured for one thread is not overrun when OpenMP's limit has risen since, as a second network may raise it;
 * and the results are the same. */
static void check_room(const void *argument)
{
    enum { GUARD = 4096 };
    bl_k_wino t = {.n = 4, .c = 8, .k = 24, .block = 8, .h = 30, .w = 29, .pad = 1, .threads = 1};
    int limit = omp_get_max_threads();
    bl_k_shape x_shape = {.n = t.n, .c = t.c, .h = t.h, .w = t.w, .block = t.block};
    size_t nx = bl_k_count(&x_shape), ny = nx * 3, nw = (size_t)t.c * (size_t)t.k * 9;
    float *x = kt_random(nx, -1, 1, 1), *dy = kt_random(ny, -1, 1, 2), *w = kt_random(nw, -1, 1, 3);
    for (int kind = BL_K_WINO_FORWARD; kind <= BL_K_WINO_GRAD_WEIGHTS; kind++) {
        float *result[2];
        for (int more = 0; more < 2; more++) {
            size_t bytes = bl_k_wino_scratch_b(&t, (bl_k_wino_kind)kind);
            unsigned char *scratch = kt_memory(bytes + GUARD);
            memset(scratch + bytes, 0x5a, GUARD);
            result[more] = kt_floats(ny);
            omp_set_num_threads(more ? 4 : 1);
            if (kind == BL_K_WINO_FORWARD)
                bl_k_wino_forward(&t, x, w, result[more], scratch);
            else if (kind == BL_K_WINO_GRAD_DATA)
                bl_k_wino_grad_data(&t, dy, w, result[more], scratch);
            else
                bl_k_wino_grad_weights(&t, x, dy, result[more], scratch);
            for (size_t i = 0; i < GUARD; i++)
                assert_int_equal(scratch[bytes + i], 0x5a);
        }
        assert_memory_equal(result[0], result[1], ny * sizeof(float));
    }
    omp_set_num_threads(limit);
}

static void test_no_more_threads_than_room(void **state)
{
    kt_each("winograd with room for one thread", check_room, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_no_more_threads_than_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
