/* One thread and two sum in other orders: losses and gradients agree within rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "formula.h"

#define LOSS_BOUND     1e-5
#define GRADIENT_BOUND 1e-4 /* of the gradient's norm */
/* Shorter than this share of the one before it, a gradient is rounding: the bias of a normalisation that another one
 * follows changes nothing. It is then held against that one's. */
#define VANISHING 1e-5

/* The sizes and shifts are those of the golden files. */
static const formula_setup models[] = {
    {.model = "resnet18", .size = 64, .shift = 3},
    {.model = "convnext_tiny", .size = 32},
    {.model = "deit_tiny", .size = 48},
    {.model = "yolov7_tiny", .size = 96, .shift = 2.7},
};

static float run(formula_net *net, formula_setup setup, int n_threads)
{
    float loss;
    setup.n_threads = n_threads;
    assert_int_equal(formula_net_init(net, &setup, BL_MODE_TRAIN), BL_OK);
    assert_int_equal(omp_get_max_threads(), n_threads);
    assert_int_equal(bl_exec_run(net->exec, NULL), BL_OK);
    assert_int_equal(bl_exec_read(net->exec, "loss", &loss, 1, NULL), BL_OK);
    return loss;
}

typedef struct worst {
    double error;
    const char *name;
} worst;

static worst compare(formula_net *one, formula_net *two)
{
    worst out = {.name = "none"};
    double before = 0;
    for (int i = 0; i < bl_params_count(one->params); i++) {
        const bl_param *p = bl_params_at(one->params, i);
        const float *a = bl_params_grad(one->params, i), *b = bl_params_grad(two->params, i);
        double squares = 0, apart = 0;
        for (int64_t k = 0; !p->buffer && k < p->count; k++) {
            squares += (double)a[k] * (double)a[k];
            apart += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        }
        if (p->buffer)
            continue;
        double norm = sqrt(squares), scale = norm < VANISHING * before ? before : norm;
        before = norm;
        double error = scale > 0 ? sqrt(apart) / scale : apart;
        if (!(error <= out.error))
            out = (worst){.error = isnan(error) ? INFINITY : error, .name = p->name};
    }
    return out;
}

static void one_thread_and_two_agree(void **unused)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(models); i++) {
        formula_net one, two;
        float loss = run(&one, models[i], 1), other = run(&two, models[i], 2);
        worst w = compare(&one, &two);
        print_message("  %s: losses %.2g apart, gradients %.2g (%s)\n", models[i].model, fabs((double)(loss - other)),
                      w.error, w.name);
        assert_true(loss > 0 && fabs((double)loss - (double)other) <= LOSS_BOUND * (double)loss);
        assert_true(w.error < GRADIENT_BOUND);

        /* The check itself: a gradient that is off by a thousandth is found. */
        int at = bl_params_count(one.params) / 2;
        while (bl_params_at(one.params, at)->buffer || bl_params_at(one.params, at)->shape.n_dims < 2)
            at++;
        for (int64_t k = 0; k < bl_params_at(one.params, at)->count; k++)
            bl_params_grad(two.params, at)[k] *= 1.001f;
        w = compare(&one, &two);
        assert_true(w.error >= GRADIENT_BOUND);
        assert_string_equal(w.name, bl_params_at(one.params, at)->name);
        formula_net_clear(&one);
        formula_net_clear(&two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread_and_two_agree)};
    return cmocka_run_group_tests_name("model/threads", tests, NULL, NULL);
}
