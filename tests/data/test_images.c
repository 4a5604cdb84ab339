#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "data/image.h"
#include "pictures.h"

static bl_image decoded(picture_file *file, int least)
{
    bl_error err = {0};
    bl_image image;
    if (bl_image_decode(file->data, file->len, least, "picture", &image, &err) != BL_OK)
        fail_msg("%s", err.message);
    picture_clear(file);
    return image;
}

/* The largest difference from what the picture shows; JPEG is not exact. */
static int worst_difference(const bl_image *image, bool grey)
{
    int worst = 0;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
            for (int c = 0; c < 3; c++) {
                int want = picture_value(x, y, image->width, image->height, grey ? 0 : c);
                int off = abs(image->pixels[(y * image->width + x) * 3 + c] - want);
                worst = off > worst ? off : worst;
            }
    return worst;
}

static void jpegs_of_all_colour_spaces(void **state)
{
    static const picture_kind kinds[] = {PICTURE_RGB, PICTURE_GREY, PICTURE_CMYK};
    for (size_t i = 0; i < BL_ARRAY_LEN(kinds); i++) {
        picture_file file = picture_jpeg(kinds[i], 45, 30);
        bl_image image = decoded(&file, 0);
        assert_int_equal(image.width, 45);
        assert_int_equal(image.height, 30);
        int worst = worst_difference(&image, kinds[i] == PICTURE_GREY);
        if (worst > 8)
            fail_msg("kind %d: %d grey levels off", kinds[i], worst);
        bl_image_clear(&image);
    }
}

static void large_jpegs_are_decoded_small(void **state)
{
    static const struct {
        int least, width, height;
    } cases[] = {{0, 640, 400}, {400, 640, 400}, {201, 640, 400}, {200, 320, 200}, {64, 160, 100}, {10, 80, 50}};
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        picture_file file = picture_jpeg(PICTURE_RGB, 640, 400);
        bl_image image = decoded(&file, cases[i].least);
        assert_int_equal(image.width, cases[i].width);
        assert_int_equal(image.height, cases[i].height);
        assert_true(worst_difference(&image, false) <= 8);
        bl_image_clear(&image);
    }
}

static void pngs_of_all_kinds(void **state)
{
    picture_file file = picture_png(PICTURE_RGB, 19, 23);
    bl_image image = decoded(&file, 0);
    assert_int_equal(image.width, 19);
    assert_int_equal(image.height, 23);
    assert_int_equal(worst_difference(&image, false), 0);
    bl_image_clear(&image);

    file = picture_png(PICTURE_GREY, 19, 23);
    image = decoded(&file, 0);
    assert_int_equal(worst_difference(&image, true), 0);
    bl_image_clear(&image);

    file = picture_png(PICTURE_PALETTE, 7, 5);
    image = decoded(&file, 0);
    const uint8_t *p = image.pixels + (2 * 7 + 3) * 3; /* (3, 2): entry 5 % 3 */
    assert_true(p[0] == 10 && p[1] == 20 && p[2] == 30);
    bl_image_clear(&image);
}

static void transparency_lies_over_black(void **state)
{
    picture_file file = picture_png(PICTURE_RGBA, 32, 2);
    bl_image image = decoded(&file, 0);
    assert_int_equal(image.pixels[0], 0);
    assert_int_equal(image.pixels[31 * 3], 200);
    for (int x = 1; x < 32; x++)
        assert_true(image.pixels[x * 3] >= image.pixels[(x - 1) * 3]);
    bl_image_clear(&image);
}

/* Half the light is 188 of 255 in sRGB: the decoder converts, and does not just drop the low bytes. */
static void sixteen_bits_are_converted(void **state)
{
    picture_file file = picture_png(PICTURE_RGB16, 4, 4);
    bl_image image = decoded(&file, 0);
    static const int want[] = {156, 213, 255}; /* sRGB of 1/3, 2/3, 1 (IEC 61966-2-1) */
    for (int c = 0; c < 3; c++)
        assert_in_range(image.pixels[c], want[c] - 1, want[c] + 1 > 255 ? 255 : want[c] + 1);
    bl_image_clear(&image);
}

static void refuse(const uint8_t *data, size_t len, const char *word)
{
    bl_error err = {0};
    bl_image image;
    assert_int_equal(bl_image_decode(data, len, 0, "some/file.jpg", &image, &err), BL_ERR_FORMAT);
    assert_null(image.pixels);
    assert_non_null(strstr(err.message, "some/file.jpg"));
    if (!strstr(err.message, word))
        fail_msg("'%s' does not say '%s'", err.message, word);
    assert_string_not_equal(err.remedy, "");
}

static void broken_files_are_named(void **state)
{
    picture_file jpeg = picture_jpeg(PICTURE_RGB, 64, 64), png = picture_png(PICTURE_RGB, 64, 64);
    refuse((const uint8_t *)"", 0, "neither");
    refuse((const uint8_t *)"GIF89a", 6, "neither");
    refuse((const uint8_t *)"\xFF\xD8", 2, "neither");
    refuse(jpeg.data, 3, "JPEG");
    refuse(png.data, 8, "PNG");
    for (size_t share = 1; share < 10; share++) {
        refuse(jpeg.data, jpeg.len * share / 10, "JPEG");
        refuse(png.data, png.len * share / 10, "PNG");
    }
    png.data[png.len / 2] ^= 1; /* its checksum is wrong then */
    refuse(png.data, png.len, "PNG");
    picture_clear(&jpeg);
    picture_clear(&png);
}

/* A header that claims 65500 pixels a side, in a file of a few hundred bytes. */
static void huge_claims_are_refused_before_memory_is_asked_for(void **state)
{
    picture_file jpeg = picture_jpeg(PICTURE_RGB, 16, 16);
    for (size_t i = 2; i + 9 < jpeg.len; i++)
        if (jpeg.data[i] == 0xFF && jpeg.data[i + 1] == 0xC0) { /* start of frame: height, width */
            memcpy(jpeg.data + i + 5, "\xFF\xDC\xFF\xDC", 4);
            break;
        }
    refuse(jpeg.data, jpeg.len, "32768");
    picture_clear(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpegs_of_all_colour_spaces),
        cmocka_unit_test(large_jpegs_are_decoded_small),
        cmocka_unit_test(pngs_of_all_kinds),
        cmocka_unit_test(transparency_lies_over_black),
        cmocka_unit_test(sixteen_bits_are_converted),
        cmocka_unit_test(broken_files_are_named),
        cmocka_unit_test(huge_claims_are_refused_before_memory_is_asked_for),
    };
    return cmocka_run_group_tests_name("data/images", tests, NULL, NULL);
}
