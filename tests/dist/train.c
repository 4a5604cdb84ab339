/* Run by mpirun: several ranks train like one that has the whole batch. Every rank trains a network together with the
 * others and the same network alone, and compares gradients, losses and weights. Prints "ok RANK of RANKS". With the
 * word "slow" it takes large networks too. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "train/trainer.h"

enum { STEPS_MAX = 16 };

static bl_dist *dist;

static void BL_PRINTF(1, 2) fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "rank %d of %d: ", bl_dist_rank(dist), bl_dist_ranks(dist));
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    bl_dist_abort(dist, 4);
    exit(4);
}

typedef struct run {
    bl_train_options options;
    bl_trainer trainer;
    int n_steps, samples[STEPS_MAX];
    double loss[STEPS_MAX];
    bl_evaluation test;
    float *gradient; /* of the first step */
} run;

static float *copy_of(const float *from, int64_t n)
{
    float *copy = bl_calloc((size_t)n, sizeof *copy);
    if (!copy)
        fail("no memory");
    memcpy(copy, from, (size_t)n * sizeof *copy);
    return copy;
}

/* Two epochs and a test; together: as one of the ranks. */
static void train(run *r, const char *model, const char *words, bool together)
{
    bl_error err = {0};
    const char *argv[48] = {"batchlab-train", model, "--threads", "1", "-e", "2", "--augment", "flip"};
    char text[400], *save = NULL;
    int argc = 8;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    *r = (run){0};
    int code = bl_train_options_parse(argc, (char **)argv, &r->options, &err);
    if (code == BL_OK && together)
        code = bl_train_options_share(&r->options, dist, &err);
    bl_trainer *t = &r->trainer;
    if (code == BL_OK)
        code = bl_trainer_init(t, &r->options, &err);
    if (code == BL_OK)
        code = bl_trainer_align(t, &err);
    for (; code == BL_OK && t->epoch < 2; t->epoch++) {
        bl_train_step step;
        t->batch = 0;
        bl_trainer_start_epoch(t);
        while (r->n_steps < STEPS_MAX && bl_trainer_step(t, &step, &err)) {
            r->samples[r->n_steps] = step.n;
            r->loss[r->n_steps++] = step.loss;
            if (!r->gradient)
                r->gradient = copy_of(bl_params_grad_slab(t->params), bl_params_slab_count(t->params));
        }
        code = (int)err.code;
    }
    if (code == BL_OK)
        code = bl_trainer_evaluate(t, NULL, &r->test, &err);
    if (code != BL_OK)
        fail("%s %s: %s", model, words, err.message);
}

static void finish(run *r)
{
    bl_trainer_clear(&r->trainer);
    bl_train_options_clear(&r->options);
    free(r->gradient);
}

/* The length of what the first steps' gradients differ by, against that of the second. */
static double gradient_difference(const run *a, const run *b)
{
    double off = 0, whole = 0;
    for (int64_t i = 0; i < bl_params_slab_count(a->trainer.params); i++) {
        double x = (double)a->gradient[i], y = (double)b->gradient[i];
        off += (x - y) * (x - y);
        whole += y * y;
    }
    return sqrt(off / whole);
}

/* Of the weights, against how far the others came from where they began. */
static double difference(bl_trainer *a, bl_trainer *b)
{
    double worst = 0;
    for (int64_t i = 0; i < bl_params_whole_count(a->params); i++) {
        double x = (double)bl_params_value_slab(a->params)[i], y = (double)bl_params_value_slab(b->params)[i];
        double off = fabs(x - y) / fmax(1, fabs(y));
        worst = isnan(off) ? INFINITY : fmax(worst, off);
    }
    return worst;
}

typedef struct test_case {
    const char *model, *words;
    double gradient_tolerance; /* relative, of the first step */
    double loss_tolerance;     /* relative: batch normalisation makes differences grow with every step */
    double tolerance;          /* of weights and running statistics */
    bool differs;              /* beyond the tolerance: it shows that the comparison sees such things */
} test_case;

static void compare(const test_case *test)
{
    static run all, alone;
    double worst_loss = 0;
    train(&alone, test->model, test->words, false);
    train(&all, test->model, test->words, true);
    if (all.n_steps != alone.n_steps || all.n_steps < 2)
        fail("%s %s: %d steps, not %d", test->model, test->words, all.n_steps, alone.n_steps);
    for (int i = 0; i < all.n_steps; i++) {
        if (all.samples[i] != alone.samples[i])
            fail("%s %s: step %d of %d samples, not %d", test->model, test->words, i, all.samples[i], alone.samples[i]);
        double off = fabs(all.loss[i] / alone.loss[i] - 1);
        worst_loss = isnan(off) ? INFINITY : fmax(worst_loss, off);
    }
    double weights = difference(&all.trainer, &alone.trainer), gradient = gradient_difference(&all, &alone);
    bool same =
        gradient <= test->gradient_tolerance && worst_loss <= test->loss_tolerance && weights <= test->tolerance;
    if (same == test->differs)
        fail("%s %s: the first gradient differs by %g, losses by %g, weights by %g", test->model, test->words, gradient,
             worst_loss, weights);
    if (!test->differs && (all.test.n != alone.test.n || fabs(all.test.loss / alone.test.loss - 1) > 1e-3 ||
                           (test->tolerance <= 1e-5 && all.test.top1 != alone.test.top1)))
        fail("%s %s: test of %lld: loss %g, top-1 %g; not of %lld: %g, %g", test->model, test->words,
             (long long)all.test.n, all.test.loss, all.test.top1, (long long)alone.test.n, alone.test.loss,
             alone.test.top1);
    if (bl_dist_rank(dist) == 0)
        printf("%s %s: first gradient within %.1e, losses %.1e, weights %.1e\n", test->model, test->words, gradient,
               worst_loss, weights);
    finish(&all);
    finish(&alone);
}

/* All ranks have the same weights, to the bit. */
static void check_equal(const char *model, const char *words)
{
    static run all;
    bl_error err = {0};
    train(&all, model, words, true);
    bl_params *params = all.trainer.params;
    int64_t n = bl_params_slab_count(params);
    float *first = bl_calloc((size_t)n, sizeof *first);
    if (!first)
        fail("no memory");
    memcpy(first, bl_params_value_slab(params), (size_t)n * sizeof *first);
    if (bl_dist_broadcast(dist, first, n, &err) != BL_OK)
        fail("%s", err.message);
    if (memcmp(first, bl_params_value_slab(params), (size_t)n * sizeof *first) != 0)
        fail("%s %s: the weights are not rank 0's", model, words);
    free(first);
    finish(&all);
}

int main(int argc, char **argv)
{
    static const test_case tests[] = {
        /* Depth drops samples, by their place in the whole batch; layer normalisation knows no batch. */
        {"convnext_tiny",
         "--image-size 32 --global-batch-size 8 --train-samples 16 --test-samples 12 --optimizer sgd --lr 0.05", 1e-5,
         1e-5, 1e-5, false},
        /* A sum before a ReLU that is 0 but for rounding may have another sign, and its slope then differs. */
        {"resnet18",
         "--image-size 96 --global-batch-size 8 --train-samples 16 --test-samples 12 --sync-batch-norm --lr 0.0005",
         3e-2, 2e-3, 2e-2, false},
        {"resnet18", "--image-size 96 --global-batch-size 8 --train-samples 16 --test-samples 12 --lr 0.0005", 3e-2,
         2e-3, 2e-2, true},
        /* Shares of 3 and 2, or 2, 1, 1, 1; at an epoch's end one more image than ranks or less. */
        {"tiny_cnn", "--global-batch-size 5 --train-samples 13 --test-samples 7 --sync-batch-norm --no-drop-last", 1e-5,
         1e-4, 1e-3, false},
        {"tiny_cnn",
         "--global-batch-size 8 --train-samples 32 --test-samples 9 --sync-batch-norm --accumulate 2 "
         "--clip-norm 0.5 --optimizer adamw --ema 0.9 --lr 0.001",
         1e-5, 1e-4, 1e-3, false},
        {"tiny_cnn", "--global-batch-size 8 --train-samples 32 --test-samples 9", 1e-2, 1e-4, 1e-3, true},
        {"deit_tiny", "--image-size 32 --global-batch-size 6 --train-samples 13 --test-samples 8 --lr 0.01", 1e-5, 1e-5,
         1e-5, false},
    };
    bl_error err = {0};
    if (bl_dist_open(&dist, &err) != BL_OK) {
        fprintf(stderr, "%s\n", err.message);
        return bl_error_exit_status(err.code);
    }
    bool slow = argc > 1 && strcmp(argv[1], "slow") == 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(tests); i++)
        if (slow || (strcmp(tests[i].model, "resnet18") != 0 &&
                     (bl_dist_ranks(dist) == 2 || strcmp(tests[i].model, "convnext_tiny") != 0)))
            compare(&tests[i]);
    check_equal("yolov7_tiny", "--image-size 64 -b 2 --train-samples 16 --test-samples 3 --augment mosaic");
    check_equal("tiny_cnn", "-b 4 --train-samples 64 --mixup 0.3 --cutmix 1");
    printf("ok %d of %d\n", bl_dist_rank(dist), bl_dist_ranks(dist));
    bl_dist_close(dist);
    return 0;
}
