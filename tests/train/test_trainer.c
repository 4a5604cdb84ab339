/* The trainer against itself: several batches a step against one large batch, averaged weights against an evaluation by
 * hand. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/attributes.h"
#include "train/trainer.h"

/* Neither batch statistics nor chance in it: how samples are shared out among batches must not matter. */
static bl_value build(bl_graph *graph, bl_value x, int n_classes)
{
    x = bl_build_conv2d(graph, "conv1", x,
                        (bl_conv2d_args){.out_channels = 12, .kernel = 3, .stride = 2, .pad = 1, .bias = true});
    x = bl_build_layer_norm(graph, "norm1", x, 1e-6f);
    x = bl_build_activation(graph, x, BL_ACT_GELU);
    x = bl_build_conv2d(graph, "conv2", x, (bl_conv2d_args){.out_channels = 20, .kernel = 3, .stride = 2, .pad = 1});
    x = bl_build_flatten(graph, bl_build_global_avg_pool(graph, bl_build_activation(graph, x, BL_ACT_SILU)));
    return bl_build_linear(graph, "head", x, (bl_linear_args){.outputs = n_classes, .bias = true});
}

static const bl_model plain_model = {
    .name = "plain", .summary = "without batch statistics", .image_size = 16, .min_image_size = 8, .build = build};

typedef struct run {
    bl_train_options options;
    bl_trainer trainer;
} run;

/* words: further options, by blanks. */
static void start(run *r, const bl_model *model, const char *words)
{
    bl_error err = {0};
    const char *argv[48] = {"batchlab-train", "tiny_cnn", "--image-size", "16"};
    char text[512], *save = NULL;
    int argc = 4;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    if (bl_train_options_parse(argc, (char **)argv, &r->options, &err) != BL_OK)
        fail_msg("%s: %s", words, err.message);
    if (model)
        r->options.model = model;
    if (bl_trainer_init(&r->trainer, &r->options, &err) != BL_OK)
        fail_msg("%s: %s", words, err.message);
}

static void finish(run *r)
{
    bl_trainer_clear(&r->trainer);
    bl_train_options_clear(&r->options);
}

/* The epoch's steps; returns how many, with their samples and losses. */
static int train_epoch(run *r, int64_t epoch, int *samples, double *losses)
{
    bl_error err = {0};
    bl_train_step step;
    int n = 0;
    r->trainer.epoch = epoch;
    r->trainer.batch = 0;
    bl_trainer_start_epoch(&r->trainer);
    while (bl_trainer_step(&r->trainer, &step, &err)) {
        samples[n] = step.n;
        losses[n++] = step.loss;
    }
    assert_int_equal(err.code, BL_OK);
    return n;
}

static double worst_difference(bl_trainer *a, bl_trainer *b)
{
    double worst = 0;
    for (int64_t i = 0; i < bl_params_slab_count(a->params); i++) {
        double difference =
            fabs((double)bl_params_value_slab(a->params)[i] - (double)bl_params_value_slab(b->params)[i]);
        worst = isnan(difference) ? INFINITY : fmax(worst, difference);
    }
    return worst;
}

/* 40 samples in two epochs: once as batches of 16, once as twice 8. */
static void compare_batches(const char *more, int n_steps, const int *samples)
{
    char words[2][400];
    run one, two;
    snprintf(words[0], sizeof words[0], "--train-samples 40 -e 2 -b 16 %s", more);
    snprintf(words[1], sizeof words[1], "--train-samples 40 -e 2 -b 8 --accumulate 2 %s", more);
    start(&one, &plain_model, words[0]);
    start(&two, &plain_model, words[1]);
    assert_int_equal(one.trainer.total_steps, 2 * n_steps);
    assert_int_equal(two.trainer.total_steps, 2 * n_steps);
    for (int epoch = 0; epoch < 2; epoch++) {
        int n[2][8];
        double loss[2][8];
        assert_int_equal(train_epoch(&one, epoch, n[0], loss[0]), n_steps);
        assert_int_equal(train_epoch(&two, epoch, n[1], loss[1]), n_steps);
        for (int i = 0; i < n_steps; i++) {
            assert_int_equal(n[0][i], samples[i]);
            assert_int_equal(n[1][i], samples[i]);
            if (!(fabs(loss[0][i] - loss[1][i]) < 1e-5))
                fail_msg("%s: step %d: loss %.8f, not %.8f", more, i, loss[1][i], loss[0][i]);
        }
    }
    double difference = worst_difference(&one.trainer, &two.trainer);
    if (!(difference < 2e-6))
        fail_msg("%s: a parameter is off by %g", more, difference);
    finish(&one);
    finish(&two);
}

static void two_batches_make_one_step(void **unused)
{
    compare_batches("", 2, (const int[]){16, 16});
    compare_batches("--no-drop-last", 3, (const int[]){16, 16, 8});
    compare_batches("--clip-norm 0.1 --lr-base-batch 8 --weight-decay 0.01 --nesterov", 2, (const int[]){16, 16});
    compare_batches("--no-drop-last --optimizer adamw --ema 0.9 --warmup-epochs 1 --schedule cosine --min-lr 1e-5", 3,
                    (const int[]){16, 16, 8});
}

/* With the batch's statistics in it the same comparison must fail, or it would show nothing. */
static void batch_statistics_are_told_apart(void **unused)
{
    run one, two;
    int n[8];
    double loss[8];
    start(&one, NULL, "--train-samples 40 -e 1 -b 16");
    start(&two, NULL, "--train-samples 40 -e 1 -b 8 --accumulate 2");
    train_epoch(&one, 0, n, loss);
    train_epoch(&two, 0, n, loss);
    assert_true(worst_difference(&one.trainer, &two.trainer) > 1e-4);
    finish(&one);
    finish(&two);
}

static void the_average_is_what_is_tested(void **unused)
{
    bl_error err = {0};
    run r;
    int n[16];
    double loss[16];
    bl_evaluation averaged, again, last;
    start(&r, NULL, "--train-samples 64 --test-samples 32 -b 8 --ema 0.8 --ema-ramp 3");
    bl_trainer *t = &r.trainer;
    train_epoch(&r, 0, n, loss);
    size_t bytes = (size_t)bl_params_whole_count(t->params) * sizeof(float);
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, bl_params_value_slab(t->params), bytes);
    assert_int_equal(bl_trainer_evaluate(t, NULL, &averaged, &err), BL_OK);
    assert_memory_equal(bl_params_value_slab(t->params), before, bytes); /* training goes on with its own */

    bl_ema *ema = t->ema;
    t->ema = NULL;
    assert_int_equal(bl_trainer_evaluate(t, NULL, &last, &err), BL_OK);
    for (int i = 0; i < bl_params_count(t->params); i++)
        memcpy(bl_params_value(t->params, i), bl_ema_value(ema, i),
               (size_t)bl_params_at(t->params, i)->count * sizeof(float));
    bl_params_touch(t->params);
    assert_int_equal(bl_trainer_evaluate(t, NULL, &again, &err), BL_OK);
    assert_true(again.loss == averaged.loss && again.top1 == averaged.top1);
    assert_true(last.loss != averaged.loss);

    volatile int stop = 1;
    t->ema = ema;
    memcpy(bl_params_value_slab(t->params), before, bytes);
    bl_params_touch(t->params);
    assert_int_equal(bl_trainer_evaluate(t, &stop, &again, &err), BL_ERR_INTERRUPTED);
    assert_memory_equal(bl_params_value_slab(t->params), before, bytes);
    free(before);
    finish(&r);
}

static void rates_follow_the_options(void **unused)
{
    run r;
    start(&r, NULL,
          "--train-samples 64 -b 4 --accumulate 2 --lr 0.1 --lr-base-batch 32 --schedule step --lr-milestones 2,3 "
          "--warmup-epochs 1 --warmup-factor 0.5 -e 4");
    const bl_schedule *s = &r.trainer.schedule;
    double rates[] = {bl_schedule_rate(s, 0), bl_schedule_rate(s, 7), bl_schedule_rate(s, 15), bl_schedule_rate(s, 16),
                      bl_schedule_rate(s, 24)};
    const double want[] = {0.025 * (0.5 + 0.5 / 8), 0.025, 0.025, 0.0025, 0.00025};
    for (size_t i = 0; i < BL_ARRAY_LEN(want); i++)
        assert_true(fabs(rates[i] / want[i] - 1) < 1e-12);
    finish(&r);
    start(&r, NULL, "--train-samples 64 -b 16 --lr 0.1 --lr-base-batch 4 --lr-scaling sqrt");
    assert_true(fabs(r.trainer.schedule.peak - 0.2) < 1e-12);
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_batches_make_one_step),
        cmocka_unit_test(batch_statistics_are_told_apart),
        cmocka_unit_test(the_average_is_what_is_tested),
        cmocka_unit_test(rates_follow_the_options),
    };
    return cmocka_run_group_tests_name("train/trainer", tests, NULL, NULL);
}
