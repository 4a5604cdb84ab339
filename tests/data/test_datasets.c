#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "data/loader.h"
#include "pictures.h"

static int make_top(void **state)
{
    *state = test_make_folder();
    return 0;
}

static int remove_top(void **state)
{
    test_remove_folder(*state);
    return 0;
}

static void put(const char *top, const char *name, const void *data, size_t len)
{
    char *path = test_path(top, name), *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    *slash = '/';
    test_write_file(path, data, len);
    free(path);
}

static void put_picture(const char *top, const char *name)
{
    picture_file file = strstr(name, ".png") ? picture_png(PICTURE_RGB, 20, 20) : picture_jpeg(PICTURE_RGB, 24, 20);
    put(top, name, file.data, file.len);
    picture_clear(&file);
}

static bl_dataset *opened(const char *path)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    if (bl_folder_open(path, &dataset, &err) != BL_OK)
        fail_msg("%s", err.message);
    return dataset;
}

static int32_t label_of(const bl_dataset *dataset, bl_split split, int64_t index)
{
    float out[3 * 8 * 8];
    int32_t label = -2;
    bl_error err = {0};
    assert_int_equal(dataset->kind->read(dataset, split, index, &(bl_view){.size = 8}, out, &label, &err), BL_OK);
    return label;
}

static void folders_are_classes_in_sorted_order(void **state)
{
    const char *top = *state;
    put_picture(top, "train/zebra/1.jpg");
    put_picture(top, "train/ant/b.PNG.png");
    put_picture(top, "train/ant/a.JPEG");
    put_picture(top, "test/zebra/1.jpg");
    put(top, "train/ant/notes.txt", "no image", 8);
    put(top, "train/ant/.hidden.jpg", "no image", 8);
    put(top, "train/README", "no class", 8);
    bl_dataset *dataset = opened(top);
    assert_int_equal(dataset->n_classes, 2);
    assert_int_equal(dataset->count[BL_SPLIT_TRAIN], 3);
    assert_int_equal(dataset->count[BL_SPLIT_TEST], 1);
    assert_int_equal(label_of(dataset, BL_SPLIT_TRAIN, 0), 0);
    assert_int_equal(label_of(dataset, BL_SPLIT_TRAIN, 1), 0);
    assert_int_equal(label_of(dataset, BL_SPLIT_TRAIN, 2), 1);
    assert_int_equal(label_of(dataset, BL_SPLIT_TEST, 0), 1);
    assert_non_null(strstr(dataset->description, "3 images to train on"));
    bl_dataset_free(dataset);
}

static void val_stands_for_test_and_may_be_absent(void **state)
{
    const char *top = *state;
    put_picture(top, "train/a/1.jpg");
    bl_dataset *dataset = opened(top);
    assert_int_equal(dataset->count[BL_SPLIT_TEST], 0);
    bl_dataset_free(dataset);
    put_picture(top, "val/a/1.jpg");
    put_picture(top, "val/a/2.jpg");
    dataset = opened(top);
    assert_int_equal(dataset->count[BL_SPLIT_TEST], 2);
    bl_dataset_free(dataset);
}

static void refuse(const char *path, int code, const char *word)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    assert_int_equal(bl_folder_open(path, &dataset, &err), code);
    assert_null(dataset);
    if (!strstr(err.message, word))
        fail_msg("'%s' does not say '%s'", err.message, word);
}

static void folders_that_are_no_data(void **state)
{
    const char *top = *state;
    char *none = test_path(top, "none");
    refuse(none, BL_ERR_ENV, "none");
    refuse(top, BL_ERR_ENV, "no folder 'train'");
    put(top, "train/file", "", 0);
    refuse(top, BL_ERR_ENV, "no class folders");
    put_picture(top, "train/a/1.jpg");
    put(top, "train/empty/notes.txt", "", 0);
    refuse(top, BL_ERR_FORMAT, "train/empty");
    put_picture(top, "train/empty/1.jpg");
    put_picture(top, "test/stranger/1.jpg");
    refuse(top, BL_ERR_FORMAT, "test/stranger");
    free(none);
}

static bl_loader *loader_of(const bl_dataset *dataset, bl_loader_options options)
{
    bl_error err = {0};
    bl_loader *loader = NULL;
    if (bl_loader_new(dataset, &options, &loader, &err) != BL_OK)
        fail_msg("%s", err.message);
    return loader;
}

static void a_broken_image_is_named_when_it_is_wanted(void **state)
{
    const char *top = *state;
    put_picture(top, "train/a/1.jpg");
    picture_file damaged = picture_png(PICTURE_RGB, 20, 20); /* which a look at its beginning and end does not show */
    memset(damaged.data + damaged.len / 2, 0x55, 8);
    put(top, "train/a/2.png", damaged.data, damaged.len);
    picture_clear(&damaged);
    bl_dataset *dataset = opened(top);
    for (int workers = 0; workers < 3; workers++) {
        bl_loader *loader =
            loader_of(dataset, (bl_loader_options){.batch = 2, .size = 8, .drop_last = true, .n_workers = workers});
        bl_batch batch;
        bl_error err = {0};
        bl_loader_start_epoch(loader, 0);
        assert_false(bl_loader_next(loader, &batch, &err));
        assert_int_equal(err.code, BL_ERR_FORMAT);
        assert_non_null(strstr(err.message, "train/a/2.png"));
        bl_loader_free(loader);
    }
    bl_dataset_free(dataset);
}

static bl_dataset *synthetic(int64_t n_train, int64_t n_test)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    assert_int_equal(bl_synthetic_open(5, n_train, n_test, 7, &dataset, &err), BL_OK);
    return dataset;
}

/* All labels and pixels of two epochs, as one number. */
static uint64_t hash_of_epochs(const bl_dataset *dataset, bl_loader_options options)
{
    bl_loader *loader = loader_of(dataset, options);
    uint64_t hash = 14695981039346656037u;
    size_t floats = (size_t)options.batch * 3 * (size_t)options.size * (size_t)options.size;
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        bl_batch batch;
        bl_error err = {0};
        int64_t n = 0;
        bl_loader_start_epoch(loader, epoch);
        for (; bl_loader_next(loader, &batch, &err); n++) {
            const uint8_t *bytes = (const uint8_t *)batch.images;
            for (size_t i = 0; i < floats * sizeof(float); i++)
                hash = (hash ^ bytes[i]) * 1099511628211u;
            for (int i = 0; i < options.batch; i++)
                hash = (hash ^ (uint32_t)batch.labels[i]) * 1099511628211u;
        }
        assert_int_equal(err.code, BL_OK);
        assert_int_equal(n, bl_loader_batches(loader));
    }
    bl_loader_free(loader);
    return hash;
}

static void batches_do_not_depend_on_the_workers(void **state)
{
    bl_dataset *dataset = synthetic(50, 3);
    bl_loader_options options = {.batch = 8, .size = 12, .augment = BL_AUGMENT_FLIP, .shuffle = true, .seed = 3};
    uint64_t one = hash_of_epochs(dataset, options);
    for (options.n_workers = 1; options.n_workers < 6; options.n_workers++)
        assert_true(hash_of_epochs(dataset, options) == one);
    options.seed = 4;
    assert_false(hash_of_epochs(dataset, options) == one);
    bl_dataset_free(dataset);
}

/* Which image of an unaugmented set a batch holds at `i`: the one with the same pixels. */
static int64_t index_of(const bl_dataset *dataset, const float *image, int size)
{
    float *other = malloc((size_t)(3 * size * size) * sizeof *other);
    int64_t found = -1;
    int32_t label;
    assert_non_null(other);
    for (int64_t k = 0; k < dataset->count[0] && found < 0; k++) {
        assert_int_equal(dataset->kind->read(dataset, BL_SPLIT_TRAIN, k, &(bl_view){.size = size}, other, &label, NULL),
                         BL_OK);
        if (memcmp(other, image, (size_t)(3 * size * size) * sizeof *other) == 0)
            found = k;
    }
    free(other);
    return found;
}

static void an_epoch_holds_every_image_once(void **state)
{
    bl_dataset *dataset = synthetic(23, 0);
    bl_loader *loader = loader_of(dataset, (bl_loader_options){.batch = 4, .size = 8, .shuffle = true, .n_workers = 2});
    assert_int_equal(bl_loader_batches(loader), 6);
    int64_t orders[2][23];
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        bl_batch batch;
        int64_t n = 0;
        bool seen[23] = {false};
        bl_loader_start_epoch(loader, epoch);
        while (bl_loader_next(loader, &batch, NULL)) {
            assert_int_equal(batch.n, n < 20 ? 4 : 3);
            for (int i = 0; i < batch.n; i++) {
                int64_t k = index_of(dataset, batch.images + i * 3 * 8 * 8, 8);
                assert_in_range(k, 0, 22);
                assert_false(seen[k]);
                seen[k] = true;
                orders[epoch][n++] = k;
            }
            for (int i = batch.n; i < 4; i++) { /* the rest is marked, and empty */
                assert_int_equal(batch.labels[i], -1);
                for (int p = 0; p < 3 * 8 * 8; p++)
                    assert_true(batch.images[i * 3 * 8 * 8 + p] == 0);
            }
        }
        assert_int_equal(n, 23);
    }
    assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
    bl_loader_free(loader);
    bl_dataset_free(dataset);
}

static void the_last_batch_may_be_left_out(void **state)
{
    bl_dataset *dataset = synthetic(23, 0);
    bl_loader *loader = loader_of(dataset, (bl_loader_options){.batch = 4, .size = 8, .drop_last = true});
    bl_batch batch;
    int n = 0;
    bl_loader_start_epoch(loader, 0);
    for (; bl_loader_next(loader, &batch, NULL); n++)
        assert_int_equal(batch.n, 4);
    assert_int_equal(n, 5);
    bl_loader_free(loader);

    bl_error err = {0};
    bl_loader_options options = {.batch = 24, .size = 8, .drop_last = true};
    assert_int_equal(bl_loader_new(dataset, &options, &loader, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "24"));
    assert_non_null(strstr(err.remedy, "23"));
    bl_error_clear(&err);
    options.split = BL_SPLIT_TEST;
    assert_int_equal(bl_loader_new(dataset, &options, &loader, &err), BL_ERR_USAGE);
    bl_dataset_free(dataset);
}

/* Leaving an epoch in the middle, with batches under way, must not mix it with the next one. */
static void epochs_may_be_left(void **state)
{
    bl_dataset *dataset = synthetic(60, 0);
    bl_loader *loader =
        loader_of(dataset, (bl_loader_options){.batch = 5, .size = 16, .shuffle = true, .n_workers = 3});
    bl_loader *whole = loader_of(dataset, (bl_loader_options){.batch = 5, .size = 16, .shuffle = true});
    bl_batch a, b;
    for (int64_t epoch = 0; epoch < 30; epoch++) {
        bl_loader_start_epoch(loader, epoch);
        bl_loader_start_epoch(whole, epoch);
        for (int64_t i = 0; i < epoch % 7; i++) {
            assert_true(bl_loader_next(loader, &a, NULL) && bl_loader_next(whole, &b, NULL));
            assert_memory_equal(a.labels, b.labels, 5 * sizeof *a.labels);
            assert_memory_equal(a.images, b.images, 5 * 3 * 16 * 16 * sizeof *a.images);
        }
    }
    bl_loader_free(loader);
    bl_loader_free(whole);
    bl_dataset_free(dataset);
}

static void synthetic_images_are_of_all_classes(void **state)
{
    bl_dataset *dataset = synthetic(500, 10);
    float image[3 * 16 * 16];
    int counts[5] = {0};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 500; i++) {
        int32_t label = -1;
        assert_int_equal(dataset->kind->read(dataset, BL_SPLIT_TRAIN, i, &(bl_view){.size = 16}, image, &label, NULL),
                         BL_OK);
        assert_in_range(label, 0, 4);
        counts[label]++;
        for (int p = 0; p < 3 * 16 * 16; p++) {
            sum += (double)image[p];
            squares += (double)image[p] * (double)image[p];
        }
    }
    for (int c = 0; c < 5; c++)
        assert_in_range(counts[c], 60, 140);
    double mean = sum / (500 * 3 * 16 * 16), deviation = sqrt(squares / (500 * 3 * 16 * 16) - mean * mean);
    assert_true(fabs(mean) < 1 && deviation > 0.3 && deviation < 3); /* of the order of a normalised photograph */
    bl_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folders_are_classes_in_sorted_order, make_top, remove_top),
        cmocka_unit_test_setup_teardown(val_stands_for_test_and_may_be_absent, make_top, remove_top),
        cmocka_unit_test_setup_teardown(folders_that_are_no_data, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_broken_image_is_named_when_it_is_wanted, make_top, remove_top),
        cmocka_unit_test(batches_do_not_depend_on_the_workers),
        cmocka_unit_test(an_epoch_holds_every_image_once),
        cmocka_unit_test(the_last_batch_may_be_left_out),
        cmocka_unit_test(epochs_may_be_left),
        cmocka_unit_test(synthetic_images_are_of_all_classes),
    };
    return cmocka_run_group_tests_name("data/datasets", tests, NULL, NULL);
}
