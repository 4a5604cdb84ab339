/* What a scan leaves out, and what it remembers. */
#include "testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "data/scan_cache.h"
#include "folders.h"
#include "pictures.h"

static bool says(const bl_strv *list, const char *name, const char *why)
{
    for (size_t i = 0; i < list->len; i++)
        if (strstr(list->items[i], name) && strstr(list->items[i], why))
            return true;
    return false;
}

static void put_bytes_of(const char *top, const char *name, picture_file file, size_t len)
{
    put(top, name, file.data, len);
    picture_clear(&file);
}

/* A JPEG and a PNG whose headers claim 50 000 x 50 000 pixels. */
static void put_huge(const char *top)
{
    picture_file jpeg = picture_jpeg(PICTURE_RGB, 24, 20), png = picture_png(PICTURE_RGB, 20, 20);
    for (size_t i = 2; i + 8 < jpeg.len; i++)
        if (jpeg.data[i] == 0xFF && jpeg.data[i + 1] == 0xC0) {
            memcpy(jpeg.data + i + 5, "\xC3\x50\xC3\x50", 4);
            break;
        }
    memcpy(png.data + 16, "\0\0\xC3\x50\0\0\xC3\x50", 8);
    put_bytes_of(top, "train/a/huge.jpg", jpeg, jpeg.len);
    put_bytes_of(top, "train/a/huge.png", png, png.len);
}

static void put_bad_files(const char *top)
{
    picture_file jpeg = picture_jpeg(PICTURE_RGB, 24, 20), png = picture_png(PICTURE_RGB, 20, 20);
    put(top, "train/a/cut.jpg", jpeg.data, jpeg.len - 2);
    put(top, "train/a/short.jpg", jpeg.data, 30);
    put(top, "train/a/cut.png", png.data, png.len - 12);
    put(top, "train/a/header.png", png.data, 20);
    put(top, "train/a/empty.jpg", "", 0);
    put_text(top, "train/a/text.jpg", "no image at all");
    put_text(top, "train/a/nonsense.jpg", "\xFF\xD8\xFF\xD9 nonsense");
    put_text(top, "train/a/inner/x.txt", "a folder in a class");
    put_text(top, "train/a/folder.png/x.txt", "a folder by an image's name");
    picture_clear(&jpeg);
    picture_clear(&png);
    put_huge(top);
    char *loop = test_path(top, "train/a/loop.jpg"), *here = test_path(top, "train/a/here"),
         *gone = test_path(top, "train/a/gone.jpg"), *pipe = test_path(top, "train/a/pipe.jpg");
    assert_int_equal(symlink("loop.jpg", loop), 0);
    assert_int_equal(symlink(".", here), 0);
    assert_int_equal(symlink("nowhere.jpg", gone), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    free(loop);
    free(here);
    free(gone);
    free(pipe);
}

static void what_is_no_whole_image_is_left_out_and_listed(void **state)
{
    static const char *const expected[][2] = {
        {"cut.jpg", "ends too early"},  {"short.jpg", "ends too early"},
        {"cut.png", "ends too early"},  {"header.png", "ends too early"},
        {"empty.jpg", "an empty file"}, {"text.jpg", "neither JPEG nor PNG"},
        {"nonsense.jpg", "header"},     {"inner", "not entered"},
        {"folder.png", "is no file"},   {"huge.jpg", "claims more pixels"},
        {"huge.png", "more pixels"},    {"loop.jpg", "cannot open"},
        {"here", "not entered"},        {"gone.jpg", "cannot open"},
        {"pipe.jpg", "is no file"},
    };
    const size_t n = sizeof expected / sizeof *expected;
    const char *top = *state;
    static const picture_kind jpegs[] = {PICTURE_RGB, PICTURE_GREY, PICTURE_CMYK};
    static const picture_kind pngs[] = {PICTURE_RGB, PICTURE_GREY, PICTURE_RGBA, PICTURE_PALETTE, PICTURE_RGB16};
    char *data = test_path(top, "data");
    put_bad_files(data);
    for (int i = 0; i < 8; i++) {
        char name[64];
        snprintf(name, sizeof name, "train/a/good%d.%s", i, i < 3 ? "jpg" : "png");
        picture_file file = i < 3 ? picture_jpeg(jpegs[i], 24, 20) : picture_png(pngs[i - 3], 20, 20);
        put_bytes_of(data, name, file, file.len);
    }
    put_picture(data, "train/b/1.jpg");
    for (int run = 0; run < 3; run++) { /* at first, remembered, and anew */
        bl_dataset *dataset = data_opened(&(bl_data_options){.path = data, .remember = run < 2});
        assert_int_equal(dataset->count[0], 9);
        for (size_t i = 0; i < n; i++)
            if (!says(&dataset->left_out, expected[i][0], expected[i][1]))
                fail_msg("run %d: %s is not said to be '%s'", run, expected[i][0], expected[i][1]);
        assert_int_equal(dataset->left_out.len, n);
        for (int64_t i = 0; i < 9; i++) {
            float out[3 * 8 * 8];
            int32_t label;
            assert_int_equal(dataset->kind->read(dataset, BL_SPLIT_TRAIN, i, &(bl_view){.size = 8}, out, &label, NULL),
                             BL_OK);
            assert_int_equal(label, i == 8);
        }
        bl_dataset_free(dataset);
    }
    free(data);
}

static void a_class_of_nothing_but_damage_is_refused(void **state)
{
    const char *top = *state;
    put_picture(top, "train/a/1.jpg");
    put_text(top, "train/b/1.jpg", "no image");
    put_text(top, "train/b/2.jpg", "no image");
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, "train/b");
    data_refused(&(bl_data_options){.path = top}, BL_ERR_FORMAT, "neither JPEG nor PNG");
}

/* The bits in the middle of the picture's data turned over: the file has its end, and decodes to nonsense or not. */
static void put_damaged(const char *top, const char *name)
{
    picture_file png = picture_png(PICTURE_RGB, 20, 20);
    for (size_t i = png.len / 2; i < png.len / 2 + 8; i++)
        png.data[i] ^= 0xFF;
    put_bytes_of(top, name, png, png.len);
}

static int64_t count(const bl_data_options *options, size_t left_out)
{
    bl_dataset *dataset = data_opened(options);
    assert_int_equal(dataset->left_out.len, left_out);
    int64_t n = dataset->count[0];
    bl_dataset_free(dataset);
    return n;
}

static void damage_within_is_found_by_decoding(void **state)
{
    char *data = test_path(*state, "data");
    put_picture(data, "train/a/1.png");
    put_damaged(data, "train/a/2.png");
    for (int round = 0; round < 2; round++) { /* what one way remembers does not mislead the other */
        assert_int_equal(count(&(bl_data_options){.path = data, .remember = true}, 0), 2);
        assert_int_equal(count(&(bl_data_options){.path = data, .remember = true, .verify = true}, 1), 1);
    }
    bl_dataset *dataset = data_opened(&(bl_data_options){.path = data, .verify = true});
    assert_true(says(&dataset->left_out, "2.png", "cannot be decoded"));
    bl_dataset_free(dataset);
    free(data);
}

/* The file that is kept under the cache's folder, to be freed; NULL: none. */
static char *kept_file(const char *top)
{
    char *folder = test_path(top, "cache/batchlab"), *found = NULL;
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (strstr(e->d_name, ".scan")) {
            assert_null(found);
            found = test_path(folder, e->d_name);
        }
    if (dir)
        closedir(dir);
    free(folder);
    return found;
}

/* A file of the same size, with the same time of change of its content (not of itself). */
static void overwrite(const char *path, const void *data, size_t len)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    test_write_file(path, data, len);
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_changed_is_looked_at_again(void **state)
{
    const char *top = *state;
    char *data = test_path(top, "data"), *first = test_path(data, "train/a/1.jpg");
    bl_data_options options = {.path = data};
    put_picture(data, "train/a/1.jpg");
    put_picture(data, "train/a/2.jpg");
    assert_int_equal(count(&options, 0), 2);
    assert_null(kept_file(top)); /* not asked for */
    options.remember = true;
    assert_int_equal(count(&options, 0), 2);
    char *kept = kept_file(top);
    assert_non_null(kept);
    put_text(data, "train/a/1.jpg", "no image");
    assert_int_equal(count(&options, 1), 1);
    put_picture(data, "train/a/1.jpg");
    assert_int_equal(count(&options, 0), 2);
    struct stat info;
    assert_int_equal(stat(first, &info), 0);
    char *nothing = calloc(1, (size_t)info.st_size);
    usleep(20000); /* times tell changes apart where a tick of the file system's clock lies between them */
    overwrite(first, nothing, (size_t)info.st_size);
    assert_int_equal(count(&options, 1), 1);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(count(&options, 0), 1);
    put_picture(data, "train/a/3.jpg");
    assert_int_equal(count(&options, 0), 2);
    free(nothing);
    free(kept);
    free(first);
    free(data);
}

/* Tells whether a scan looked into a file, by a record in what is kept that lies about it. */
static void known_files_are_not_read_again(void **state)
{
    const char *top = *state;
    char *data = test_path(top, "data"), *text = NULL;
    size_t len;
    put_picture(data, "train/a/1.jpg");
    put_picture(data, "train/a/2.jpg");
    bl_data_options options = {.path = data, .remember = true};
    assert_int_equal(count(&options, 0), 2);
    char *kept = kept_file(top), *root = realpath(data, NULL);
    assert_int_equal(bl_fs_read(kept, 1 << 20, &text, &len, NULL), BL_OK);
    bl_scan_cache cache;
    assert_true(bl_scan_cache_parse((const uint8_t *)text, len, root, &cache));
    assert_int_equal(cache.len, 2);
    assert_non_null(bl_scan_cache_find(&cache, "train/a/2.jpg"));
    assert_null(bl_scan_cache_find(&cache, "train/a/4.jpg"));
    cache.records[1].state = BL_PROBE_CUT;
    bl_str lie;
    bl_str_init(&lie);
    assert_int_equal(bl_scan_cache_write(&cache, root, &lie, NULL), BL_OK);
    test_write_file(kept, lie.data, lie.len);
    assert_int_equal(count(&options, 1), 1);
    bl_str_clear(&lie);
    bl_scan_cache_clear(&cache);
    free(text);
    free(root);
    free(kept);
    free(data);
}

/* Any byte changed, any beginning of the file, something else altogether: refused, and built anew. */
static void a_damaged_memory_is_no_memory(void **state)
{
    const char *top = *state;
    char *data = test_path(top, "data"), *text = NULL;
    size_t len;
    put_picture(data, "train/a/1.jpg");
    put_text(data, "train/a/2.jpg", "no image");
    bl_data_options options = {.path = data, .remember = true};
    assert_int_equal(count(&options, 1), 1);
    char *kept = kept_file(top), *root = realpath(data, NULL);
    assert_int_equal(bl_fs_read(kept, 1 << 20, &text, &len, NULL), BL_OK);
    bl_scan_cache cache;
    for (size_t i = 0; i < len; i++) {
        assert_false(bl_scan_cache_parse((const uint8_t *)text, i, root, &cache));
        text[i] ^= 0x41;
        assert_false(bl_scan_cache_parse((const uint8_t *)text, len, root, &cache));
        assert_int_equal(cache.len, 0);
        text[i] ^= 0x41;
    }
    assert_false(bl_scan_cache_parse((const uint8_t *)text, len, "/elsewhere", &cache));
    text[len / 2] ^= 1;
    test_write_file(kept, text, len);
    assert_int_equal(count(&options, 1), 1);
    free(text);
    assert_int_equal(bl_fs_read(kept, 1 << 20, &text, &len, NULL), BL_OK);
    assert_true(bl_scan_cache_parse((const uint8_t *)text, len, root, &cache)); /* it was written anew */
    bl_scan_cache_clear(&cache);
    /* Where it cannot be kept, all goes on. */
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(mkdir(kept, 0700), 0);
    assert_int_equal(count(&options, 1), 1);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    assert_int_equal(count(&options, 1), 1);
    free(text);
    free(root);
    free(kept);
    free(data);
}

static void nothing_is_kept_among_the_data(void **state)
{
    const char *top = *state;
    char *data = test_path(top, "data"), *inside = test_path(data, "train");
    put_picture(data, "train/a/1.jpg");
    setenv("XDG_CACHE_HOME", inside, 1);
    bl_data_options options = {.path = data, .remember = true};
    assert_int_equal(count(&options, 0), 1);
    assert_int_equal(count(&options, 0), 1); /* no class "batchlab" */
    free(inside);
    free(data);
}

static void tell(void *context, int64_t done, int64_t total)
{
    int64_t *last = context;
    assert_true(done > *last && done <= total && total == 150);
    *last = done;
}

static void progress_is_told(void **state)
{
    const char *top = *state;
    int64_t last = 0;
    for (int i = 0; i < 150; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%c/%d.jpg", i < 100 ? "train" : "val", 'a' + i % 2, i);
        put_picture(top, name);
    }
    bl_dataset_free(data_opened(&(bl_data_options){.path = top, .progress = tell, .context = &last}));
    assert_int_equal(last, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_no_whole_image_is_left_out_and_listed, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(a_class_of_nothing_but_damage_is_refused, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(damage_within_is_found_by_decoding, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(what_changed_is_looked_at_again, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(known_files_are_not_read_again, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(a_damaged_memory_is_no_memory, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(nothing_is_kept_among_the_data, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(progress_is_told, folders_make, folders_remove),
    };
    return cmocka_run_group_tests_name("data/scan", tests, NULL, NULL);
}
