/* Elementwise kernels, dropout, layouts and the loss against plain C. */
#include "helpers.h"

#include <math.h>

#include "backend/cpu/kernels/pointwise.h"
#include "graph/act.h"
#include "graph/dropout.h"

#define LARGE 40003 /* more than one task of a parallel loop, and no whole number of vectors */

static void check_acts(const void *argument)
{
    static const size_t sizes[] = {1, 3, 15, 16, 33, LARGE};
    for (int act = 0; act <= BL_ACT_LEAKY; act++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            size_t count = sizes[k];
            bl_k_shape row = {.n = 1, .c = (int)count, .h = 1, .w = 1, .block = 1};
            float *x = kt_random(count, -8, 8, 1), *dy = kt_random(count, -1, 1, 2), *got = kt_floats(count);
            double *y = kt_doubles(count), *dx = kt_doubles(count);
            x[0] = 0;
            for (size_t i = 1; i < count && i < 6; i++) /* the kinks */
                x[i] = (float[]){-3, 3, 6, -0.0f, -6}[i - 1];
            for (size_t i = 0; i < count; i++) {
                y[i] = bl_act_value((bl_act)act, (double)x[i]);
                dx[i] = (double)dy[i] * bl_act_slope((bl_act)act, (double)x[i]);
            }
            bl_k_act_forward(&row, (bl_act)act, x, got);
            kt_same("y", count, got, y, 1e-6);
            bl_k_act_grad(count, (bl_act)act, x, dy, dy);
            kt_same("dx in place of dy", count, dy, dx, 1e-6);
            bl_k_act_forward(&row, (bl_act)act, x, x);
            kt_same("y in place of x", count, x, y, 1e-6);
        }
}

/* The activation of a channel that is not there is zero, whatever the activation of zero is. */
static void check_act_padding(const void *argument)
{
    bl_k_shape shape = {.n = 2, .c = 11, .h = 3, .w = 2, .block = 8};
    size_t count = kt_plain_count(&shape);
    float *x = kt_random(count, -4, 4, 1), *y = kt_floats(bl_k_count(&shape));
    double *expected = kt_doubles(count);
    for (size_t i = 0; i < count; i++)
        expected[i] = bl_act_value(BL_ACT_HARDSIGMOID, (double)x[i]);
    bl_k_act_forward(&shape, BL_ACT_HARDSIGMOID, kt_blocked(&shape, x), y);
    kt_same_blocked("y", &shape, y, expected, 1e-6);
}

static void check_add(const void *argument)
{
    static const size_t sizes[] = {1, 7, 16, 31, LARGE};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t count = sizes[k];
        float *a = kt_random(count, -1, 1, 1), *b = kt_random(count, -1, 1, 2), *y = kt_floats(count);
        double *sum = kt_doubles(count);
        for (size_t i = 0; i < count; i++)
            sum[i] = (double)a[i] + (double)b[i];
        bl_k_add(count, a, b, y);
        kt_same("y", count, y, sum, 1e-7);
        bl_k_add(count, a, b, b);
        kt_same("y in place of b", count, b, sum, 1e-7);
    }
}

static const bl_k_shape layouts[] = {
    {.n = 2, .c = 16, .h = 3, .w = 5, .block = 8}, {.n = 3, .c = 19, .h = 7, .w = 4, .block = 16},
    {.n = 1, .c = 5, .h = 9, .w = 9, .block = 4},  {.n = 2, .c = 7, .h = 1, .w = 1, .block = 8},
    {.n = 2, .c = 3, .h = 11, .w = 6, .block = 1}, {.n = 1, .c = 40, .h = 33, .w = 29, .block = 16},
};
#define N_LAYOUTS (sizeof layouts / sizeof *layouts)

static void check_layouts(const void *argument)
{
    for (size_t k = 0; k < N_LAYOUTS; k++) {
        const bl_k_shape *shape = &layouts[k];
        size_t count = kt_plain_count(shape);
        float *x = kt_random(count, -1, 1, k), *blocked = kt_floats(bl_k_count(shape)), *plain = kt_floats(count);
        double *expected = kt_doubles(count);
        for (size_t i = 0; i < count; i++)
            expected[i] = (double)x[i];
        bl_k_to_blocked(shape, x, blocked);
        kt_same_blocked("blocked", shape, blocked, expected, 0);
        bl_k_to_plain(shape, kt_blocked(shape, x), plain);
        kt_same("plain", count, plain, expected, 0);
    }
}

static void check_dropout(const void *argument)
{
    for (size_t k = 0; k < N_LAYOUTS; k++) {
        const bl_k_shape *shape = &layouts[k];
        bl_k_dropout dropout = {.p = 0.3f, .stream = (uint32_t)k, .seed = 12345678901234u, .step = 7};
        size_t count = kt_plain_count(shape);
        float *x = kt_random(count, 1, 2, k), *y = kt_floats(bl_k_count(shape));
        double *expected = kt_doubles(count);
        for (size_t i = 0; i < count; i++)
            expected[i] = bl_k_dropout_keeps(&dropout, i) ? (double)x[i] / 0.7 : 0;
        bl_k_dropout_apply(shape, &dropout, kt_blocked(shape, x), y);
        kt_same_blocked("y", shape, y, expected, 1e-6);
        dropout.p = 0;
        for (size_t i = 0; i < count; i++)
            expected[i] = (double)x[i];
        float *in_place = kt_blocked(shape, x);
        bl_k_dropout_apply(shape, &dropout, in_place, in_place);
        kt_same_blocked("y without loss", shape, in_place, expected, 0);
    }
}

static void test_elementwise(void **state)
{
    kt_each("activations", check_acts, NULL);
    kt_each("activation of padding", check_act_padding, NULL);
    kt_each("sum", check_add, NULL);
}

static void test_layouts(void **state)
{
    kt_each("layouts", check_layouts, NULL);
}

/* Known answers of the generator's authors. */
static void test_philox(void **state)
{
    const uint32_t zeros[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    const uint32_t expected[2][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}};
    uint32_t got[4];
    bl_philox(zeros, zeros, got);
    assert_memory_equal(got, expected[0], sizeof got);
    bl_philox(ones, ones, got);
    assert_memory_equal(got, expected[1], sizeof got);
}

static void test_dropout(void **state)
{
    kt_each("dropout", check_dropout, NULL);
    /* About the right part is dropped: a binomial's standard deviation here is 0.0015. Seeds, steps and streams differ:
     * two independent draws agree in 1 - 2 p (1 - p) = 0.58 of the elements. */
    bl_k_dropout a = {.p = 0.3f, .stream = 1, .seed = 5, .step = 9}, other[3] = {a, a, a};
    other[0].stream++;
    other[1].seed++;
    other[2].step++;
    int kept = 0, agree[3] = {0}, n = 100000;
    for (int i = 0; i < n; i++) {
        bool keeps = bl_k_dropout_keeps(&a, (uint64_t)i);
        kept += keeps;
        for (int k = 0; k < 3; k++)
            agree[k] += keeps == bl_k_dropout_keeps(&other[k], (uint64_t)i);
    }
    assert_true(fabs(kept / (double)n - 0.7) < 0.01);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(agree[k] / (double)n - 0.58) < 0.01);
}

/* ---- loss ---- */

typedef struct loss_case {
    int n, k;
    float smoothing;
    int left_out; /* a row without a label; -1: none, n: all */
    float share;  /* 0: nothing is mixed */
} loss_case;

static const loss_case losses[] = {
    {5, 10, 0, -1, 0}, {7, 3, 0.1f, 2, 0},   {4, 1000, 0.1f, -1, 0}, {3, 1, 0, -1, 0},
    {2, 5, 0, 2, 0},   {5, 10, 0, -1, 0.7f}, {7, 3, 0.1f, 2, 0.25f}, {2, 5, 0, 2, 0.5f},
};

typedef struct loss_data {
    const loss_case *test;
    float *logits, *prob;
    int32_t labels[8], others[8];
    bl_k_targets targets;
} loss_data;

static void label(loss_data *d)
{
    const loss_case *test = d->test;
    for (int i = 0; i < test->n; i++) {
        d->labels[i] = i == test->left_out || test->left_out == test->n ? -1 : (i * 7 + 1) % test->k;
        d->others[i] = (i * 5 + 3) % test->k; /* some of them the same */
    }
    d->targets = (bl_k_targets){.labels = d->labels,
                                .others = test->share > 0 ? d->others : NULL,
                                .share = test->share,
                                .smoothing = test->smoothing};
}

static double loss_of(void *context)
{
    loss_data *d = context;
    double loss;
    bl_k_softmax_loss(d->test->n, d->test->k, d->logits, &d->targets, d->prob, &loss, NULL);
    return loss;
}

static double naive_loss(const loss_data *d, double *prob, int64_t *hits)
{
    double total = 0;
    int rows = 0, k = d->test->k;
    *hits = 0;
    for (int i = 0; i < d->test->n; i++) {
        const float *row = d->logits + i * k;
        double sum = 0, largest = -INFINITY;
        int best = 0;
        for (int j = 0; j < k; j++) {
            best = (double)row[j] > largest ? j : best;
            largest = fmax(largest, (double)row[j]);
        }
        for (int j = 0; j < k; j++)
            sum += exp((double)row[j] - largest);
        for (int j = 0; j < k; j++) {
            double log_p = (double)row[j] - largest - log(sum), s = (double)d->test->smoothing;
            prob[i * k + j] = exp(log_p);
            double first = d->test->share > 0 ? (double)d->test->share : 1;
            double at = (j == d->labels[i] ? first : 0) + (j == d->others[i] ? 1 - first : 0);
            if (d->labels[i] >= 0)
                total -= ((1 - s) * at + s / k) * log_p;
        }
        rows += d->labels[i] >= 0;
        *hits += best == d->labels[i];
    }
    return rows > 0 ? total / rows : 0;
}

static void check_loss(const void *argument)
{
    const loss_case *test = argument;
    size_t count = (size_t)(test->n * test->k);
    loss_data d = {.test = test, .logits = kt_random(count, -90, 90, 1), .prob = kt_floats(count)};
    double *prob = kt_doubles(count), loss;
    int64_t hits, expected_hits;
    label(&d);
    d.logits[(test->n - 1) * test->k + (test->n * 7 - 6) % test->k] = 95; /* the last row is right */
    double expected = naive_loss(&d, prob, &expected_hits);
    bl_k_softmax_loss(test->n, test->k, d.logits, &d.targets, d.prob, &loss, &hits);
    assert_true(fabs(loss - expected) <= 1e-6 * fabs(expected));
    assert_int_equal(hits, expected_hits);
    assert_true(hits > 0 || test->left_out == test->n);
    kt_same("prob", count, d.prob, prob, 1e-6);
}

static void check_loss_grad(const void *argument)
{
    const loss_case *test = argument;
    size_t count = (size_t)(test->n * test->k);
    loss_data d = {.test = test, .logits = kt_random(count, -2, 2, 1), .prob = kt_floats(count)};
    float *gradient = kt_floats(count);
    label(&d);
    loss_of(&d);
    bl_k_softmax_loss_grad(test->n, test->k, d.prob, &d.targets, 1, gradient);
    kt_differences("dlogits", NULL, d.logits, count, gradient, 1.0 / 256, 1e-4, loss_of, &d);
    loss_of(&d);
    double *expected = kt_doubles(count);
    for (size_t i = 0; i < count; i++)
        expected[i] = -3 * (double)gradient[i];
    bl_k_softmax_loss_grad(test->n, test->k, d.prob, &d.targets, -3, d.prob);
    kt_same("dlogits times -3 in place of prob", count, d.prob, expected, 1e-6);
}

static void test_loss(void **state)
{
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        kt_each("loss", check_loss, &losses[i]);
        kt_each("gradient of the loss", check_loss_grad, &losses[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise), cmocka_unit_test(test_layouts), cmocka_unit_test(test_philox),
        cmocka_unit_test(test_dropout),     cmocka_unit_test(test_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
