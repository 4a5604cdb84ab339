/* Depthwise convolution against its definition in doubles, and its gradients against central differences too. */
#include "helpers.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/depthwise.h"
#include "graph/act.h"

#define TOLERANCE 3e-6

typedef struct dw_case {
    int n, c, block, ih, iw, k, stride, pad;
    int more;     /* output rows and columns past those that symmetric padding gives */
    bool norm;    /* with a normalisation on the input */
    bl_act act;   /* after it */
    bool no_bias; /* bias and its gradient NULL */
} dw_case;

static const dw_case cases[] = {
    {.n = 2, .c = 16, .block = 8, .ih = 7, .iw = 9, .k = 3, .stride = 1, .pad = 1},
    {.n = 1, .c = 19, .block = 8, .ih = 11, .iw = 5, .k = 3, .stride = 2, .pad = 1},
    {.n = 3, .c = 20, .block = 16, .ih = 10, .iw = 17, .k = 3, .stride = 1, .pad = 1, .norm = true, .act = BL_ACT_RELU},
    {.n = 2, .c = 24, .block = 16, .ih = 14, .iw = 14, .k = 5, .stride = 1, .pad = 2},
    {.n = 2,
     .c = 13,
     .block = 16,
     .ih = 9,
     .iw = 13,
     .k = 5,
     .stride = 2,
     .pad = 2,
     .norm = true,
     .act = BL_ACT_HARDSWISH},
    {.n = 2, .c = 9, .block = 8, .ih = 3, .iw = 3, .k = 5, .stride = 1, .pad = 2, .no_bias = true},
    {.n = 1, .c = 7, .block = 4, .ih = 8, .iw = 21, .k = 7, .stride = 1, .pad = 3, .norm = true},
    {.n = 1, .c = 8, .block = 8, .ih = 6, .iw = 7, .k = 7, .stride = 2, .pad = 3},
    {.n = 1, .c = 18, .block = 16, .ih = 23, .iw = 25, .k = 7, .stride = 1, .pad = 3},
    {.n = 2, .c = 5, .block = 8, .ih = 10, .iw = 6, .k = 4, .stride = 3, .pad = 0},
    {.n = 1, .c = 5, .block = 8, .ih = 9, .iw = 7, .k = 1, .stride = 2, .pad = 0, .norm = true, .act = BL_ACT_SIGMOID},
    {.n = 1, .c = 3, .block = 4, .ih = 1, .iw = 1, .k = 1, .stride = 1, .pad = 0},
    {.n = 1, .c = 4, .block = 4, .ih = 6, .iw = 33, .k = 9, .stride = 1, .pad = 4},
    {.n = 1, .c = 12, .block = 12, .ih = 6, .iw = 5, .k = 3, .stride = 1, .pad = 0},
    {.n = 1, .c = 8, .block = 8, .ih = 5, .iw = 6, .k = 3, .stride = 1, .pad = 2},
    {.n = 1, .c = 8, .block = 8, .ih = 4, .iw = 4, .k = 3, .stride = 1, .pad = 3},
    {.n = 1, .c = 8, .block = 8, .ih = 5, .iw = 5, .k = 15, .stride = 1, .pad = 7},
    {.n = 1, .c = 8, .block = 8, .ih = 6, .iw = 8, .k = 3, .stride = 2, .pad = 0, .more = 1},
    {.n = 1, .c = 16, .block = 16, .ih = 7, .iw = 6, .k = 3, .stride = 4, .pad = 1},
    {.n = 2,
     .c = 16,
     .block = 16,
     .ih = 1,
     .iw = 40,
     .k = 5,
     .stride = 2,
     .pad = 2,
     .norm = true,
     .act = BL_ACT_HARDSIGMOID},
};

typedef struct dw_data {
    bl_k_dw dw;
    bl_k_shape xs, ys;
    bl_k_norm norm;
    bool has_norm;
    float *x, *w, *bias, *dy;                            /* plain */
    float *x_blocked, *y_blocked, *dy_blocked, *scratch; /* blocked */
    double *u;                                           /* x after the normalisation, plain */
} dw_data;

static void normalise(const dw_data *d, double *u)
{
    size_t pixels = (size_t)(d->xs.h * d->xs.w);
    for (size_t i = 0; i < kt_plain_count(&d->xs); i++) {
        size_t c = i / pixels % (size_t)d->xs.c;
        double value = (double)d->x[i];
        const bl_k_norm *m = &d->norm;
        if (d->has_norm) {
            double xhat = (value - (double)m->mean[c]) / sqrt((double)m->var[c] + (double)m->eps);
            value = bl_act_value(m->act, (double)m->gamma[c] * xhat + (double)m->beta[c]);
        }
        u[i] = value;
    }
}

static dw_data make(const dw_case *k)
{
    dw_data d = {.dw = {.n = k->n,
                        .c = k->c,
                        .block = k->block,
                        .ih = k->ih,
                        .iw = k->iw,
                        .k = k->k,
                        .stride = k->stride,
                        .pad = k->pad}};
    size_t c = (size_t)k->c;
    d.dw.oh = (k->ih + 2 * k->pad - k->k) / k->stride + 1 + k->more;
    d.dw.ow = (k->iw + 2 * k->pad - k->k) / k->stride + 1 + k->more;
    d.xs = (bl_k_shape){k->n, k->c, k->ih, k->iw, k->block};
    d.ys = (bl_k_shape){k->n, k->c, d.dw.oh, d.dw.ow, k->block};
    d.x = kt_random(kt_plain_count(&d.xs), -2, 2, 1);
    d.w = kt_random(c * (size_t)(k->k * k->k), -1, 1, 2);
    d.bias = k->no_bias ? NULL : kt_random(c, -1, 1, 3);
    d.dy = kt_random(kt_plain_count(&d.ys), -1, 1, 4);
    if (k->norm) {
        d.norm = (bl_k_norm){.gamma = kt_random(c, 0.5, 2, 5),
                             .beta = kt_random(c, -1, 1, 6),
                             .mean = kt_random(c, -1, 1, 7),
                             .var = kt_random(c, 0.2, 2, 8),
                             .eps = 1e-3f,
                             .act = k->act};
        d.has_norm = true;
    }
    d.u = kt_doubles(kt_plain_count(&d.xs));
    normalise(&d, d.u);
    d.x_blocked = kt_blocked(&d.xs, d.x);
    d.dy_blocked = kt_blocked(&d.ys, d.dy);
    d.y_blocked = kt_floats(bl_k_count(&d.ys));
    d.scratch = kt_memory(bl_k_dw_scratch_b(&d.dw));
    return d;
}

/* Calls visit for every product of the convolution. */
typedef struct product {
    size_t c, x, w, y; /* plain places */
} product;

typedef void visitor(const dw_data *d, product at, double *out);

static void visit_filter(const dw_data *d, int n, int c, int oh, int ow, visitor *visit, double *out)
{
    const bl_k_dw *g = &d->dw;
    size_t plane = (size_t)n * (size_t)g->c + (size_t)c;
    for (int i = 0; i < g->k; i++)
        for (int j = 0; j < g->k; j++) {
            int ih = oh * g->stride + i - g->pad, iw = ow * g->stride + j - g->pad;
            if (ih < 0 || ih >= g->ih || iw < 0 || iw >= g->iw)
                continue;
            product at = {.c = (size_t)c,
                          .x = (plane * (size_t)g->ih + (size_t)ih) * (size_t)g->iw + (size_t)iw,
                          .w = (size_t)((c * g->k + i) * g->k + j),
                          .y = (plane * (size_t)g->oh + (size_t)oh) * (size_t)g->ow + (size_t)ow};
            visit(d, at, out);
        }
}

static double *visit_all(const dw_data *d, size_t count, visitor *visit)
{
    double *out = kt_doubles(count);
    for (size_t i = 0; i < count; i++)
        out[i] = 0;
    for (int n = 0; n < d->dw.n; n++)
        for (int c = 0; c < d->dw.c; c++)
            for (int oh = 0; oh < d->dw.oh; oh++)
                for (int ow = 0; ow < d->dw.ow; ow++)
                    visit_filter(d, n, c, oh, ow, visit, out);
    return out;
}

static void to_y(const dw_data *d, product at, double *out)
{
    out[at.y] += d->u[at.x] * (double)d->w[at.w];
}

static void to_dx(const dw_data *d, product at, double *out)
{
    out[at.x] += (double)d->dy[at.y] * (double)d->w[at.w];
}

static void to_dw(const dw_data *d, product at, double *out)
{
    out[at.w] += (double)d->dy[at.y] * d->u[at.x];
}

static void check_forward(const void *argument)
{
    dw_data d = make(argument);
    double *y = visit_all(&d, kt_plain_count(&d.ys), to_y);
    size_t pixels = (size_t)(d.ys.h * d.ys.w);
    for (size_t i = 0; d.bias && i < kt_plain_count(&d.ys); i++)
        y[i] += (double)d.bias[i / pixels % (size_t)d.ys.c];
    bl_k_dw_forward(&d.dw, d.has_norm ? &d.norm : NULL, d.x_blocked, d.w, d.bias, d.y_blocked, d.scratch);
    kt_same_blocked("y", &d.ys, d.y_blocked, y, TOLERANCE);
}

static void check_grad_data(const void *argument)
{
    dw_data d = make(argument);
    float *dx = kt_floats(bl_k_count(&d.xs));
    bl_k_dw_grad_data(&d.dw, d.dy_blocked, d.w, dx, d.scratch);
    kt_same_blocked("dx", &d.xs, dx, visit_all(&d, kt_plain_count(&d.xs), to_dx), TOLERANCE);
}

static void check_grad_weights(const void *argument)
{
    dw_data d = make(argument);
    size_t taps = (size_t)(d.dw.c * d.dw.k * d.dw.k), pixels = (size_t)(d.ys.h * d.ys.w);
    float *d_w = kt_floats(taps), *d_bias = d.bias ? kt_floats((size_t)d.dw.c) : NULL;
    bl_k_dw_grad_weights(&d.dw, d.has_norm ? &d.norm : NULL, d.x_blocked, d.dy_blocked, d_w, d_bias, d.scratch);
    kt_same("d_w", taps, d_w, visit_all(&d, taps, to_dw), TOLERANCE);
    double *sums = kt_doubles((size_t)d.dw.c);
    for (size_t c = 0; d_bias && c < (size_t)d.dw.c; c++) {
        sums[c] = 0;
        for (size_t i = 0; i < kt_plain_count(&d.ys); i++)
            sums[c] += i / pixels % (size_t)d.ys.c == c ? (double)d.dy[i] : 0;
    }
    if (d_bias)
        kt_same("d_bias", (size_t)d.dw.c, d_bias, sums, TOLERANCE);
}

/* sum of dy * y, so that dy is the gradient at y. */
static double loss(void *context)
{
    dw_data *d = context;
    bl_k_dw_forward(&d->dw, NULL, d->x_blocked, d->w, d->bias, d->y_blocked, d->scratch);
    return kt_dot(&d->ys, d->y_blocked, d->dy);
}

/* The map is linear, so wide steps are exact and leave rounding small. */
static void check_differences(const void *argument)
{
    dw_data d = make(argument);
    size_t taps = (size_t)(d.dw.c * d.dw.k * d.dw.k);
    float *dx = kt_floats(bl_k_count(&d.xs)), *d_w = kt_floats(taps), *d_bias = kt_floats((size_t)d.dw.c);
    bl_k_dw_grad_data(&d.dw, d.dy_blocked, d.w, dx, d.scratch);
    bl_k_dw_grad_weights(&d.dw, NULL, d.x_blocked, d.dy_blocked, d_w, d_bias, d.scratch);
    kt_differences("dx", &d.xs, d.x_blocked, bl_k_count(&d.xs), dx, 1, 1e-4, loss, &d);
    kt_differences("d_w", NULL, d.w, taps, d_w, 1, 1e-4, loss, &d);
    if (d.bias)
        kt_differences("d_bias", NULL, d.bias, (size_t)d.dw.c, d_bias, 1, 1e-4, loss, &d);
}

static void for_cases(const char *what, void (*check)(const void *argument))
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[96];
        const dw_case *c = &cases[i];
        snprintf(name, sizeof name, "%s of %dx%dx%dx%d in %ds, k %d, stride %d, pad %d", what, c->n, c->c, c->ih, c->iw,
                 c->block, c->k, c->stride, c->pad);
        kt_each(name, check, c);
    }
}

static void test_forward(void **state)
{
    for_cases("forward", check_forward);
}

static void test_grad_data(void **state)
{
    for_cases("data gradient", check_grad_data);
}

static void test_grad_weights(void **state)
{
    for_cases("weights gradient", check_grad_weights);
}

static void test_differences(void **state)
{
    for_cases("differences", check_differences);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_grad_data),
        cmocka_unit_test(test_grad_weights),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
