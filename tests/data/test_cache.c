/* Caches: the same bits with each of them, limits, and files that are old or damaged. */
#include "testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/fs.h"
#include "data/cache.h"
#include "data/loader.h"
#include "pictures.h"

enum { IMAGES = 14, SIZE = 24 };

static void put(const char *top, const char *name, const void *data, size_t len)
{
    char *path = test_path(top, name), *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    *slash = '/';
    test_write_file(path, data, len);
    free(path);
}

static int make_images(void **state)
{
    *state = test_make_folder();
    for (int i = 0; i < IMAGES; i++) {
        char name[80];
        picture_file file =
            i % 5 == 4 ? picture_png(PICTURE_RGB, 40 + i, 50) : picture_jpeg(PICTURE_RGB, 60 + 10 * i, 70 + 3 * i);
        snprintf(name, sizeof name, "images/train/%02d.%s", i, i % 5 == 4 ? "png" : "jpg");
        put(*state, name, file.data, file.len);
        snprintf(name, sizeof name, "train/%s/%02d.%s", i % 2 ? "odd" : "even", i, i % 5 == 4 ? "png" : "jpg");
        put(*state, name, file.data, file.len);
        snprintf(name, sizeof name, "labels/train/%02d.txt", i);
        put(*state, name, "1 0.5 0.5 0.4 0.3\n", 18);
        if (i < 3) {
            snprintf(name, sizeof name, "test/even/%02d.jpg", i);
            put(*state, name, file.data, file.len);
        }
        picture_clear(&file);
    }
    return 0;
}

static int remove_images(void **state)
{
    test_remove_folder(*state);
    return 0;
}

static bl_dataset *opened(const char *top, bool boxes)
{
    bl_dataset *dataset = NULL;
    bl_error err = {0};
    int code = boxes ? bl_yolo_open(top, 0, &dataset, &err) : bl_folder_open(top, &dataset, &err);
    if (code != BL_OK)
        fail_msg("%s", err.message);
    return dataset;
}

static bl_cache_report filled(bl_dataset *dataset, bl_cache_mode mode, uint64_t limit_b, bl_augment augment,
                              const char *folder)
{
    bl_error err = {0};
    bl_cache_report report;
    bl_cache_options options = {.mode = mode,
                                .limit_b = limit_b,
                                .splits = {true, true},
                                .views = {{.size = SIZE, .augment = augment}, {.size = SIZE}},
                                .folder = folder,
                                .n_threads = 3};
    if (bl_cache_fill(dataset, &options, &report, &err) != BL_OK)
        fail_msg("%s", err.message);
    return report;
}

static uint64_t hash_of_batches(const bl_dataset *dataset, bl_augment augment, int workers, int prefetch)
{
    bl_loader_options options = {.batch = 4,
                                 .size = SIZE,
                                 .augment = augment,
                                 .shuffle = true,
                                 .n_workers = workers,
                                 .prefetch = prefetch,
                                 .boxes_per_image = 30};
    uint64_t hash = 14695981039346656037u;
    bl_loader *loader = NULL;
    bl_error err = {0};
    assert_int_equal(bl_loader_new(dataset, &options, &loader, &err), BL_OK);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        bl_batch batch;
        bl_loader_start_epoch(loader, epoch);
        while (bl_loader_next(loader, &batch, &err)) {
            hash = hash_bytes(hash, batch.images, (size_t)options.batch * 3 * SIZE * SIZE * sizeof(float));
            if (batch.targets)
                hash = hash_bytes(hash, batch.targets, 4 * 30 * 6 * sizeof(float));
            else
                hash = hash_bytes(hash, batch.labels, 4 * sizeof(int32_t));
        }
        if (err.code != BL_OK)
            fail_msg("%s", err.message);
    }
    bl_loader_free(loader);
    return hash;
}

static void every_cache_gives_the_same_bits(void **state)
{
    static const bl_augment augments[] = {BL_AUGMENT_NONE, BL_AUGMENT_FLIP, BL_AUGMENT_CROP, BL_AUGMENT_MOSAIC};
    char *folder = test_path(*state, "cache");
    for (size_t a = 0; a < BL_ARRAY_LEN(augments); a++)
        for (int boxes = 0; boxes < 2; boxes++) {
            if (boxes ? augments[a] == BL_AUGMENT_CROP : augments[a] == BL_AUGMENT_MOSAIC)
                continue;
            bl_dataset *plain = opened(*state, boxes);
            uint64_t want = hash_of_batches(plain, augments[a], 0, 0);
            for (int mode = BL_CACHE_NONE; mode <= BL_CACHE_DISK; mode++) {
                bl_dataset *dataset = opened(*state, boxes);
                bl_cache_report r = filled(dataset, (bl_cache_mode)mode, 1 << 30, augments[a], folder);
                assert_string_equal(r.why, "");
                assert_int_equal(r.mode, mode);
                assert_int_equal(r.images, mode == BL_CACHE_NONE ? 0 : IMAGES + (boxes ? 0 : 3));
                assert_true((r.bytes > 0) == (mode != BL_CACHE_NONE));
                assert_true(hash_of_batches(dataset, augments[a], 1 + mode, 1 + 2 * mode) == want);
                bl_dataset_free(dataset);
            }
            bl_dataset_free(plain);
        }
    free(folder);
}

/* What is kept is what is used: with the files gone, the cache still gives them. */
static void kept_images_need_no_files(void **state)
{
    char *folder = test_path(*state, "cache"), *train = test_path(*state, "train"), *away = test_path(*state, "away");
    for (int mode = BL_CACHE_RAM; mode <= BL_CACHE_DISK; mode++) {
        bl_dataset *dataset = opened(*state, false);
        uint64_t want = hash_of_batches(dataset, BL_AUGMENT_CROP, 2, 1);
        filled(dataset, (bl_cache_mode)mode, 0, BL_AUGMENT_CROP, folder);
        assert_int_equal(rename(train, away), 0);
        assert_true(hash_of_batches(dataset, BL_AUGMENT_CROP, 2, 1) == want);
        assert_int_equal(rename(away, train), 0);
        bl_dataset_free(dataset);
    }
    free(folder);
    free(train);
    free(away);
}

static void what_does_not_fit_is_said(void **state)
{
    char *folder = test_path(*state, "cache");
    bl_dataset *dataset = opened(*state, false);
    bl_cache_report r = filled(dataset, BL_CACHE_RAM, 100 << 10, BL_AUGMENT_CROP, folder);
    assert_int_equal(r.mode, BL_CACHE_RAM_ENCODED);
    assert_non_null(strstr(r.why, "decoded images need more"));
    assert_int_equal(r.images, IMAGES + 3);
    assert_in_range(r.bytes, 1, 100 << 10);
    for (int mode = BL_CACHE_RAM; mode <= BL_CACHE_DISK; mode++) {
        r = filled(dataset, (bl_cache_mode)mode, 5000, BL_AUGMENT_CROP, folder);
        assert_int_equal(r.mode, BL_CACHE_NONE);
        assert_int_equal(r.images, 0);
        assert_true(r.why[0] != '\0');
    }
    assert_int_equal(rmdir(folder), 0); /* it was made, and nothing was left in it */
    char *file = test_path(*state, "train/even/00.jpg"), *below = test_path(file, "cache");
    r = filled(dataset, BL_CACHE_DISK, 0, BL_AUGMENT_CROP, below);
    assert_int_equal(r.mode, BL_CACHE_NONE);
    assert_true(r.why[0] != '\0');
    bl_dataset_free(dataset);
    free(folder);
    free(file);
    free(below);
}

static void data_that_are_no_files_are_refused(void **state)
{
    bl_dataset *dataset = NULL;
    bl_error err = {0};
    bl_cache_report report;
    assert_int_equal(bl_synthetic_open(4, 10, 10, 1, &dataset, &err), BL_OK);
    bl_cache_options options = {.mode = BL_CACHE_RAM, .splits = {true, true}};
    assert_int_equal(bl_cache_fill(dataset, &options, &report, &err), BL_ERR_USAGE);
    bl_dataset_free(dataset);
}

/* The only file in a folder. */
static char *only_file(const char *folder)
{
    char *found = NULL;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (e->d_name[0] != '.') {
            assert_null(found);
            found = test_path(folder, e->d_name);
        }
    closedir(dir);
    assert_non_null(found);
    return found;
}

static bool is_reused(const char *top, const char *folder, uint64_t want)
{
    bl_dataset *dataset = opened(top, true);
    bl_cache_report r = filled(dataset, BL_CACHE_DISK, 0, BL_AUGMENT_MOSAIC, folder);
    assert_int_equal(r.mode, BL_CACHE_DISK);
    assert_int_equal(r.images, IMAGES);
    assert_true(hash_of_batches(dataset, BL_AUGMENT_MOSAIC, 1, 1) == want);
    bl_dataset_free(dataset);
    return r.reused;
}

static void files_are_reused_until_an_image_changes(void **state)
{
    char *folder = test_path(*state, "cache"), *image = test_path(*state, "images/train/03.jpg");
    bl_dataset *plain = opened(*state, true);
    uint64_t want = hash_of_batches(plain, BL_AUGMENT_MOSAIC, 0, 1);
    assert_false(is_reused(*state, folder, want));
    assert_true(is_reused(*state, folder, want));
    picture_file other = picture_jpeg(PICTURE_GREY, 77, 66);
    test_write_file(image, other.data, other.len);
    picture_clear(&other);
    uint64_t changed = hash_of_batches(plain, BL_AUGMENT_MOSAIC, 0, 1);
    assert_true(changed != want);
    assert_false(is_reused(*state, folder, changed));
    assert_true(is_reused(*state, folder, changed));
    char *file = only_file(folder);
    bl_dataset_free(plain);
    free(file);
    free(folder);
    free(image);
}

/* One byte changed, anywhere: what describes the images is noticed at once and built anew, a pixel when it is used and
 * then taken from the image's own file. */
static void damage_is_noticed(void **state)
{
    char *folder = test_path(*state, "cache"), *data = NULL;
    size_t len;
    bl_dataset *plain = opened(*state, true);
    uint64_t want = hash_of_batches(plain, BL_AUGMENT_MOSAIC, 0, 1);
    assert_false(is_reused(*state, folder, want));
    char *file = only_file(folder);
    assert_int_equal(bl_fs_read(file, 1 << 30, &data, &len, NULL), BL_OK);
    int rebuilt = 0;
    for (size_t at = 0; at < len; at += at < 700 ? 7 : len / 37) {
        data[at] ^= 4;
        test_write_file(file, data, len);
        data[at] ^= 4;
        rebuilt += !is_reused(*state, folder, want);
    }
    const int described = 40 + IMAGES * 32; /* bytes of header and table */
    assert_int_equal(rebuilt, (described + 6) / 7);
    for (size_t cut = 0; cut < len; cut += len / 7 + 1) {
        test_write_file(file, data, cut);
        assert_false(is_reused(*state, folder, want));
    }
    free(data);
    free(file);
    free(folder);
    bl_dataset_free(plain);
}

/* Killed while it builds, at any moment: the next one builds or finds a whole file, and nothing else lies about. */
static void a_kill_while_building_does_no_harm(void **state)
{
    char *folder = test_path(*state, "cache");
    bl_dataset *plain = opened(*state, true);
    uint64_t want = hash_of_batches(plain, BL_AUGMENT_MOSAIC, 0, 1);
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            for (;;) { /* until it is killed */
                bl_cache_options options = {.mode = BL_CACHE_DISK,
                                            .splits = {true, true},
                                            .views = {{.size = SIZE + i, .augment = BL_AUGMENT_MOSAIC}},
                                            .folder = folder,
                                            .n_threads = 1};
                bl_cache_report report;
                bl_dataset *dataset = NULL;
                if (bl_yolo_open(*state, 0, &dataset, NULL) != BL_OK)
                    _exit(1);
                bl_cache_fill(dataset, &options, &report, NULL);
                bl_dataset_free(dataset);
                bl_fs_remove_tree(folder, NULL);
            }
        }
        usleep((useconds_t)(500 + 1700 * i));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        is_reused(*state, folder, want);
        bl_fs_remove_tree(folder, NULL);
    }
    bl_dataset_free(plain);
    free(folder);
}

/* An image that cannot be read is not kept, and is met when it is wanted. */
static void a_broken_image_is_left_out(void **state)
{
    char *folder = test_path(*state, "cache"), *image = test_path(*state, "train/odd/03.jpg");
    picture_file damaged = picture_png(PICTURE_RGB, 20, 20); /* which a look at its beginning and end does not show */
    memset(damaged.data + damaged.len / 2, 0x55, 8);
    test_write_file(image, damaged.data, damaged.len);
    picture_clear(&damaged);
    for (int mode = BL_CACHE_RAM; mode <= BL_CACHE_DISK; mode++) {
        bl_dataset *dataset = opened(*state, false);
        bl_cache_report r = filled(dataset, (bl_cache_mode)mode, 0, BL_AUGMENT_FLIP, folder);
        assert_int_equal(r.images, IMAGES + 3 - (mode != BL_CACHE_RAM_ENCODED));
        float out[3 * SIZE * SIZE];
        int32_t label;
        int failed = 0;
        for (int64_t i = 0; i < IMAGES; i++) {
            bl_error err = {0};
            bl_view view = {.size = SIZE, .augment = BL_AUGMENT_FLIP};
            if (dataset->kind->read(dataset, BL_SPLIT_TRAIN, i, &view, out, &label, &err) != BL_OK) {
                assert_non_null(strstr(err.message, "03.jpg"));
                failed++;
            }
        }
        assert_int_equal(failed, 1);
        bl_dataset_free(dataset);
    }
    free(folder);
    free(image);
}

static void names(void **state)
{
    for (int mode = BL_CACHE_NONE; mode <= BL_CACHE_DISK; mode++) {
        bl_cache_mode back;
        assert_true(bl_cache_mode_from_name(bl_cache_mode_name((bl_cache_mode)mode), &back));
        assert_int_equal(back, mode);
    }
    assert_false(bl_cache_mode_from_name("RAM", &(bl_cache_mode){0}));
}

#define WITH_IMAGES(test) cmocka_unit_test_setup_teardown(test, make_images, remove_images)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_IMAGES(every_cache_gives_the_same_bits),
        WITH_IMAGES(kept_images_need_no_files),
        WITH_IMAGES(what_does_not_fit_is_said),
        cmocka_unit_test(data_that_are_no_files_are_refused),
        WITH_IMAGES(files_are_reused_until_an_image_changes),
        WITH_IMAGES(damage_is_noticed),
        WITH_IMAGES(a_kill_while_building_does_no_harm),
        WITH_IMAGES(a_broken_image_is_left_out),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("data/cache", tests, NULL, NULL);
}
