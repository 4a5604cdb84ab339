/* After the first step, training allocates nothing: what a step takes is then what was planned. oneDNN makes small
 * objects for each call of a primitive, and packs pieces of matrices for a product, which no option avoids; but no
 * library may take memory for whole tensors, or keep any. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "counting_alloc.h"
#include "train/trainer.h"

enum { STEPS = 4, PACKING_B = 1 << 20 };

static void check(const char *model, const char *size, const char *const *more)
{
    const char *argv[40] = {"batchlab-train", model, "-b", "4", "--train-samples", "256", "--image-size", size};
    int argc = 8;
    for (; *more; more++)
        argv[argc++] = *more;
    bl_error err = {0};
    bl_train_options options;
    bl_trainer trainer;
    bl_train_step step;
    if (bl_train_options_parse(argc, (char **)argv, &options, &err) != BL_OK ||
        bl_trainer_init(&trainer, &options, &err) != BL_OK)
        fail_msg("%s: %s", model, err.message);
    bl_trainer_start_epoch(&trainer);
    assert_true(bl_trainer_step(&trainer, &step, &err));
    counting_alloc_start();
    for (int i = 1; i < STEPS; i++)
        assert_true(bl_trainer_step(&trainer, &step, &err));
    counted_allocs counted = counting_alloc_stop();
    if (counted.own != 0 || counted.largest > PACKING_B || counted.held_b != 0)
        fail_msg("%s: in %d steps %ld allocations of our own, %ld in all, the largest of %zu bytes, %ld bytes kept",
                 model, STEPS - 1, counted.own, counted.calls, counted.largest, counted.held_b);
    bl_trainer_clear(&trainer);
    bl_train_options_clear(&options);
}

static void what_is_allocated_is_counted(void **unused)
{
    char *volatile blocks[4];
    counting_alloc_start();
    blocks[0] = malloc(100);
    blocks[1] = calloc(3, 200);
    blocks[2] = aligned_alloc(64, 64);
    blocks[3] = strdup("a library's");
    counted_allocs counted = counting_alloc_stop();
    assert_int_equal(counted.calls, 4);
    assert_int_equal(counted.own, 3);
    assert_int_equal(counted.largest, 600);
    assert_true(counted.held_b >= 100 + 600 + 64 + 12 && counted.held_b < 1000);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
}

static void steps_allocate_nothing(void **unused)
{
    static const char *const plain[] = {NULL};
    static const char *const all[] = {
        "--accumulate",      "2",   "--clip-norm", "1",     "--ema",          "0.99", "--mixup",    "0.2",
        "--cutmix",          "1",   "--optimizer", "adamw", "--weight-decay", "0.05", "--schedule", "cosine",
        "--label-smoothing", "0.1", NULL};
    static const char *const again[] = {"--recompute", "all", "--workers", "0", NULL};
    check("tiny_cnn", "32", plain);
    check("tiny_cnn", "32", all);
    check("tiny_cnn", "32", again);
    check("mobilenet_v3_small", "64", plain);
    check("mobilenet_v3_small", "64", all);
    check("resnet18", "96", plain);
    check("deit_tiny", "64", all);
    check("convnext_tiny", "32", all);
    check("yolov7_tiny", "96", plain);
}

int main(void)
{
    if (!counting_alloc_works()) {
        printf("allocations cannot be counted in this build\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allocated_is_counted),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return cmocka_run_group_tests_name("train/allocations", tests, NULL, NULL);
}
