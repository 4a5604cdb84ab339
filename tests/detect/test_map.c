/* Mean average precision against COCO's evaluator (tools/make_coco_golden.py), and by hand. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect/map.h"
#include "formula.h"

enum { IMAGES = 16, CLASSES = 7, MOST = 512, LADDER_FIRST = 8, LADDER_LAST = 12 };

typedef struct picture {
    bl_truth truths[MOST];
    bl_detection detections[MOST];
    int n_truths, n_detections;
} picture;

static uint32_t below(uint32_t n, uint64_t stream, int id)
{
    return formula_bits(stream, (uint64_t)id) % n;
}

/* In quarters of a pixel; the edges that follow are exact in floats. */
static float quarters(double n)
{
    return (float)(n / 4);
}

static void make_truths(picture *p, int image)
{
    p->n_truths = image == 2 || image == 5 ? 0 : 3 + (int)below(8, 1, image);
    for (int j = 0; j < p->n_truths; j++) {
        int id = image * 64 + j;
        bl_truth *t = &p->truths[j];
        t->x1 = quarters(below(1600, 2, id));
        t->y1 = quarters(below(1600, 3, id));
        t->x2 = t->x1 + quarters(16 + below(800, 4, id));
        t->y2 = t->y1 + quarters(16 + below(800, 5, id));
        t->cls = (int)below(5, 6, id);
        t->crowd = below(9, 7, id) == 0;
    }
}

static void make_detection(picture *p, int image, int j)
{
    int id = image * MOST + j;
    bl_detection *d = &p->detections[j];
    float w = quarters(16 + below(800, 18, id)), h = quarters(16 + below(800, 19, id));
    *d = (bl_detection){.x1 = quarters(below(1600, 16, id)), .y1 = quarters(below(1600, 17, id))};
    d->cls = (int)below(6, 13, id);
    if (p->n_truths > 0 && below(4, 9, id) != 0) {
        const bl_truth *t = &p->truths[below((uint32_t)p->n_truths, 10, id)];
        uint32_t kind = below(4, 11, id);
        float spread = kind == 2 ? 8 : 1;
        d->x1 = t->x1;
        d->y1 = t->y1;
        w = t->x2 - t->x1;
        h = t->y2 - t->y1;
        if (kind == 1)
            w /= 2; /* IoU 0.5, exactly */
        if (kind >= 2) {
            d->x1 += quarters(((double)below(9, 12, id) - 4) * (double)spread);
            d->y1 += quarters(((double)below(9, 20, id) - 4) * (double)spread);
        }
        if (below(6, 21, id) != 0)
            d->cls = t->cls;
    }
    if (image == 3 && below(3, 14, id) != 0)
        d->cls = 0;
    if (d->cls == 4)
        d->cls = 1;
    d->x2 = d->x1 + w;
    d->y2 = d->y1 + h;
    d->score = (float)(1 + below(64, 15, id)) / 64;
}

/* Twenty boxes of class 6, all found, with others between. */
static void add_ladder(picture *p, int image)
{
    for (int j = 0; j < 20; j++) {
        int id = image * MOST + 100 + j;
        float x = (float)(1000 + 20 * j);
        p->truths[p->n_truths++] = (bl_truth){x, 500, x + 10, 510, 6, false};
        p->detections[p->n_detections++] =
            (bl_detection){x, 500, x + 10, 510, (float)(1 + below(1000, 23, id)) / 1024, 6};
        if (below(2, 24, id))
            p->detections[p->n_detections++] =
                (bl_detection){x, 900, x + 10, 910, (float)(1 + below(1000, 25, id)) / 1024, 6};
    }
}

static void make_picture(picture *p, int image)
{
    make_truths(p, image);
    p->n_detections = image == 3 ? 300 : image == 5 || image == 7 ? 0 : 20 + (int)below(20, 8, image);
    for (int j = 0; j < p->n_detections; j++)
        make_detection(p, image, j);
    if (image >= LADDER_FIRST && image <= LADDER_LAST)
        add_ladder(p, image);
}

static bl_map *map_of(int n_classes)
{
    bl_map *map;
    assert_int_equal(bl_map_new(n_classes, &map, NULL), BL_OK);
    return map;
}

static void add_all(bl_map *map)
{
    bl_error err = {0};
    for (int i = 0; i < IMAGES; i++) {
        picture p;
        make_picture(&p, i);
        if (bl_map_add(map, p.truths, p.n_truths, p.detections, p.n_detections, &err) != BL_OK)
            fail_msg("%s", err.message);
    }
}

static double number(char **at)
{
    return strtod(*at, at);
}

/* -1 is how COCO says that there is nothing to say. */
static void same(double got, double wanted, const char *line)
{
    if (wanted < 0 ? !isnan(got) : !(fabs(got - wanted) < 1e-12))
        fail_msg("%.17g is not %.17g: %s", got, wanted, line);
}

static void agrees_with_coco(void **state)
{
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/tests/golden/coco_map.txt", getenv("BATCHLAB_SOURCE_ROOT"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bl_map *map = map_of(CLASSES);
    bl_map_result all;
    bl_map_class classes[CLASSES];
    add_all(map);
    assert_int_equal(bl_map_compute(map, &all, classes, NULL), BL_OK);
    int n = 0;
    for (; fgets(line, sizeof line, file); n += line[0] != '#') {
        char *at = line + strcspn(line, " ");
        if (strncmp(line, "all ", 4) == 0) {
            same((double)all.n_images, number(&at), line);
            same((double)all.n_truths, number(&at), line);
            same(all.map, number(&at), line);
            same(all.map50, number(&at), line);
        } else if (strncmp(line, "class ", 6) == 0) {
            const bl_map_class *c = &classes[(int)number(&at)];
            same((double)c->n_truths, number(&at), line);
            same(c->ap, number(&at), line);
            same(c->ap50, number(&at), line);
        } else if (strncmp(line, "threshold ", 10) == 0) {
            int t = (int)number(&at);
            same(all.at[t], number(&at), line);
        }
    }
    assert_int_equal(n, 1 + CLASSES + BL_MAP_THRESHOLDS);
    fclose(file);
    bl_map_free(map);
}

/* Two boxes; right, wrong, right: precision 1 up to recall 0.5, then 2/3. */
static void by_hand(void **state)
{
    const bl_truth truths[] = {{0, 0, 10, 10, 0, false}, {20, 0, 30, 10, 0, false}};
    const bl_detection found[] = {
        {0, 0, 10, 10, 0.9f, 0}, {50, 50, 60, 60, 0.8f, 0}, {20, 0, 30, 10, 0.7f, 0}, {0, 0, 10, 10, 0.95f, 1}};
    bl_map *map = map_of(3);
    bl_map_result all;
    bl_map_class classes[3];
    assert_int_equal(bl_map_compute(map, &all, classes, NULL), BL_OK);
    assert_true(isnan(all.map) && isnan(all.map50) && isnan(classes[0].ap));
    assert_int_equal(bl_map_add(map, truths, 2, found, 4, NULL), BL_OK);
    assert_int_equal(bl_map_compute(map, &all, classes, NULL), BL_OK);
    double wanted = (51 + 50 * 2.0 / 3) / 101;
    same(classes[0].ap, wanted, "ap");
    same(classes[0].ap50, wanted, "ap50");
    same(all.map, wanted, "map"); /* the other class has no truths */
    assert_true(isnan(classes[1].ap) && isnan(classes[2].ap50));
    assert_int_equal(all.n_truths, 2);
    /* An image more without any box found: half of the truths are missing. */
    assert_int_equal(bl_map_add(map, truths, 2, NULL, 0, NULL), BL_OK);
    assert_int_equal(bl_map_compute(map, &all, NULL, NULL), BL_OK);
    same(all.map50, (26 + 25 * 2.0 / 3) / 101, "map50");
    assert_int_equal(all.n_images, 2);
    bl_map_free(map);
}

/* A detection inside a crowd and on a box as well is for the box; one inside the crowd alone does not count. */
static void crowds_come_last(void **state)
{
    const bl_truth truths[] = {{0, 0, 100, 100, 0, true}, {0, 0, 10, 10, 0, false}};
    const bl_detection found[] = {{40, 40, 50, 50, 0.9f, 0}, {0, 0, 10, 6, 0.8f, 0}, {60, 60, 70, 70, 0.7f, 0}};
    bl_map *map = map_of(1);
    bl_map_result all;
    assert_int_equal(bl_map_add(map, truths, 2, found, 3, NULL), BL_OK);
    assert_int_equal(bl_map_compute(map, &all, NULL, NULL), BL_OK);
    assert_int_equal(all.n_truths, 1);
    same(all.at[0], 1, "0.5");
    same(all.at[2], 1, "0.6");
    same(all.at[3], 0, "0.65");
    bl_map_free(map);
}

static void odd_boxes_are_refused(void **state)
{
    const bl_truth good = {0, 0, 10, 10, 0, false};
    const bl_truth bad_truths[] = {{0, 0, NAN, 1, 0, false}, {0, 0, 1, 1, 2, false}, {0, 0, 1, 1, -1, false}};
    const bl_detection bad[] = {
        {0, 0, 1, 1, NAN, 0}, {0, INFINITY, 1, 1, 1, 0}, {0, 0, 1, 1, 1, 2}, {0, 0, 1, 1, 1, -1}};
    bl_map *map = map_of(2);
    bl_map_result all;
    for (size_t i = 0; i < sizeof bad_truths / sizeof *bad_truths; i++)
        assert_int_equal(bl_map_add(map, &bad_truths[i], 1, NULL, 0, NULL), BL_ERR_INTERNAL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(bl_map_add(map, &good, 1, &bad[i], 1, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_map_compute(map, &all, NULL, NULL), BL_OK);
    assert_int_equal(all.n_images, 0);
    assert_int_equal(all.n_truths, 0);
    bl_map_free(map);
}

/* Wherever memory ends, an error comes back, and the image counts whole or not at all. */
static void out_of_memory_is_an_error(void **state)
{
    static picture p;
    make_picture(&p, 1);
    int failures = 0;
    for (int n = 0;; n++) {
        bl_map *map = NULL;
        bl_map_result all = {0};
        bl_error err = {0};
        test_alloc_fail_after(n);
        int code = bl_map_new(CLASSES, &map, &err);
        if (code == BL_OK)
            code = bl_map_add(map, p.truths, p.n_truths, p.detections, p.n_detections, &err);
        bool added = code == BL_OK;
        if (added)
            code = bl_map_compute(map, &all, NULL, &err);
        int failed = test_alloc_restore();
        if (map) {
            assert_int_equal(bl_map_compute(map, &all, NULL, NULL), BL_OK);
            assert_int_equal(all.n_images, added);
        }
        bl_map_free(map);
        if (!failed)
            break;
        assert_int_equal(code, BL_ERR_NOMEM);
        failures++;
    }
    assert_true(failures > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_coco),          cmocka_unit_test(by_hand),
        cmocka_unit_test(crowds_come_last),          cmocka_unit_test(odd_boxes_are_refused),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
