/* Label files and folders of YOLO's layout. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "data/yolo_labels.h"
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

static void put(const char *top, const char *name, const char *text, size_t len)
{
    char *path = test_path(top, name), *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(bl_fs_mkdirs(path, NULL), BL_OK);
    *slash = '/';
    test_write_file(path, text, len);
    free(path);
}

static void put_text(const char *top, const char *name, const char *text)
{
    put(top, name, text, strlen(text));
}

static void put_picture(const char *top, const char *name, int width, int height)
{
    picture_file file =
        strstr(name, ".png") ? picture_png(PICTURE_RGB, width, height) : picture_jpeg(PICTURE_RGB, width, height);
    put(top, name, (const char *)file.data, file.len);
    picture_clear(&file);
}

static bl_objects parsed(const char *text, int64_t *n_duplicates)
{
    bl_error err = {0};
    bl_objects boxes = {0};
    *n_duplicates = 0;
    if (bl_yolo_parse_labels(text, strlen(text), "f.txt", 80, &boxes, n_duplicates, &err) != BL_OK)
        fail_msg("%s", err.message);
    return boxes;
}

static void assert_box(const bl_object *box, int label, double x, double y, double width, double height)
{
    if (box->label != label || fabs((double)box->x - x) > 1e-6 || fabs((double)box->y - y) > 1e-6 ||
        fabs((double)box->width - width) > 1e-6 || fabs((double)box->height - height) > 1e-6)
        fail_msg("%d %g %g %g %g", box->label, (double)box->x, (double)box->y, (double)box->width, (double)box->height);
}

static void lines_are_boxes(void **state)
{
    int64_t twice;
    bl_objects boxes =
        parsed("\n 79\t0.5  0.25 .5 5e-1 \r\n\n0 0.5 0.5 1 1\n79 0.5 0.25 0.5 0.5\n1 0.5 0.5 1 1", &twice);
    assert_int_equal(boxes.len, 3);
    assert_int_equal(twice, 1);
    assert_box(&boxes.items[0], 79, 0.5, 0.25, 0.5, 0.5);
    assert_box(&boxes.items[1], 0, 0.5, 0.5, 1, 1);
    assert_box(&boxes.items[2], 1, 0.5, 0.5, 1, 1);
    bl_objects_clear(&boxes);
    boxes = parsed("", &twice);
    assert_int_equal(boxes.len, 0);
    /* Beyond the image. */
    boxes = parsed("3 0.1 0.9 0.4 0.4\n4 0 0 1 1", &twice);
    assert_box(&boxes.items[0], 3, 0.15, 0.85, 0.3, 0.3);
    assert_box(&boxes.items[1], 4, 0.25, 0.25, 0.5, 0.5);
    bl_objects_clear(&boxes);
}

static void what_is_no_label_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *line, *word;
    } cases[] = {
        {"0 0.5 0.5 0.5", "fewer than 5"},
        {"0", "fewer than 5"},
        {"0 0.1 0.1 0.9 0.1 0.9 0.9", "more than 5"},
        {"0 0.5 0.5 0.5 0.5 0.9", "more than 5"},
        {"x 0.5 0.5 0.5 0.5", "'x'"},
        {"0.0 0.5 0.5 0.5 0.5", "'0.0'"},
        {"-1 0.5 0.5 0.5 0.5", "'-1'"},
        {"80 0.5 0.5 0.5 0.5", "'80'"},
        {"99999999999999999999 0.5 0.5 0.5 0.5", "the class"},
        {"0 0,5 0.5 0.5 0.5", "'0,5'"},
        {"0 0.5 0.5x 0.5 0.5", "'0.5x'"},
        {"0 nan 0.5 0.5 0.5", "'nan'"},
        {"0 0.5 NaN 0.5 0.5", "'NaN'"},
        {"0 0.5 0.5 inf 0.5", "'inf'"},
        {"0 0.5 0.5 1e999 0.5", "1e999"},
        {"0 1.0001 0.5 0.5 0.5", "x 1.0001"},
        {"0 0.5 -0.1 0.5 0.5", "y -0.1"},
        {"0 0.5 0.5 -0.5 0.5", "the width -0.5"},
        {"0 0.5 0.5 0.5 -0.5", "the height -0.5"},
        {"0 0.5 0.5 0 0.5", "the width 0"},
        {"0 0.5 0.5 0.5 1e-60", "the height 1e-60"},
        {"0 0.5 0.5 0.5 0.50000000000000000000000000000000000000000000000000000000000000000000", "no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        bl_objects boxes = {0};
        bl_error err = {0};
        int64_t twice = 0;
        snprintf(text, sizeof text, "0 0.5 0.5 0.5 0.5\n\n%s\n1 0.5 0.5 0.5 0.5\n", cases[i].line);
        assert_int_equal(bl_yolo_parse_labels(text, strlen(text), "a/f.txt", 80, &boxes, &twice, &err), BL_ERR_FORMAT);
        if (!strstr(err.message, "'a/f.txt', line 3: ") || !strstr(err.message, cases[i].word) || !err.remedy[0])
            fail_msg("'%s' (%s) does not say '%s'", err.message, err.remedy, cases[i].word);
        bl_objects_clear(&boxes);
    }
    bl_objects boxes = {0};
    bl_error err = {0};
    int64_t twice = 0;
    assert_int_equal(bl_yolo_parse_labels("0 0.5 0.5 0.5 0.5\0 1", 20, "f", 80, &boxes, &twice, &err), BL_ERR_FORMAT);
    bl_objects_clear(&boxes);
}

static bl_dataset *opened(const char *path, int n_classes)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    if (bl_yolo_open(path, n_classes, &dataset, &err) != BL_OK)
        fail_msg("%s", err.message);
    return dataset;
}

static bl_objects boxes_of(const bl_dataset *dataset, bl_split split, int64_t index, float frame[4])
{
    float out[3 * 16 * 16];
    bl_objects boxes = {0};
    bl_error err = {0};
    if (dataset->kind->read_boxes(dataset, split, index, &(bl_view){.size = 16}, out, &boxes, frame, &err) != BL_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_true(out[i] >= 0 && out[i] <= 1);
    return boxes;
}

static void labels_lie_beside_the_images(void **state)
{
    const char *top = *state;
    float frame[4];
    put_picture(top, "images/x/images/train/b.jpg", 40, 20);
    put_picture(top, "images/x/images/train/a.c.PNG.png", 20, 40);
    put_picture(top, "images/x/images/train/c.JPEG", 20, 20);
    put_picture(top, "images/x/images/val/1.jpg", 20, 20);
    put_text(top, "images/x/labels/train/b.txt", "2 0.5 0.5 1 1\n2 0.5 0.5 1 1\n");
    put_text(top, "images/x/labels/train/a.c.PNG.txt", "1 0.25 0.5 0.5 1\n");
    put_text(top, "images/x/labels/train/nobody.txt", "nonsense");
    put_text(top, "images/x/labels/val/1.txt", "4 0.5 0.5 0.5 0.5\n");
    char *path = test_path(top, "images/x"); /* the last "images" is meant */
    bl_dataset *dataset = opened(path, 0);
    assert_int_equal(dataset->count[BL_SPLIT_TRAIN], 3);
    assert_int_equal(dataset->count[BL_SPLIT_TEST], 1);
    assert_int_equal(dataset->n_classes, 5);
    assert_non_null(strstr(dataset->description, "3 images to train on (2 boxes, 1 images without)"));
    assert_non_null(strstr(dataset->description, "1 repeated"));
    bl_objects boxes = boxes_of(dataset, BL_SPLIT_TRAIN, 0, frame);
    assert_int_equal(boxes.len, 1);
    assert_box(&boxes.items[0], 1, 0.375, 0.5, 0.25, 1); /* a tall picture between two grey bars */
    assert_true(frame[0] == 4 && frame[1] == 0 && frame[2] == 12 && frame[3] == 16);
    bl_objects_clear(&boxes);
    boxes = boxes_of(dataset, BL_SPLIT_TRAIN, 1, frame);
    assert_int_equal(boxes.len, 1);
    assert_box(&boxes.items[0], 2, 0.5, 0.5, 1, 0.5);
    bl_objects_clear(&boxes);
    boxes = boxes_of(dataset, BL_SPLIT_TRAIN, 2, frame);
    assert_int_equal(boxes.len, 0); /* background */
    bl_dataset_free(dataset);
    dataset = opened(path, 90);
    assert_int_equal(dataset->n_classes, 90);
    bl_dataset_free(dataset);
    put_text(path, "classes.txt", "cat\ndog\r\nbird\nhorse\nman\ntraffic light\n\n");
    dataset = opened(path, 0);
    assert_int_equal(dataset->n_classes, 6);
    bl_dataset_free(dataset);
    free(path);
}

static void other_layouts(void **state)
{
    const char *top = *state;
    put_picture(top, "a/images/train2017/1.jpg", 20, 20);
    put_text(top, "a/labels/train2017/1.txt", "0 0.5 0.5 0.5 0.5\n");
    put_picture(top, "a/images/test/1.jpg", 20, 20);
    put_text(top, "a/labels/test/1.txt", "0 0.5 0.5 0.5 0.5\n");
    put_picture(top, "b/train/images/1.jpg", 20, 20);
    put_text(top, "b/train/labels/1.txt", "0 0.5 0.5 0.5 0.5\n");
    put_picture(top, "b/test/images/1.jpg", 20, 20);
    put_picture(top, "b/val/images/1.jpg", 20, 20);
    put_text(top, "b/val/labels/1.txt", "3 0.5 0.5 0.5 0.5\n");
    char *a = test_path(top, "a"), *b = test_path(top, "b");
    bl_dataset *dataset = opened(a, 0);
    assert_int_equal(dataset->count[BL_SPLIT_TRAIN], 1);
    assert_int_equal(dataset->count[BL_SPLIT_TEST], 1); /* no val */
    bl_dataset_free(dataset);
    dataset = opened(b, 0);
    assert_int_equal(dataset->n_classes, 4); /* val, not test */
    bl_dataset_free(dataset);
    free(a);
    free(b);
}

static void refuse(const char *path, int n_classes, int code, const char *word, const char *remedy)
{
    bl_error err = {0};
    bl_dataset *dataset = NULL;
    assert_int_equal(bl_yolo_open(path, n_classes, &dataset, &err), code);
    assert_null(dataset);
    if (!strstr(err.message, word) || !strstr(err.remedy, remedy))
        fail_msg("'%s' ('%s') does not say '%s' ('%s')", err.message, err.remedy, word, remedy);
}

static void folders_that_are_no_data(void **state)
{
    const char *top = *state;
    char *none = test_path(top, "none");
    refuse(none, 0, BL_ERR_ENV, "none", "");
    refuse(top, 0, BL_ERR_ENV, "images/train", "images/train/*.jpg");
    put_text(top, "images/train/notes.txt", "");
    refuse(top, 0, BL_ERR_ENV, "images/train", "");
    put_picture(top, "images/train/1.jpg", 20, 20);
    refuse(top, 0, BL_ERR_FORMAT, "no image in", "labels/train/*.txt");
    put_text(top, "labels/train/1.txt", "0 0.5 0.5 0.5 0.5\n9 0.5 0.5 0.5 0.5 0.5\n");
    refuse(top, 0, BL_ERR_FORMAT, "labels/train/1.txt', line 2", "");
    put_text(top, "labels/train/1.txt", "0 0.5 0.5 0.5 0.5\n9 0.5 0.5 0.5 0.5\n");
    refuse(top, 9, BL_ERR_FORMAT, "labels/train/1.txt', line 2: the class '9'", "");
    put_text(top, "classes.txt", "one\ntwo\n");
    refuse(top, 0, BL_ERR_FORMAT, "line 2: the class '9'", "");
    put_text(top, "classes.txt", "\n");
    refuse(top, 0, BL_ERR_FORMAT, "classes.txt", "");
    free(none);
}

static void two_folders_of_a_kind_are_not_guessed_between(void **state)
{
    const char *top = *state;
    put_picture(top, "images/train2014/1.jpg", 20, 20);
    put_picture(top, "images/train2017/1.jpg", 20, 20);
    refuse(top, 0, BL_ERR_ENV, "both 'train2014' and 'train2017'", "'train'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_boxes),
        cmocka_unit_test(what_is_no_label_is_refused_with_its_line),
        cmocka_unit_test_setup_teardown(labels_lie_beside_the_images, make_top, remove_top),
        cmocka_unit_test_setup_teardown(other_layouts, make_top, remove_top),
        cmocka_unit_test_setup_teardown(folders_that_are_no_data, make_top, remove_top),
        cmocka_unit_test_setup_teardown(two_folders_of_a_kind_are_not_guessed_between, make_top, remove_top),
    };
    return cmocka_run_group_tests_name("data/yolo", tests, NULL, NULL);
}
