/* IoU against counted pixels; CIoU against another way of writing it, and its gradient against central differences. */
#include "testing.h"

#include <math.h>

#include "formula.h"

#define STEP 1e-6

static bl_box box_of(int i, uint64_t stream)
{
    double u[4];
    for (int k = 0; k < 4; k++)
        u[k] = formula_uniform(stream, (uint64_t)(i * 4 + k));
    return (bl_box){5 + 3 * u[0], 5 + 3 * u[1], 4.5 + 4 * u[2], 4.5 + 4 * u[3]};
}

static void iou_counts_pixels(void **state)
{
    for (int i = 0; i < 200; i++) {
        int c[2][4], both = 0, any = 0;
        bl_box box[2];
        for (int b = 0; b < 2; b++) {
            for (int k = 0; k < 4; k++)
                c[b][k] = (int)(formula_bits(b, (uint64_t)(i * 4 + k)) % 9) + (k >= 2); /* x, y, width, height */
            box[b] = (bl_box){c[b][0] + c[b][2] / 2.0, c[b][1] + c[b][3] / 2.0, c[b][2], c[b][3]};
        }
        for (int p = 0; p < 20 * 20; p++) {
            int in = 0;
            for (int b = 0; b < 2; b++)
                in +=
                    p % 20 >= c[b][0] && p % 20 < c[b][0] + c[b][2] && p / 20 >= c[b][1] && p / 20 < c[b][1] + c[b][3];
            both += in == 2;
            any += in > 0;
        }
        assert_true(fabs(bl_box_iou(&box[0], &box[1]) - (double)both / any) < 1e-12);
    }
}

static void odd_boxes_have_no_iou(void **state)
{
    const bl_box one = {1, 1, 2, 2}, empty = {1, 1, 0, 0}, nan = {NAN, 1, 2, 2}, far = {1e300, 1, 2, 2};
    assert_true(bl_box_iou(&one, &one) == 1);
    assert_true(bl_box_iou(&empty, &empty) == 0);
    assert_true(bl_box_iou(&one, &empty) == 0);
    assert_true(bl_box_iou(&one, &far) == 0);
    assert_true(bl_box_iou(&nan, &one) == 0 || bl_box_iou(&nan, &one) <= 1);
    assert_true(isnan(bl_box_ciou(&nan, &one).value));
}

static void ciou_and_its_gradient(void **state)
{
    int apart = 0;
    for (int i = 0; i < 500; i++) {
        bl_box box = box_of(i, 1), truth = box_of(i, 2);
        if (i % 5 == 0) /* edges that coincide */
            box = (bl_box){truth.x, i % 2 ? truth.y : box.y, truth.w, i % 3 ? truth.h : box.h};
        bl_ciou got = bl_box_ciou(&box, &truth);
        assert_true(fabs(got.value - formula_ciou(&box, &truth, NAN)) < 1e-12);
        apart += bl_box_iou(&box, &truth) == 0;
        for (int k = 0; k < 4; k++) {
            bl_box above = box, below = box;
            (&above.x)[k] += STEP;
            (&below.x)[k] -= STEP;
            double slope =
                (formula_ciou(&above, &truth, got.alpha) - formula_ciou(&below, &truth, got.alpha)) / (2 * STEP);
            if (fabs(got.d[k] - slope) > 2e-6)
                fail_msg("pair %d: the derivative by number %d is %.9g, not %.9g", i, k, got.d[k], slope);
        }
    }
    assert_in_range(apart, 20, 480); /* both kinds were seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iou_counts_pixels),
        cmocka_unit_test(odd_boxes_have_no_iou),
        cmocka_unit_test(ciou_and_its_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
