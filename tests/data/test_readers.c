/* Which reader takes which files, and those of CIFAR's and MNIST's: the same samples as from a folder of images. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/cifar.h"
#include "data/image.h"
#include "folders.h"
#include "pictures.h"

enum { N = 40, SIDE = 24 };

static uint8_t next_byte(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(*state >> 56);
}

/* A record of CIFAR's: label bytes, and planes of noise. */
static void draw_record(uint8_t *record, int n_labels, int fine, uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    record[0] = (uint8_t)(n_labels == 1 ? fine : fine / 5);
    record[n_labels - 1] = (uint8_t)fine;
    for (int i = 0; i < 3 * BL_CIFAR_PIXELS; i++)
        record[n_labels + i] = next_byte(&state);
}

/* The same picture as a PNG file in the folder of its class. */
static void put_png(const char *top, const char *split, int label, int number, const uint8_t *planes)
{
    uint8_t rgb[3 * BL_CIFAR_PIXELS];
    for (int i = 0; i < BL_CIFAR_PIXELS; i++)
        for (int c = 0; c < 3; c++)
            rgb[3 * i + c] = planes[c * BL_CIFAR_PIXELS + i];
    char name[64];
    snprintf(name, sizeof name, "folder/%s/%02d/%03d.png", split, label, number);
    picture_file file = picture_png_of(rgb, BL_CIFAR_SIDE, BL_CIFAR_SIDE);
    put(top, name, file.data, file.len);
    picture_clear(&file);
}

static void put_records(const char *top, const char *name, const char *split, int n_labels, int n_classes, int first)
{
    size_t record_b = (size_t)n_labels + 3 * BL_CIFAR_PIXELS;
    uint8_t *records = malloc(N * record_b);
    assert_non_null(records);
    for (int i = 0; i < N; i++) {
        uint8_t *record = records + (size_t)i * record_b;
        int label = (first + i) * 7 % n_classes;
        draw_record(record, n_labels, label, (uint64_t)(first + i));
        put_png(top, split, label, first + i, record + n_labels);
    }
    put(top, name, records, N * record_b);
    free(records);
}

static int32_t sample(const bl_dataset *dataset, bl_split split, int64_t index, bl_augment augment, float *out)
{
    int32_t label = -2;
    bl_error err = {0};
    bl_view view = {.size = SIDE, .augment = augment, .draw = 77};
    if (dataset->kind->read(dataset, split, index, &view, out, &label, &err) != BL_OK)
        fail_msg("%s", err.message);
    return label;
}

/* Every sample of one is one of the other, to the bit, with the same label. Files of a folder are sorted by class. */
static void assert_same_samples(const bl_dataset *a, const bl_dataset *folder, bl_split split)
{
    float one[3 * SIDE * SIDE], two[3 * SIDE * SIDE];
    assert_int_equal(a->count[split], folder->count[split]);
    int64_t next[100] = {0}, at = 0;
    for (int c = 0; c < folder->n_classes; c++) { /* where each class begins */
        next[c] = at;
        while (at < folder->count[split] && sample(folder, split, at, BL_AUGMENT_NONE, two) == c)
            at++;
    }
    for (int64_t i = 0; i < a->count[split]; i++) {
        bl_augment augment = (bl_augment)(i % 3);
        int32_t label = sample(a, split, i, augment, one);
        assert_in_range(label, 0, folder->n_classes - 1);
        assert_int_equal(sample(folder, split, next[label]++, augment, two), label);
        assert_memory_equal(one, two, sizeof one);
    }
}

static void binary_batches_are_the_folder(void **state)
{
    const char *top = *state;
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "bin/cifar-10-batches-bin/data_batch_%d.bin", i + 1);
        put_records(top, name, "train", 1, 10, i * N);
    }
    put_records(top, "bin/cifar-10-batches-bin/test_batch.bin", "test", 1, 10, 5 * N);
    char *bin = test_path(top, "bin"), *inner = test_path(bin, "cifar-10-batches-bin"), *png = test_path(top, "folder");
    bl_dataset *a = data_opened(&(bl_data_options){.path = bin}), *b = data_opened(&(bl_data_options){.path = png});
    assert_non_null(strstr(a->description, "CIFAR-10"));
    assert_int_equal(a->n_classes, 10);
    assert_int_equal(a->count[0], 5 * N);
    assert_same_samples(a, b, BL_SPLIT_TRAIN);
    assert_same_samples(a, b, BL_SPLIT_TEST);
    bl_dataset_free(a);
    bl_dataset_free(b);
    a = data_opened(&(bl_data_options){.path = inner});
    assert_int_equal(a->count[1], N);
    bl_dataset_free(a);
    data_refused(&(bl_data_options){.path = bin, .boxes = true}, BL_ERR_USAGE, "CIFAR-10");
    char *third = test_path(inner, "data_batch_3.bin");
    assert_int_equal(unlink(third), 0);
    data_refused(&(bl_data_options){.path = bin}, BL_ERR_ENV, "data_batch_3.bin");
    put(inner, "data_batch_3.bin", "", 0);
    data_refused(&(bl_data_options){.path = bin}, BL_ERR_FORMAT, "data_batch_3.bin");
    free(third);
    free(bin);
    free(inner);
    free(png);
}

static void fine_labels_are_the_classes(void **state)
{
    const char *top = *state;
    put_records(top, "bin/train.bin", "train", 2, 100, 0);
    uint8_t last[2 + 3 * BL_CIFAR_PIXELS];
    draw_record(last, 2, 99, 3);
    put(top, "bin/test.bin", last, sizeof last);
    char *bin = test_path(top, "bin");
    bl_dataset *a = data_opened(&(bl_data_options){.path = bin});
    float out[3 * SIDE * SIDE];
    assert_int_equal(a->n_classes, 100);
    assert_int_equal(sample(a, BL_SPLIT_TRAIN, 3, BL_AUGMENT_NONE, out), 21);
    assert_int_equal(sample(a, BL_SPLIT_TEST, 0, BL_AUGMENT_NONE, out), 99);
    bl_dataset_free(a);
    last[0] = 20; /* there are 20 coarse classes */
    put(bin, "test.bin", last, sizeof last);
    data_refused(&(bl_data_options){.path = bin}, BL_ERR_FORMAT, "coarse class is 20");
    last[0] = 19;
    last[1] = 100;
    put(bin, "test.bin", last, sizeof last);
    data_refused(&(bl_data_options){.path = bin}, BL_ERR_FORMAT, "image 0: its fine class is 100");
    put(bin, "test.bin", last, sizeof last - 1);
    data_refused(&(bl_data_options){.path = bin}, BL_ERR_FORMAT, "whole images");
    free(bin);
}

/* ---- IDX ---- */

enum { ROWS = 20, COLUMNS = 14, IDX_N = 12 };

static size_t idx_images(uint8_t *out, uint32_t n, uint32_t rows, uint32_t columns)
{
    const uint32_t sizes[3] = {n, rows, columns};
    memcpy(out, "\0\0\x08\x03", 4);
    for (int i = 0; i < 12; i++)
        out[4 + i] = (uint8_t)(sizes[i / 4] >> (24 - 8 * (i % 4)));
    uint64_t state = 5;
    for (int i = 0; i < IDX_N * ROWS * COLUMNS; i++)
        out[16 + i] = next_byte(&state);
    return 16 + IDX_N * ROWS * COLUMNS;
}

static size_t idx_labels(uint8_t *out)
{
    memcpy(out, "\0\0\x08\x01\0\0\0\x0c", 8);
    for (int i = 0; i < IDX_N; i++)
        out[8 + i] = (uint8_t)(i * 5 % 4);
    return 8 + IDX_N;
}

static void put_packed(const char *top, const char *name, const void *data, size_t len)
{
    char *path = test_path(top, name);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)len), len);
    assert_int_equal(gzclose(file), Z_OK);
    free(path);
}

static void mnist_is_the_folder(void **state)
{
    const char *top = *state;
    uint8_t images[16 + IDX_N * ROWS * COLUMNS], labels[8 + IDX_N], rgb[3 * ROWS * COLUMNS];
    size_t n_images = idx_images(images, IDX_N, ROWS, COLUMNS), n_labels = idx_labels(labels);
    put(top, "mnist/train-images-idx3-ubyte", images, n_images);
    put(top, "mnist/train-labels.idx1-ubyte", labels, n_labels);
    for (int i = 0; i < IDX_N; i++) {
        for (int k = 0; k < ROWS * COLUMNS; k++)
            memset(rgb + 3 * k, images[16 + i * ROWS * COLUMNS + k], 3);
        char name[64];
        snprintf(name, sizeof name, "folder/train/%d/%02d.png", labels[8 + i], i);
        picture_file file = picture_png_of(rgb, COLUMNS, ROWS);
        put(top, name, file.data, file.len);
        picture_clear(&file);
    }
    char *mnist = test_path(top, "mnist"), *folder = test_path(top, "folder");
    bl_dataset *a = data_opened(&(bl_data_options){.path = mnist});
    bl_dataset *b = data_opened(&(bl_data_options){.path = folder});
    assert_int_equal(a->n_classes, 4);
    assert_int_equal(a->count[1], 0);
    assert_same_samples(a, b, BL_SPLIT_TRAIN);
    bl_dataset_free(a);
    put_packed(mnist, "t10k-images-idx3-ubyte.gz", images, n_images);
    put_packed(mnist, "t10k-labels-idx1-ubyte.gz", labels, n_labels);
    a = data_opened(&(bl_data_options){.path = mnist});
    assert_int_equal(a->count[1], IDX_N);
    float one[3 * SIDE * SIDE], two[3 * SIDE * SIDE];
    for (int i = 0; i < IDX_N; i++) {
        assert_int_equal(sample(a, BL_SPLIT_TRAIN, i, BL_AUGMENT_NONE, one),
                         sample(a, BL_SPLIT_TEST, i, BL_AUGMENT_NONE, two));
        assert_memory_equal(one, two, sizeof one);
    }
    bl_dataset_free(a);
    bl_dataset_free(b);
    free(mnist);
    free(folder);
}

static void refuse_images(const char *top, const uint8_t *data, size_t len, const char *word)
{
    put(top, "train-images-idx3-ubyte", data, len);
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, word);
}

static void what_idx_files_claim_is_held_against_their_bytes(void **state)
{
    const char *top = *state;
    uint8_t images[16 + IDX_N * ROWS * COLUMNS], labels[8 + IDX_N];
    size_t n_images = idx_images(images, IDX_N, ROWS, COLUMNS), n_labels = idx_labels(labels);
    put(top, "train-labels-idx1-ubyte", labels, n_labels);
    refuse_images(top, images, 0, "ends too early");
    refuse_images(top, images, 15, "ends too early");
    refuse_images(top, images, n_images - 1, "claims 3360 bytes");
    idx_images(images, IDX_N, 0, COLUMNS);
    refuse_images(top, images, n_images, "of size 0");
    idx_images(images, UINT32_MAX, UINT32_MAX, UINT32_MAX);
    refuse_images(top, images, n_images, "claims");
    idx_images(images, 1, IDX_N * ROWS * COLUMNS, 1);
    put(top, "train-images-idx3-ubyte", images, n_images);
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, "12 labels for 1 images");
    images[2] = 0x0d; /* floats */
    refuse_images(top, images, n_images, "no IDX file of images");
    idx_images(images, IDX_N, ROWS, COLUMNS);
    put(top, "train-images-idx3-ubyte", images, n_images);
    put(top, "t10k-images-idx3-ubyte", images, n_images);
    data_refused(&(bl_data_options){.path = top}, BL_ERR_ENV, "t10k-labels-idx1-ubyte");
    labels[8 + 3] = 17;
    put(top, "t10k-labels-idx1-ubyte", labels, n_labels);
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, "the class 17");
    put_text(top, "t10k-labels-idx1-ubyte.gz", "no gzip");
    char *plain = test_path(top, "t10k-labels-idx1-ubyte");
    assert_int_equal(unlink(plain), 0);
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, "damaged gzip");
    free(plain);
}

/* ---- telling them apart ---- */

static void what_is_no_data_is_told_what_was_looked_for(void **state)
{
    const char *top = *state;
    char *none = test_path(top, "none"), *file = test_path(top, "file.txt");
    put_text(top, "file.txt", "no data");
    data_refused(&(bl_data_options){.path = none}, BL_ERR_ENV, "none");
    data_refused(&(bl_data_options){.path = top}, BL_ERR_ENV, "train/CLASS/*.jpg (image folder)");
    data_refused(&(bl_data_options){.path = top, .boxes = true}, BL_ERR_ENV, "data.yaml");
    data_refused(&(bl_data_options){.path = file}, BL_ERR_ENV, "no data set that is known");
    put_picture(top, "images/train/1.jpg");
    put_text(top, "labels/train/1.txt", "0 0.5 0.5 0.5 0.5\n");
    data_refused(&(bl_data_options){.path = top}, BL_ERR_USAGE, "for detectors");
    bl_dataset *dataset = data_opened(&(bl_data_options){.path = top, .boxes = true});
    assert_int_equal(dataset->count[0], 1);
    bl_dataset_free(dataset);
    free(none);
    free(file);
}

static void without_a_path_images_are_drawn(void **state)
{
    for (int boxes = 0; boxes < 2; boxes++) {
        bl_data_options options = {.boxes = boxes, .n_classes = 3, .n_train = 9, .n_test = 2, .seed = 1};
        bl_dataset *dataset = data_opened(&options);
        assert_true(boxes ? dataset->kind->read_boxes != NULL : dataset->kind->read != NULL);
        assert_int_equal(dataset->count[0], 9);
        assert_int_equal(dataset->n_classes, 3);
        bl_dataset_free(dataset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(binary_batches_are_the_folder, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(fine_labels_are_the_classes, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(mnist_is_the_folder, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(what_idx_files_claim_is_held_against_their_bytes, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(what_is_no_data_is_told_what_was_looked_for, folders_make, folders_remove),
        cmocka_unit_test(without_a_path_images_are_drawn),
    };
    return cmocka_run_group_tests_name("data/readers", tests, NULL, NULL);
}
