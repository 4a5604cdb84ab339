#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/image.h"

/* A random picture. */
static bl_image make_image(int width, int height)
{
    bl_image image = {.pixels = malloc((size_t)width * (size_t)height * 3), .width = width, .height = height};
    bl_draws draws = {.state = 5};
    assert_non_null(image.pixels);
    for (int i = 0; i < width * height * 3; i++)
        image.pixels[i] = (uint8_t)(256 * bl_draw_uniform(&draws));
    return image;
}

static float *resampled(const bl_image *image, bl_region region, int size)
{
    bl_error err = {0};
    float *out = malloc((size_t)(3 * size * size) * sizeof *out);
    assert_non_null(out);
    assert_int_equal(bl_image_resample(image, &region, size, out, &err), BL_OK);
    return out;
}

/* In grey levels again. */
static double level(const float *out, int size, int c, int y, int x)
{
    return ((double)out[(c * size + y) * size + x] * (double)bl_image_deviation[c] + (double)bl_image_mean[c]) * 255;
}

static void the_same_size_is_exact(void **state)
{
    bl_image image = make_image(9, 9);
    for (int mirror = 0; mirror < 2; mirror++) {
        float *out = resampled(&image, (bl_region){.width = 9, .height = 9, .mirror = mirror}, 9);
        for (int y = 0; y < 9; y++)
            for (int x = 0; x < 9; x++)
                for (int c = 0; c < 3; c++) {
                    int from = mirror ? 8 - x : x;
                    double off = level(out, 9, c, y, x) - image.pixels[(y * 9 + from) * 3 + c];
                    assert_true(fabs(off) < 1e-3);
                }
        free(out);
    }
    bl_image_clear(&image);
}

/* The definition, slowly: a triangle as wide as max(1, scale) around the pixel's middle, over the image's pixels; black
 * where the middle lies beyond the image. */
static double by_definition(const bl_image *image, const bl_region *r, int size, int c, int y, int x)
{
    double sx = r->width / size, sy = r->height / size, wx = fmax(1, sx), wy = fmax(1, sy), sum = 0, total = 0;
    double cx = r->x + (x + 0.5) * sx, cy = r->y + (y + 0.5) * sy;
    if (cx < 0 || cy < 0 || cx >= image->width || cy >= image->height)
        return 0;
    for (int v = 0; v < image->height; v++)
        for (int u = 0; u < image->width; u++) {
            double w = fmax(0, 1 - fabs(u + 0.5 - cx) / wx) * fmax(0, 1 - fabs(v + 0.5 - cy) / wy);
            sum += w * image->pixels[(v * image->width + u) * 3 + c];
            total += w;
        }
    return sum / total;
}

static void shrinking_growing_and_parts_follow_the_definition(void **state)
{
    bl_image image = make_image(21, 17);
    static const bl_region regions[] = {{0, 0, 21, 17, false}, {2, 0, 17, 17, false},  {3.25, 4.5, 6.1, 5.7, false},
                                        {0, 0, 1, 1, false},   {-4, 5, 12, 12, false}, {15, 12, 10, 10, false}};
    static const int sizes[] = {1, 4, 8, 30};
    bl_resample_use(*state);
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            int size = sizes[k];
            float *out = resampled(&image, regions[i], size);
            for (int at = 0; at < 3 * size * size; at++) {
                int c = at / (size * size), y = at / size % size, x = at % size;
                double want = by_definition(&image, &regions[i], size, c, y, x);
                if (fabs(level(out, size, c, y, x) - want) > 0.01)
                    fail_msg("region %zu to %d: (%d, %d, %d) is %g, not %g", i, size, c, y, x,
                             level(out, size, c, y, x), want);
            }
            free(out);
        }
    bl_resample_use(NULL);
    bl_image_clear(&image);
}

/* However much it shrinks, a border is as bright as the rest. */
static void borders_are_not_darkened(void **state)
{
    bl_image image = make_image(400, 300);
    bl_error err = {0};
    memset(image.pixels, 200, 400 * 300 * 3);
    for (int size = 1; size <= 64; size *= 2) {
        float *out = malloc((size_t)(3 * size * size) * sizeof *out);
        assert_non_null(out);
        bl_region region = {.width = 400, .height = 300};
        assert_int_equal(bl_image_resample(&image, &region, size, out, &err), BL_OK);
        for (int at = 0; at < 3 * size * size; at++)
            assert_true(fabs(level(out, size, at / (size * size), at / size % size, at % size) - 200) < 0.01);
        free(out);
    }
    bl_image_clear(&image);
}

/* The same loops for another instruction set: they differ by rounding alone. */
static void instruction_sets_agree(void **state)
{
    bl_image image = make_image(301, 187);
    const bl_resample_loops *best = bl_resample_choose();
    if (best == &bl_resample_portable)
        print_message("only the portable loops here\n");
    for (uint64_t draw = 0; draw < 60; draw++) {
        bl_view view = {.size = 1 + (int)(draw * 7 % 130), .augment = BL_AUGMENT_CROP, .draw = draw};
        bl_region region = bl_view_region(&view, image.width, image.height);
        float *a = resampled(&image, region, view.size);
        bl_resample_use(&bl_resample_portable);
        float *b = resampled(&image, region, view.size);
        bl_resample_use(NULL);
        for (int i = 0; i < 3 * view.size * view.size; i++)
            assert_true(fabsf(a[i] - b[i]) < 2e-5f);
        free(a);
        free(b);
    }
    bl_image_clear(&image);
}

static void far_outside_is_black(void **state)
{
    bl_image image = make_image(8, 8);
    float *out = resampled(&image, (bl_region){.x = 20, .y = 0, .width = 8, .height = 8}, 8);
    for (int c = 0; c < 3; c++)
        assert_true(fabs(level(out, 8, c, 3, 3)) < 1e-3);
    free(out);
    bl_image_clear(&image);
}

static void views_are_decided_by_their_number(void **state)
{
    int mirrored = 0, differ = 0;
    bl_region before = {0};
    for (uint64_t draw = 0; draw < 2000; draw++) {
        for (int augment = BL_AUGMENT_FLIP; augment <= BL_AUGMENT_CROP; augment++) {
            bl_view view = {.size = 32, .augment = (bl_augment)augment, .draw = draw};
            bl_region a = bl_view_region(&view, 100, 60), b = bl_view_region(&view, 100, 60);
            assert_memory_equal(&a.x, &b.x, 4 * sizeof a.x);
            assert_true(a.mirror == b.mirror);
            if (augment == BL_AUGMENT_CROP) {
                double area = a.width * a.height / 6000, ratio = a.width / a.height;
                assert_true(a.x >= 0 && a.y >= 0 && a.x + a.width <= 100.001 && a.y + a.height <= 60.001);
                assert_true(area > 0.0799 && area < 1.0001);
                assert_true((ratio > 0.7499 && ratio < 1.3334) || (a.width == 60 && a.height == 60));
            } else {
                assert_true(a.width == 60 && a.height == 60 && fabs(a.x - 20) <= 7.5 && fabs(a.y) <= 7.5);
                mirrored += a.mirror;
                differ += a.x != before.x;
                before = a;
            }
        }
        bl_region plain = bl_view_region(&(bl_view){.size = 32, .draw = draw}, 100, 60);
        assert_true(plain.x == 20 && plain.y == 0 && plain.width == 60 && !plain.mirror);
    }
    assert_in_range(mirrored, 850, 1150);
    assert_true(differ > 1990);
}

static void names_of_augmentations(void **state)
{
    bl_augment a;
    assert_true(bl_augment_from_name("none", &a) && a == BL_AUGMENT_NONE);
    assert_true(bl_augment_from_name("flip", &a) && a == BL_AUGMENT_FLIP);
    assert_true(bl_augment_from_name("crop", &a) && a == BL_AUGMENT_CROP);
    assert_true(bl_augment_from_name("mosaic", &a) && a == BL_AUGMENT_MOSAIC);
    assert_false(bl_augment_from_name("Flip", &a));
    assert_false(bl_augment_from_name("", &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_size_is_exact),
        cmocka_unit_test(shrinking_growing_and_parts_follow_the_definition),
        cmocka_unit_test_prestate(shrinking_growing_and_parts_follow_the_definition, (void *)&bl_resample_portable),
        cmocka_unit_test(borders_are_not_darkened),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(far_outside_is_black),
        cmocka_unit_test(views_are_decided_by_their_number),
        cmocka_unit_test(names_of_augmentations),
    };
    return cmocka_run_group_tests_name("data/views", tests, NULL, NULL);
}
