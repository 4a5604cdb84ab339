/* data.yaml, lists of images, and the data sets that they describe. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/data_yaml.h"
#include "data/image_list.h"
#include "data/yolo_places.h"
#include "folders.h"

static void keys_are_taken(void **state)
{
    static const char text[] = "# a comment\n"
                               "path: ../coco # of the file\n"
                               "train:\n  - a.txt\n  - \"b c\"\n"
                               "val: images/val\n"
                               "test: # nothing\n"
                               "nc: 3\n"
                               "names:\n  2: traffic light\n  0: person\n  1: 'no'\n"
                               "download: |\n  a script: {[\n"
                               "anchors: {deep: [1, [2, 3]]}\n";
    bl_error err = {0};
    bl_data_yaml y;
    assert_int_equal(bl_data_yaml_parse(text, strlen(text), "f", &y, &err), BL_OK);
    assert_string_equal(y.path, "../coco");
    assert_int_equal(y.train.len, 2);
    assert_string_equal(y.train.items[1], "b c");
    assert_string_equal(y.val.items[0], "images/val");
    assert_int_equal(y.test.len, 0);
    assert_int_equal(y.nc, 3);
    assert_string_equal(y.names.items[0], "person");
    assert_string_equal(y.names.items[1], "no");
    assert_string_equal(y.names.items[2], "traffic light");
    bl_data_yaml_clear(&y);
    static const char flow[] = "{train: t, nc: 2, names: ['a', b]}";
    assert_int_equal(bl_data_yaml_parse(flow, strlen(flow), "f", &y, &err), BL_OK);
    assert_null(y.path);
    assert_string_equal(y.names.items[1], "b");
    bl_data_yaml_clear(&y);
}

static void what_makes_no_sense_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"", "no keys"},
        {"just a text", "no keys"},
        {"- train: a", "no keys"},
        {"val: a\n", "images to train on"},
        {"train:\n", "images to train on"},
        {"train: [a, [b]]\n", "line 1: this is no text"},
        {"\ntrain: {a: b}\n", "line 2: this is no text"},
        {"train: a\ntrain: b\n", "line 2: this key was there before"},
        {"train: a\nnc: many\n", "line 2: nc must be a number"},
        {"train: a\nnc: 0\n", "nc must be"},
        {"train: a\nnc: -1\n", "nc must be"},
        {"train: a\nnc: 10001\n", "nc must be"},
        {"train: a\nnc: [1]\n", "nc must be"},
        {"train: a\nnc: 2\nnames: [x]\n", "says nc: 2, and names 1"},
        {"train: a\nnames: x\n", "names must be a list"},
        {"train: a\nnames: {1: x}\n", "not 0, 1 and so on"},
        {"train: a\nnames: {0: x, 0: y}\n", "line 2: "},
        {"train: a\nnames: {cat: 0}\n", "not 0, 1"},
        {"train: a\nnames: [[x]]\n", "this is no text"},
        {"train: a\npath: [x]\n", "path must be"},
        {"train: \"a\\0b\"\n", "this is no text"},
        {"train: a\n\tnc: 1\n", "line 2"},
        {"train: [a\n", "line 2"},
        {"train: *nobody\n", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bl_error err = {0};
        bl_data_yaml y;
        assert_int_equal(bl_data_yaml_parse(cases[i].text, strlen(cases[i].text), "f.yaml", &y, &err), BL_ERR_FORMAT);
        if (!strstr(err.message, cases[i].word) || !strstr(err.message, "f.yaml"))
            fail_msg("'%s': '%s' does not say '%s'", cases[i].text, err.message, cases[i].word);
        assert_true(err.remedy[0] != '\0');
        bl_data_yaml_clear(&y);
        bl_error_clear(&err);
    }
}

static void lists_are_lines(void **state)
{
    bl_strv list;
    bl_error err = {0};
    bl_strv_init(&list);
    static const char text[] = "./a b.jpg\r\n\n \t././x/../y.png \n/abs.jpg";
    assert_int_equal(bl_image_list_parse(text, strlen(text), "l", &list, &err), BL_OK);
    assert_int_equal(list.len, 3);
    assert_string_equal(list.items[0], "a b.jpg");
    assert_string_equal(list.items[1], "x/../y.png");
    assert_string_equal(list.items[2], "/abs.jpg");
    assert_int_equal(bl_image_list_parse("a\nb\0c\n", 6, "l", &list, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "'l', line 2"));
    bl_error_clear(&err);
    char *line = malloc(BL_IMAGE_LIST_LINE_MAX + 1);
    memset(line, 'x', BL_IMAGE_LIST_LINE_MAX + 1);
    assert_int_equal(bl_image_list_parse(line, BL_IMAGE_LIST_LINE_MAX, "l", &list, &err), BL_OK);
    assert_int_equal(bl_image_list_parse(line, BL_IMAGE_LIST_LINE_MAX + 1, "l", &list, &err), BL_ERR_FORMAT);
    free(line);
    bl_strv_clear(&list);
}

static void labels_belong_to_the_last_folder_of_images(void **state)
{
    static const char *const pairs[][2] = {
        {"a/images/train/1.jpg", "a/labels/train/1.txt"}, {"/images/images/x.y.png", "/images/labels/x.y.txt"},
        {"a/images.d/1.jpg", "a/images.d/1.txt"},         {"1.jpg", "1.txt"},
        {"a/images/no.dots/1", "a/labels/no.dots/1.txt"},
    };
    char out[BL_YOLO_PATH_MAX];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(bl_yolo_labels_of(pairs[i][0], out, NULL), BL_OK);
        assert_string_equal(out, pairs[i][1]);
    }
    char *longest = calloc(1, BL_YOLO_PATH_MAX + 1);
    memset(longest, 'x', BL_YOLO_PATH_MAX - 5);
    assert_int_equal(bl_yolo_labels_of(longest, out, NULL), BL_OK);
    longest[BL_YOLO_PATH_MAX - 5] = 'x';
    assert_int_equal(bl_yolo_labels_of(longest, out, NULL), BL_ERR_FORMAT);
    free(longest);
}

#define LABEL "1 0.5 0.5 0.5 0.5\n"

static void put_boxes(const char *top, const char *split, int n)
{
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "images/%s/%d.jpg", split, i);
        put_picture(top, name);
        snprintf(name, sizeof name, "labels/%s/%d.txt", split, i);
        put_text(top, name, LABEL);
    }
}

static void assert_counts(const char *path, int64_t train, int64_t test, int n_classes)
{
    bl_dataset *dataset = data_opened(&(bl_data_options){.path = path, .boxes = true});
    assert_int_equal(dataset->count[0], train);
    assert_int_equal(dataset->count[1], test);
    assert_int_equal(dataset->n_classes, n_classes);
    for (int64_t i = 0; i < train; i++) {
        float out[3 * 16 * 16], frame[4];
        bl_objects boxes = {0};
        bl_error err = {0};
        assert_int_equal(
            dataset->kind->read_boxes(dataset, BL_SPLIT_TRAIN, i, &(bl_view){.size = 16}, out, &boxes, frame, &err),
            BL_OK);
        assert_int_equal(boxes.len, 1);
        bl_objects_clear(&boxes);
    }
    bl_dataset_free(dataset);
}

static void paths_begin_where_the_file_says(void **state)
{
    const char *top = *state;
    char *data = test_path(top, "birds"), *yaml = test_path(data, "data.yaml"), *there = test_path(top, "there.yml");
    put_boxes(data, "train", 5);
    put_boxes(data, "val", 2);
    put_text(data, "birds.yaml", "train: images/train\nval: images/val\nnames: [a, b, c]\n");
    assert_counts(data, 5, 2, 3); /* of the folder's name */
    put_text(data, "data.yaml", "train: images/train\nnc: 2\n");
    assert_counts(data, 5, 0, 2); /* goes first */
    assert_counts(yaml, 5, 0, 2);
    put_text(data, "data.yaml", "path: elsewhere/birds\ntrain: images/train\ntest: images/val\n"); /* it was moved */
    assert_counts(data, 5, 2, 2);
    put_text(data, "data.yaml", "train: ../images/train\nval: ../images/val\n"); /* as some tools write it */
    assert_counts(data, 5, 2, 2);
    put_text(top, "there.yml", "path: birds\ntrain: [images/train, images/val]\n");
    assert_counts(there, 7, 0, 2);
    char text[4096 + 64], *old = getcwd(NULL, 0);
    snprintf(text, sizeof text, "path: %s\ntrain: images/train\n", data);
    put_text(top, "there.yml", text);
    assert_counts(there, 5, 0, 2);
    assert_int_equal(chdir(data), 0); /* relative to where it runs, as YOLOv7's */
    put_text(top, "there.yml", "train: ./images/train\n");
    assert_counts(there, 5, 0, 2);
    assert_int_equal(chdir(old), 0);
    data_refused(&(bl_data_options){.path = there, .boxes = true}, BL_ERR_ENV, "says 'train: ./images/train'");
    data_refused(&(bl_data_options){.path = there}, BL_ERR_USAGE, "for detectors");
    put_text(top, "there.yml", "path: birds\ntrain: images/train\nnc: 1\n");
    data_refused(&(bl_data_options){.path = there, .boxes = true}, BL_ERR_FORMAT, "0.txt', line 1: the class");
    free(old);
    free(data);
    free(yaml);
    free(there);
}

static void lists_name_the_images(void **state)
{
    const char *top = *state;
    put_boxes(top, "train", 4);
    put_text(top, "data.yaml", "path: .\ntrain: lists/train.txt\n");
    put_text(top, "lists/train.txt",
             "./images/train/0.jpg\n\nimages/train/3.jpg\nimages/train/0.jpg\nimages/train/9.jpg");
    bl_dataset *dataset = data_opened(&(bl_data_options){.path = top, .boxes = true});
    assert_int_equal(dataset->count[0], 2); /* looked for beside the list, then from "path" on */
    assert_int_equal(dataset->left_out.len, 2);
    assert_non_null(strstr(dataset->left_out.items[0], "the same label file"));
    assert_non_null(strstr(dataset->left_out.items[1], "9.jpg"));
    bl_dataset_free(dataset);
    put_text(top, "lists/train.txt", "");
    data_refused(&(bl_data_options){.path = top, .boxes = true}, BL_ERR_ENV, "holds no JPEG");
    put_text(top, "lists/train.txt", "images/train/7.jpg\n");
    data_refused(&(bl_data_options){.path = top, .boxes = true}, BL_ERR_FORMAT, "can be used");
}

static void what_is_odd_is_left_out_or_listed(void **state)
{
    const char *top = *state;
    put_boxes(top, "train", 2);
    put_picture(top, "images/train/0.png"); /* whose label file is 0.jpg's */
    put_picture(top, "images/train/bare.jpg");
    put_text(top, "images/train/broken.jpg", "no image");
    put_text(top, "labels/train/broken.txt", "nonsense"); /* nobody looks at it */
    put_text(top, "images/train/inner/notes.txt", "");
    put_text(top, "labels/train/1.txt", LABEL LABEL);
    bl_dataset *dataset = data_opened(&(bl_data_options){.path = top, .boxes = true});
    assert_int_equal(dataset->count[0], 3);
    assert_int_equal(dataset->left_out.len, 3);
    assert_non_null(strstr(dataset->left_out.items[0], "inner: a folder"));
    assert_non_null(strstr(dataset->left_out.items[1], "0.png: an image before it"));
    assert_non_null(strstr(dataset->left_out.items[2], "broken.jpg: neither"));
    assert_int_equal(dataset->remarks.len, 2);
    assert_non_null(strstr(dataset->remarks.items[0], "labels/train/1.txt: a label"));
    assert_non_null(strstr(dataset->remarks.items[1], "bare.jpg: there is no label file"));
    assert_non_null(strstr(dataset->description, "1 images have no label file; 1 repeated labels"));
    bl_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_taken),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_line),
        cmocka_unit_test(lists_are_lines),
        cmocka_unit_test(labels_belong_to_the_last_folder_of_images),
        cmocka_unit_test_setup_teardown(paths_begin_where_the_file_says, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(lists_name_the_images, folders_make, folders_remove),
        cmocka_unit_test_setup_teardown(what_is_odd_is_left_out_or_listed, folders_make, folders_remove),
    };
    return cmocka_run_group_tests_name("data/data_yaml", tests, NULL, NULL);
}
