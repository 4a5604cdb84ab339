/* What stands around matrix products: filled rows, sums of columns, the softmax of rows and its gradient. */
#include "helpers.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/matrix.h"

#define TOLERANCE 2e-6

typedef struct size {
    int rows, n;
    size_t apart; /* of rows in memory */
} size;

static const size sizes[] = {{1, 1, 1}, {3, 7, 16}, {5, 16, 16}, {2, 197, 208}, {70, 129, 129}, {200, 300, 304}};

static size_t count_of(const size *s)
{
    return (size_t)s->rows * (size_t)s->n;
}

static void check_fill(const void *argument)
{
    const size *s = argument;
    float *bias = kt_random((size_t)s->n, -1, 1, 1), *residual = kt_random(count_of(s), -1, 1, 2);
    float *y = kt_floats(count_of(s));
    double *both = kt_doubles(count_of(s)), *one = kt_doubles(count_of(s)), *other = kt_doubles(count_of(s));
    for (size_t i = 0; i < count_of(s); i++) {
        one[i] = (double)bias[i % (size_t)s->n];
        other[i] = (double)residual[i];
        both[i] = one[i] + other[i];
    }
    bl_k_fill_rows(s->rows, s->n, bias, NULL, y);
    kt_same("bias", count_of(s), y, one, TOLERANCE);
    bl_k_fill_rows(s->rows, s->n, NULL, residual, y);
    kt_same("residual", count_of(s), y, other, TOLERANCE);
    bl_k_fill_rows(s->rows, s->n, bias, residual, y);
    kt_same("both", count_of(s), y, both, TOLERANCE);
    bl_k_fill_rows(s->rows, s->n, bias, residual, residual);
    kt_same("both in place", count_of(s), residual, both, TOLERANCE);
    bl_k_fill_rows(s->rows, s->n, NULL, y, y);
    kt_same("residual in place", count_of(s), y, both, TOLERANCE);
}

static void check_sums(const void *argument)
{
    const size *s = argument;
    float *x = kt_random(count_of(s), -1, 2, 3), *sums = kt_floats((size_t)s->n);
    double *expected = kt_doubles((size_t)s->n);
    memset(expected, 0, (size_t)s->n * sizeof *expected);
    for (size_t i = 0; i < count_of(s); i++)
        expected[i % (size_t)s->n] += (double)x[i];
    bl_k_column_sums(s->rows, s->n, x, sums);
    kt_same("sums", (size_t)s->n, sums, expected, TOLERANCE);
}

/* Rows without the gaps between them. */
static float *gathered(const size *s, const float *x)
{
    float *rows = kt_floats(count_of(s));
    for (int r = 0; r < s->rows; r++)
        memcpy(rows + (size_t)r * (size_t)s->n, x + (size_t)r * s->apart, (size_t)s->n * sizeof *rows);
    return rows;
}

static void expect_softmax(const size *s, const float *x, const float *dp, double *p, double *dx)
{
    for (int r = 0; r < s->rows; r++) {
        size_t from = (size_t)r * s->apart, to = (size_t)r * (size_t)s->n;
        double sum = 0, mean = 0;
        for (int i = 0; i < s->n; i++)
            sum += exp((double)x[from + (size_t)i]);
        for (int i = 0; i < s->n; i++) {
            p[to + (size_t)i] = exp((double)x[from + (size_t)i]) / sum;
            mean += p[to + (size_t)i] * (double)dp[from + (size_t)i];
        }
        for (int i = 0; i < s->n; i++)
            dx[to + (size_t)i] = p[to + (size_t)i] * ((double)dp[from + (size_t)i] - mean);
    }
}

static void check_softmax(const void *argument)
{
    const size *s = argument;
    size_t stored = (size_t)s->rows * s->apart;
    float *x = kt_random(stored, -9, 20, 4), *dp = kt_random(stored, -1, 1, 5);
    double *p = kt_doubles(count_of(s)), *dx = kt_doubles(count_of(s));
    for (int r = 0; r < s->rows; r++) /* what lies between the rows must not matter */
        for (size_t i = (size_t)s->n; i < s->apart; i++)
            x[(size_t)r * s->apart + i] = dp[(size_t)r * s->apart + i] = NAN;
    expect_softmax(s, x, dp, p, dx);
    bl_k_softmax_rows(s->rows, s->n, s->apart, x);
    kt_same("p", count_of(s), gathered(s, x), p, TOLERANCE);
    bl_k_softmax_rows_grad(s->rows, s->n, s->apart, x, dp);
    kt_same("dx", count_of(s), gathered(s, dp), dx, 4 * TOLERANCE);
}

static void check_large(const void *argument)
{
    float x[3][20];
    for (int i = 0; i < 20; i++) {
        x[0][i] = i == 3 ? 3e38f : -3e38f;
        x[1][i] = 1000 + (i == 7 ? 1 : 0);
        x[2][i] = i == 19 ? NAN : 0;
    }
    bl_k_softmax_rows(3, 20, 20, x[0]);
    assert_true(x[0][3] == 1 && x[0][4] < 1e-30f);
    assert_true(fabsf(x[1][7] / x[1][8] - expf(1)) < 1e-5f);
    assert_true(isnan(x[2][19]) && isnan(x[2][0]));
}

static void for_sizes(const char *name, void (*check)(const void *argument))
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        kt_each(name, check, &sizes[i]);
}

static void test_fill(void **state)
{
    for_sizes("filled rows", check_fill);
}

static void test_sums(void **state)
{
    for_sizes("column sums", check_sums);
}

static void test_softmax(void **state)
{
    for_sizes("softmax", check_softmax);
    kt_each("softmax of large numbers", check_large, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
