/* A model against what PyTorch computed in double precision (tools/make_golden.py). usage: test_golden MODEL
 * CLASSES=PARAMETERS ..., the number of its parameters at so many classes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "model/model.h"
#include "optim/optim.h"

#define GRADIENT_BOUND 1e-4 /* of the gradient's norm */

enum { NUMBERS_MAX = 256, LINE_MAX_B = 65536 };

typedef struct row {
    char key[32], name[96];
    double numbers[NUMBERS_MAX];
    int n;
} row;

static FILE *golden;
static const char *model;
static char **counts; /* "CLASSES=PARAMETERS", NULL ends it */

/* The next line of this key; false at the file's end. */
static bool next_row(const char *key, row *out)
{
    static char line[LINE_MAX_B];
    while (fgets(line, sizeof line, golden)) {
        char *rest = line + strcspn(line, " ");
        snprintf(out->key, sizeof out->key, "%.*s", (int)(rest - line), line);
        if (strcmp(out->key, key) != 0)
            continue;
        out->name[0] = '\0';
        if (strcmp(key, "grad") == 0 || strcmp(key, "buffer") == 0) {
            size_t n = strcspn(rest + 1, " ");
            snprintf(out->name, sizeof out->name, "%.*s", (int)n, rest + 1);
            rest += 1 + n;
        }
        char *end;
        for (out->n = 0; out->n < NUMBERS_MAX; out->n++) {
            out->numbers[out->n] = strtod(rest, &end);
            if (end == rest)
                break;
            rest = end;
        }
        return true;
    }
    return false;
}

static row only_row(const char *key)
{
    row r;
    rewind(golden);
    if (!next_row(key, &r))
        fail_msg("the golden file has no %s", key);
    return r;
}

/* Largest difference over the largest magnitude. */
static double relative_error(const float *got, const double *wanted, int n)
{
    double worst = 0, scale = 0;
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)got[i] - wanted[i]));
        scale = fmax(scale, fabs(wanted[i]));
    }
    return worst / scale;
}

static void net_init(formula_net *net, bl_mode mode)
{
    row r = only_row("setup");
    assert_int_equal(r.numbers[0], FORMULA_BATCH);
    assert_int_equal(r.numbers[2], FORMULA_CLASSES);
    formula_setup setup = {.model = model, .size = (int)r.numbers[1], .shift = r.numbers[6]};
    assert_int_equal(formula_net_init(net, &setup, mode), BL_OK);
}

static void check_logits(bl_mode mode, const char *key)
{
    formula_net net;
    float logits[FORMULA_BATCH * FORMULA_CLASSES];
    net_init(&net, mode);
    assert_int_equal(bl_exec_run(net.exec, NULL), BL_OK);
    assert_int_equal(bl_exec_read(net.exec, "logits", logits, FORMULA_BATCH * FORMULA_CLASSES, NULL), BL_OK);
    row r = only_row(key);
    assert_int_equal(r.n, FORMULA_BATCH * FORMULA_CLASSES);
    double error = relative_error(logits, r.numbers, r.n);
    print_message("  %s: %.2g\n", key, error);
    assert_true(error < 1e-4);
    formula_net_clear(&net);
}

static void logits_agree_in_both_modes(void **state)
{
    check_logits(BL_MODE_EVAL, "eval_logits");
    check_logits(BL_MODE_TRAIN, "train_logits");
}

typedef struct gradient_check {
    int n;
    double worst;
    char worst_name[96];
} gradient_check;

/* The bias of a normalisation whose result goes through a 1x1 convolution straight into another one changes nothing:
 * its gradient is zero, and what both sides compute is rounding. It is held against the gradient of the scale beside
 * it, the line before. */
#define VANISHING 1e-9

/* By norm, by projection and by two elements, each against the norm. */
static gradient_check compare_gradients(formula_net *net)
{
    gradient_check check = {0};
    double norm_before = 0;
    row r;
    rewind(golden);
    while (next_row("grad", &r)) {
        int at = bl_params_find(net->params, r.name);
        if (at < 0)
            fail_msg("there is no parameter %s", r.name);
        const float *g = bl_params_grad(net->params, at);
        int64_t count = bl_params_at(net->params, at)->count;
        double squares = 0, projection = 0;
        for (int64_t i = 0; i < count; i++) {
            squares += (double)g[i] * (double)g[i];
            projection += (double)g[i] * formula_uniform((2u << 20) + (uint64_t)check.n, (uint64_t)i);
        }
        double norm = r.numbers[0];
        if (norm < VANISHING * norm_before)
            norm = norm_before;
        norm_before = r.numbers[0];
        double error = fabs(sqrt(squares) - r.numbers[0]) / norm;
        error = fmax(error, fabs(projection - r.numbers[1]) / norm);
        error = fmax(error, fabs((double)g[0] - r.numbers[2]) / norm);
        error = fmax(error, fabs((double)g[count - 1] - r.numbers[3]) / norm);
        if (error > check.worst) {
            check.worst = error;
            snprintf(check.worst_name, sizeof check.worst_name, "%s", r.name);
        }
        check.n++;
    }
    return check;
}

static int learnt_entries(const bl_params *params)
{
    int n = 0;
    for (int i = 0; i < bl_params_count(params); i++)
        n += !bl_params_at(params, i)->buffer;
    return n;
}

/* A filter or matrix in the middle of the network. */
static int middle_filter(const bl_params *params)
{
    int at = bl_params_count(params) / 2;
    while (bl_params_at(params, at)->buffer || bl_params_at(params, at)->shape.n_dims < 2)
        at++;
    return at;
}

static void every_gradient_agrees(void **state)
{
    formula_net net;
    net_init(&net, BL_MODE_TRAIN);
    assert_int_equal(bl_exec_run(net.exec, NULL), BL_OK);
    gradient_check check = compare_gradients(&net);
    print_message("  %d gradients, the worst %.2g (%s)\n", check.n, check.worst, check.worst_name);
    assert_int_equal(check.n, learnt_entries(net.params));
    assert_true(check.worst < GRADIENT_BOUND);

    /* The check itself: one gradient, wrong by a thousandth in one of its thousands of elements' average, is caught. */
    int at = middle_filter(net.params);
    float *g = bl_params_grad(net.params, at);
    for (int64_t i = 0; i < bl_params_at(net.params, at)->count; i++)
        g[i] *= 1.001f;
    check = compare_gradients(&net);
    assert_true(check.worst >= GRADIENT_BOUND);
    assert_string_equal(check.worst_name, bl_params_at(net.params, at)->name);
    formula_net_clear(&net);
}

static void running_statistics_agree(void **state)
{
    formula_net net;
    row r;
    int n = 0;
    net_init(&net, BL_MODE_TRAIN);
    assert_int_equal(bl_exec_run(net.exec, NULL), BL_OK);
    rewind(golden);
    while (next_row("buffer", &r)) {
        int at = bl_params_find(net.params, r.name);
        assert_true(at >= 0);
        const float *b = bl_params_value(net.params, at);
        double squares = 0;
        for (int64_t i = 0; i < bl_params_at(net.params, at)->count; i++)
            squares += (double)b[i] * (double)b[i];
        if (fabs(sqrt(squares) - r.numbers[0]) > 1e-5 * r.numbers[0] || fabs((double)b[0] - r.numbers[1]) > 1e-5)
            fail_msg("%s: norm %g, not %g; first %g, not %g", r.name, sqrt(squares), r.numbers[0], (double)b[0],
                     r.numbers[1]);
        n++;
    }
    assert_int_equal(n, bl_params_count(net.params) - learnt_entries(net.params));
    formula_net_clear(&net);
}

static void ten_losses_agree(void **state)
{
    formula_net net;
    bl_optim *optim;
    row r = only_row("setup");
    double rate = r.numbers[4], momentum = r.numbers[5];
    net_init(&net, BL_MODE_TRAIN);
    assert_int_equal(bl_optim_new(net.params, &(bl_optim_options){.momentum = momentum}, &optim, NULL), BL_OK);
    r = only_row("losses");
    assert_int_equal(r.n, 10);
    for (int i = 0; i < r.n; i++) {
        float loss;
        assert_int_equal(bl_exec_run(net.exec, NULL), BL_OK);
        assert_int_equal(bl_exec_read(net.exec, "loss", &loss, 1, NULL), BL_OK);
        bl_optim_rates rates = bl_optim_rates_of(rate);
        bl_optim_step(optim, &rates);
        print_message("  step %d: %.7f, PyTorch %.7f\n", i, (double)loss, r.numbers[i]);
        assert_true(fabs((double)loss - r.numbers[i]) < 5e-4 * r.numbers[i]);
    }
    bl_optim_free(optim);
    formula_net_clear(&net);
}

static int64_t parameters_at(int n_classes)
{
    bl_params *params;
    bl_graph *graph;
    bl_detector_heads heads;
    const bl_model *found = bl_model_find(model);
    assert_int_equal(bl_params_new(&params, NULL), BL_OK);
    assert_int_equal(bl_graph_new(params, BL_MODE_TRAIN, &graph, NULL), BL_OK);
    bl_value x = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(1, 3, found->image_size, found->image_size));
    if (found->task == BL_TASK_DETECT)
        found->build_detector(graph, x, n_classes, &heads);
    else
        found->build(graph, x, n_classes);
    assert_int_equal(bl_graph_finish(graph, NULL), BL_OK);
    int64_t n = bl_params_learnt(params);
    bl_graph_free(graph);
    bl_params_free(params);
    return n;
}

static void parameters_are_those_of_the_paper(void **state)
{
    for (char **count = counts; *count; count++) {
        char *rest;
        int n_classes = (int)strtoll(*count, &rest, 10);
        assert_int_equal(*rest, '=');
        assert_int_equal(parameters_at(n_classes), strtoll(rest + 1, NULL, 10));
    }
}

static int open_golden(void **state)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s.txt", getenv("BATCHLAB_SOURCE_ROOT"), model);
    golden = fopen(path, "r");
    return golden ? 0 : -1;
}

static int close_golden(void **state)
{
    return fclose(golden);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    model = argv[1];
    counts = argv + 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_paper),
        cmocka_unit_test(logits_agree_in_both_modes),
        cmocka_unit_test(every_gradient_agrees),
        cmocka_unit_test(running_statistics_agree),
        cmocka_unit_test(ten_losses_agree),
    };
    return cmocka_run_group_tests_name(model, tests, open_golden, close_golden);
}
