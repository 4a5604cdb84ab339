/* Norms of gradients by one way against another, and that measuring leaves no trace. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "train/noise.h"

/* No batch statistics: how samples are shared out among micro-batches must not matter to their mean. */
static bl_value build(bl_graph *graph, bl_value x, int n_classes)
{
    x = bl_build_conv2d(graph, "conv1", x,
                        (bl_conv2d_args){.out_channels = 8, .kernel = 3, .stride = 2, .pad = 1, .bias = true});
    x = bl_build_flatten(graph, bl_build_global_avg_pool(graph, bl_build_activation(graph, x, BL_ACT_SILU)));
    return bl_build_linear(graph, "head", x, (bl_linear_args){.outputs = n_classes, .bias = true});
}

static const bl_model convolution = {.name = "convolution",
                                     .summary = "without batch statistics",
                                     .image_size = 16,
                                     .min_image_size = 8,
                                     .build = build};

typedef struct run {
    bl_train_options options;
    bl_trainer trainer;
} run;

static void start(run *r, const bl_model *model, const char *words)
{
    bl_error err = {0};
    const char *argv[48] = {"batchlab-train"};
    char text[512], *save = NULL;
    int argc = 1;
    snprintf(text, sizeof text, "%s --image-size 16 --train-samples 100 --noise-scale-every 1 --threads 1", words);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    if (bl_train_options_parse(argc, (char **)argv, &r->options, &err) != BL_OK)
        fail_msg("%s: %s", words, err.message);
    if (model)
        r->options.model = model;
    if (bl_trainer_init(&r->trainer, &r->options, &err) != BL_OK)
        fail_msg("%s: %s", words, err.message);
    bl_trainer_start_epoch(&r->trainer);
}

static void finish(run *r)
{
    bl_trainer_clear(&r->trainer);
    bl_train_options_clear(&r->options);
}

static void step(run *r, int n)
{
    bl_error err = {0};
    bl_train_step out;
    while (n-- > 0)
        if (!bl_trainer_step(&r->trainer, &out, &err))
            fail_msg("no step: %s", err.message);
}

static void measure(const bl_model *model, const char *words, int steps, bl_noise_report *out)
{
    run r;
    bl_error err = {0};
    start(&r, model, words);
    step(&r, steps);
    if (bl_noise_measure(&r.trainer, NULL, out, &err) != BL_OK)
        fail_msg("%s: %s", words, err.message);
    finish(&r);
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-4 * want))
        fail_msg("%.9g is not %.9g", got, want);
}

/* Micro-batches of one sample have the samples' norms by themselves. */
static void norms_of_samples_are_those_of_samples_alone(void **state)
{
    bl_noise_report exact, alone;
    for (int steps = 0; steps < 3; steps += 2) {
        measure(NULL, "mlp -b 8 --noise-samples 64 --noise-batch 4", steps, &exact);
        measure(NULL, "mlp -b 8 --noise-samples 64 --noise-batch 1", steps, &alone);
        assert_true(exact.per_sample && !alone.per_sample && !exact.has_scaled && !exact.batch_norms);
        for (int r = 0; r < BL_NOISE_ROUNDS; r++) {
            assert_true(exact.plain[r].small_n == 1 && alone.plain[r].small_n == 1);
            assert_true(exact.plain[r].big_n == 8 && alone.plain[r].big_n == 8);
            assert_close(exact.plain[r].small_sq, alone.plain[r].small_sq);
            assert_close(exact.plain[r].big_sq, alone.plain[r].big_sq);
            assert_true(alone.plain[r].small_sq > 1.2 * alone.plain[r].big_sq);
        }
    }
}

/* The big gradient is that of all its samples, however they come; small ones of fewer samples are longer. */
static void the_big_gradient_does_not_depend_on_the_micro_batch(void **state)
{
    static const char *const words[] = {"tiny_cnn -b 8 --noise-samples 64 --noise-batch 1",
                                        "tiny_cnn -b 8 --noise-samples 64 --noise-batch 2",
                                        "tiny_cnn -b 8 --noise-samples 64 --noise-batch 4"};
    bl_noise_report reports[3];
    for (int i = 0; i < 3; i++) {
        measure(&convolution, words[i], 1, &reports[i]);
        assert_false(reports[i].per_sample || reports[i].batch_norms);
        for (int r = 0; r < BL_NOISE_ROUNDS; r++) {
            assert_close(reports[i].plain[r].big_sq, reports[0].plain[r].big_sq);
            if (i > 0)
                assert_true(reports[i].plain[r].small_sq < reports[i - 1].plain[r].small_sq);
        }
    }
}

/* With eps far above sqrt(v) Adam's scaling is 1 / eps for all, and the ratios are those of plain norms. */
static void adam_has_both_forms(void **state)
{
    bl_noise_report report;
    measure(&convolution, "tiny_cnn -b 8 --optimizer adam --noise-samples 64 --noise-batch 2", 0, &report);
    assert_false(report.has_scaled);
    measure(&convolution, "tiny_cnn -b 8 --optimizer adam --noise-samples 64 --noise-batch 2", 2, &report);
    assert_true(report.has_scaled);
    for (int r = 0; r < BL_NOISE_ROUNDS; r++) {
        assert_true(report.scaled[r].small_n == 2 && report.scaled[r].big_n == 8);
        assert_true(report.scaled[r].big_sq > 0 && report.scaled[r].small_sq > report.scaled[r].big_sq);
    }
    run runner;
    start(&runner, &convolution, "tiny_cnn -b 8 --optimizer adam --noise-samples 64 --noise-batch 2");
    step(&runner, 2);
    runner.options.optim.eps = 1e6;
    bl_optim *optim = NULL, *own = runner.trainer.optim;
    assert_int_equal(bl_optim_new(runner.trainer.params, &runner.options.optim, &optim, NULL), BL_OK);
    bl_optim_set_steps(optim, 1);
    runner.trainer.optim = optim;
    assert_int_equal(bl_noise_measure(&runner.trainer, NULL, &report, NULL), BL_OK);
    for (int r = 0; r < BL_NOISE_ROUNDS; r++) {
        assert_close(report.scaled[r].small_sq, 1e-6 * report.plain[r].small_sq);
        assert_close(report.scaled[r].big_sq, 1e-6 * report.plain[r].big_sq);
    }
    runner.trainer.optim = own;
    bl_optim_free(optim);
    finish(&runner);
}

/* A network with batch normalisation and dropout's step counter: all bits are as without a measurement. */
static void training_goes_on_as_if_nothing_had_been(void **state)
{
    run with, without;
    bl_noise_report report, again;
    start(&with, NULL, "tiny_cnn -b 8 --noise-samples 64 --noise-batch 2 --workers 1");
    start(&without, NULL, "tiny_cnn -b 8 --workers 1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bl_noise_measure(&with.trainer, NULL, &report, NULL), BL_OK);
        assert_int_equal(bl_noise_measure(&with.trainer, NULL, &again, NULL), BL_OK);
        assert_memory_equal(&report.plain, &again.plain, sizeof report.plain);
        assert_true(report.batch_norms);
        step(&with, 2);
        step(&without, 2);
    }
    size_t bytes = (size_t)bl_params_whole_count(with.trainer.params) * sizeof(float);
    assert_memory_equal(bl_params_value_slab(with.trainer.params), bl_params_value_slab(without.trainer.params), bytes);
    volatile int stop = 1;
    assert_int_equal(bl_noise_measure(&with.trainer, &stop, &report, NULL), BL_ERR_INTERRUPTED);
    assert_memory_equal(bl_params_value_slab(with.trainer.params), bl_params_value_slab(without.trainer.params), bytes);
    with.options.noise_batch = 1;
    bl_error err = {0};
    assert_int_equal(bl_noise_measure(&with.trainer, NULL, &report, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "normalises over batches"));
    finish(&with);
    finish(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_samples_are_those_of_samples_alone),
        cmocka_unit_test(the_big_gradient_does_not_depend_on_the_micro_batch),
        cmocka_unit_test(adam_has_both_forms),
        cmocka_unit_test(training_goes_on_as_if_nothing_had_been),
    };
    return cmocka_run_group_tests_name("train/noise", tests, NULL, NULL);
}
