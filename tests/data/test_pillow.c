/* Resizing against Pillow's, whose results tools/make_resize_golden.py stored. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "data/image.h"

enum { WIDTH = 97, HEIGHT = 61, SIZE_MAX_HERE = 64 };

/* The script's formula. */
static bl_image make_picture(void)
{
    bl_image image = {.pixels = malloc(WIDTH * HEIGHT * 3), .width = WIDTH, .height = HEIGHT};
    assert_non_null(image.pixels);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 3; c++)
                image.pixels[(y * WIDTH + x) * 3 + c] =
                    (uint8_t)((x * x * (c + 3) + y * y * 7 + x * y * (5 - c) + 40 * c + (x ^ y) * 11) / 3 % 256);
    return image;
}

static int hex(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* In grey levels: the mean and the largest difference. Pillow rounds twice, after each direction. */
static void compare(const bl_image *image, const bl_region *region, int size, const uint8_t *theirs)
{
    static float ours[3 * SIZE_MAX_HERE * SIZE_MAX_HERE];
    double sum = 0, worst = 0;
    bl_error err = {0};
    assert_int_equal(bl_image_resample(image, region, size, ours, &err), BL_OK);
    for (int i = 0; i < 3 * size * size; i++) {
        int c = i % 3, at = c * size * size + i / 3;
        double level = ((double)ours[at] * (double)bl_image_deviation[c] + (double)bl_image_mean[c]) * 255;
        sum += fabs(level - theirs[i]);
        worst = fmax(worst, fabs(level - theirs[i]));
    }
    print_message("%d x %d: %.3f levels off on average, %.3f at most\n", size, size, sum / (3 * size * size), worst);
    assert_true(sum / (3 * size * size) < 0.5 && worst < 1.2);
}

static void resizing_is_pillows(void **state)
{
    const char *root = getenv("BATCHLAB_SOURCE_ROOT");
    char *path = test_path(root ? root : ".", "tests/golden/resize.txt"), *text = NULL, *rest = NULL;
    size_t len;
    bl_error err = {0};
    if (bl_fs_read(path, 1 << 20, &text, &len, &err) != BL_OK)
        fail_msg("%s", err.message);
    bl_image image = make_picture();
    static uint8_t theirs[3 * SIZE_MAX_HERE * SIZE_MAX_HERE];
    bl_region region = {0};
    int size = 0, row = 0, cases = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '#')
            continue;
        if (sscanf(line, "case %lf %lf %lf %lf %d", &region.x, &region.y, &region.width, &region.height, &size) == 5) {
            assert_in_range(size, 1, SIZE_MAX_HERE);
            row = 0;
            continue;
        }
        assert_int_equal(strlen(line), 6 * size);
        for (int i = 0; i < 3 * size; i++)
            theirs[3 * size * row + i] = (uint8_t)(16 * hex(line[2 * i]) + hex(line[2 * i + 1]));
        if (++row == size) {
            compare(&image, &region, size, theirs);
            cases++;
        }
    }
    assert_int_equal(cases, 6);
    bl_image_clear(&image);
    free(text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(resizing_is_pillows)};
    return cmocka_run_group_tests_name("data/pillow", tests, NULL, NULL);
}
