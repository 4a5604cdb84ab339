/* Batches of images with boxes. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "pictures.h"

enum { SIZE = 32 };

static bl_dataset *synthetic(int64_t n_train)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    assert_int_equal(bl_synthetic_boxes_open(5, n_train, 3, 7, &dataset, &err), BL_OK);
    return dataset;
}

static bl_loader *loader_of(const bl_dataset *dataset, bl_loader_options options)
{
    bl_error err = {0};
    bl_loader *loader = NULL;
    if (bl_loader_new(dataset, &options, &loader, &err) != BL_OK)
        fail_msg("%s", err.message);
    return loader;
}

static uint64_t hash_of_epochs(const bl_dataset *dataset, bl_loader_options options)
{
    bl_loader *loader = loader_of(dataset, options);
    uint64_t hash = 14695981039346656037u;
    size_t n = (size_t)options.batch;
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        bl_batch batch;
        bl_loader_start_epoch(loader, epoch);
        while (bl_loader_next(loader, &batch, NULL)) {
            hash = hash_bytes(hash, batch.images, n * 3 * SIZE * SIZE * sizeof(float));
            hash = hash_bytes(hash, batch.targets, n * (size_t)options.boxes_per_image * 6 * sizeof(float));
            hash = hash_bytes(hash, &batch.n_targets, sizeof batch.n_targets);
        }
    }
    bl_loader_free(loader);
    return hash;
}

static void batches_do_not_depend_on_the_workers(void **state)
{
    bl_dataset *dataset = synthetic(30);
    bl_loader_options options = {.batch = 8, .size = SIZE, .shuffle = true, .seed = 3, .boxes_per_image = 3};
    uint64_t one = hash_of_epochs(dataset, options);
    for (options.n_workers = 1; options.n_workers < 5; options.n_workers++)
        assert_true(hash_of_epochs(dataset, options) == one);
    options.seed = 4;
    assert_false(hash_of_epochs(dataset, options) == one);
    bl_dataset_free(dataset);
}

/* Each row against what the image's own reading gives; images in their order, since nothing is shuffled. */
static void rows_are_the_images_boxes(void **state)
{
    bl_dataset *dataset = synthetic(11);
    float image[3 * SIZE * SIZE], frame[4];
    bl_loader *loader =
        loader_of(dataset, (bl_loader_options){.batch = 4, .size = SIZE, .n_workers = 2, .boxes_per_image = 8});
    bl_batch batch;
    int64_t index = 0;
    bl_loader_start_epoch(loader, 0);
    while (bl_loader_next(loader, &batch, NULL)) {
        const float *row = batch.targets;
        assert_null(batch.labels);
        assert_int_equal(batch.n_dropped, 0);
        for (int i = 0; i < batch.n; i++, index++) {
            bl_objects boxes = {0};
            assert_int_equal(dataset->kind->read_boxes(dataset, BL_SPLIT_TRAIN, index, &(bl_view){.size = SIZE}, image,
                                                       &boxes, frame, NULL),
                             BL_OK);
            assert_in_range(boxes.len, 1, 8);
            assert_memory_equal(image, batch.images + i * 3 * SIZE * SIZE, sizeof image);
            assert_memory_equal(frame, batch.frames + 4 * i, sizeof frame);
            for (size_t k = 0; k < boxes.len; k++, row += 6) {
                const bl_object *b = &boxes.items[k];
                assert_true(row[0] == (float)i && row[1] == (float)b->label);
                assert_memory_equal(row + 2, &b->x, 4 * sizeof *row);
            }
            bl_objects_clear(&boxes);
        }
        assert_int_equal((row - batch.targets) / 6, batch.n_targets);
        for (; row < batch.targets + 4 * 8 * 6; row += 6) {
            assert_true(row[0] == -1);
            for (int k = 1; k < 6; k++)
                assert_true(row[k] == 0);
        }
    }
    assert_int_equal(index, 11);
    assert_true(bl_loader_bytes(loader) > 2 * 4 * (3 * SIZE * SIZE + 8 * 6) * sizeof(float));
    bl_loader_free(loader);
    bl_dataset_free(dataset);
}

static void too_many_boxes_are_counted_and_shared_fairly(void **state)
{
    bl_dataset *dataset = synthetic(40);
    bl_loader *roomy = loader_of(dataset, (bl_loader_options){.batch = 8, .size = SIZE, .boxes_per_image = 8});
    bl_loader *tight = loader_of(dataset, (bl_loader_options){.batch = 8, .size = SIZE, .boxes_per_image = 2});
    bl_batch all, some;
    int dropped = 0;
    bl_loader_start_epoch(roomy, 0);
    bl_loader_start_epoch(tight, 0);
    while (bl_loader_next(roomy, &all, NULL)) {
        assert_true(bl_loader_next(tight, &some, NULL));
        int before[8] = {0}, after[8] = {0}, most = 0;
        for (int k = 0; k < all.n_targets; k++)
            before[(int)all.targets[6 * k]]++;
        for (int k = 0; k < some.n_targets; k++)
            after[(int)some.targets[6 * k]]++;
        assert_int_equal(some.n_targets + some.n_dropped, all.n_targets);
        assert_true(some.n_targets <= 16);
        for (int i = 0; i < 8; i++)
            most = after[i] > most ? after[i] : most;
        for (int i = 0; i < 8; i++)
            assert_int_equal(after[i], before[i] < most ? before[i] : most); /* only the fullest lose */
        dropped += some.n_dropped;
    }
    assert_true(dropped > 0);
    bl_loader_free(roomy);
    bl_loader_free(tight);
    bl_dataset_free(dataset);
}

static void drawn_boxes_are_where_they_say(void **state)
{
    bl_dataset *dataset = synthetic(200);
    float image[3 * SIZE * SIZE], frame[4];
    int counts[5] = {0}, largest = 0;
    for (int64_t i = 0; i < 200; i++) {
        bl_objects boxes = {0};
        assert_int_equal(
            dataset->kind->read_boxes(dataset, BL_SPLIT_TRAIN, i, &(bl_view){.size = SIZE}, image, &boxes, frame, NULL),
            BL_OK);
        for (size_t k = 0; k < boxes.len; k++) {
            const bl_object *b = &boxes.items[k];
            assert_in_range(b->label, 0, 4);
            counts[b->label]++;
            assert_true(b->x - b->width / 2 >= 0 && b->x + b->width / 2 <= 1);
            assert_true(b->y - b->height / 2 >= 0 && b->y + b->height / 2 <= 1);
            for (size_t m = 0; m < k; m++) { /* none over another */
                const bl_object *o = &boxes.items[m];
                assert_true(2 * fabsf(b->x - o->x) >= b->width + o->width - 1e-6f ||
                            2 * fabsf(b->y - o->y) >= b->height + o->height - 1e-6f);
            }
        }
        largest = (int)boxes.len > largest ? (int)boxes.len : largest;
        for (int p = 0; p < 3 * SIZE * SIZE; p++)
            assert_true(image[p] >= 0 && image[p] <= 1);
        bl_objects_clear(&boxes);
    }
    for (int c = 0; c < 5; c++)
        assert_in_range(counts[c], 60, 300);
    assert_in_range(largest, 5, 8);
    bl_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_do_not_depend_on_the_workers),
        cmocka_unit_test(rows_are_the_images_boxes),
        cmocka_unit_test(too_many_boxes_are_counted_and_shared_fairly),
        cmocka_unit_test(drawn_boxes_are_where_they_say),
    };
    return cmocka_run_group_tests_name("data/boxes", tests, NULL, NULL);
}
