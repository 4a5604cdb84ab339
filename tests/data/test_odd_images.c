/* Photographs that lie on their side, headers that claim too much. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "data/exif.h"
#include "data/picture.h"
#include "pictures.h"

enum { WIDTH = 48, HEIGHT = 32 };

/* The JPEG with an Exif segment behind its first two bytes. */
static picture_file with_exif(int orientation, bool little, int type)
{
    static const uint8_t big_end[] = "Exif\0\0MM\0*\0\0\0\x08\0\x02\x01\x0F\0\x02\0\0\0\x01"
                                     "A\0\0\0\x01\x12\0\0\0\0\0\x01\0\0\0\0";
    static const uint8_t little_end[] = "Exif\0\0II*\0\x08\0\0\0\x02\0\x0F\x01\x02\0\x01\0\0\0"
                                        "A\0\0\0\x12\x01\0\0\x01\0\0\0\0\0\0\0";
    enum { PAYLOAD_B = 6 + 8 + 2 + 2 * 12, TYPE_AT = 6 + 8 + 2 + 12 + 2, VALUE_AT = 6 + 8 + 2 + 12 + 8 };
    uint8_t payload[PAYLOAD_B];
    memcpy(payload, little ? little_end : big_end, PAYLOAD_B);
    payload[TYPE_AT + !little] = (uint8_t)type;
    payload[VALUE_AT + !little] = (uint8_t)orientation;
    picture_file file = picture_jpeg(PICTURE_RGB, WIDTH, HEIGHT);
    uint8_t *data = malloc(file.len + PAYLOAD_B + 4);
    assert_non_null(data);
    memcpy(data, file.data, 2);
    memcpy(data + 2, "\xFF\xE1\0", 3);
    data[5] = PAYLOAD_B + 2;
    memcpy(data + 6, payload, PAYLOAD_B);
    memcpy(data + 6 + PAYLOAD_B, file.data + 2, file.len - 2);
    picture_file out = {data, file.len + PAYLOAD_B + 4};
    picture_clear(&file);
    return out;
}

static bl_image decoded(const picture_file *file)
{
    bl_error err = {0};
    bl_image image;
    if (bl_image_decode(file->data, file->len, 0, "picture", &image, &err) != BL_OK)
        fail_msg("%s", err.message);
    return image;
}

static const uint8_t *pixel(const bl_image *image, int x, int y)
{
    return image->pixels + 3 * (y * image->width + x);
}

/* Exif's own words: which side of the picture the file's row 0 and column 0 are. */
static void orientations_are_what_exif_says(void **state)
{
    static const struct {
        char row, column; /* top, bottom, left, right */
    } sides[] = {{'t', 'l'}, {'t', 'r'}, {'b', 'r'}, {'b', 'l'}, {'l', 't'}, {'r', 't'}, {'r', 'b'}, {'l', 'b'}};
    picture_file plain = picture_jpeg(PICTURE_RGB, WIDTH, HEIGHT);
    bl_image stored = decoded(&plain);
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int little = 0; little < 2; little++) {
            picture_file file = with_exif(orientation, little, 3);
            bl_image image = decoded(&file);
            char row = sides[orientation - 1].row, column = sides[orientation - 1].column;
            bool turned = row == 'l' || row == 'r';
            assert_int_equal(image.width, turned ? HEIGHT : WIDTH);
            assert_int_equal(image.height, turned ? WIDTH : HEIGHT);
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++) {
                    /* Row 0 on the top: the stored y counts down from there; on the right: leftwards from there. */
                    int shown_y = row == 't' ? y : row == 'b' ? HEIGHT - 1 - y : column == 't' ? x : WIDTH - 1 - x;
                    int shown_x = row == 'l' ? y : row == 'r' ? HEIGHT - 1 - y : column == 'l' ? x : WIDTH - 1 - x;
                    assert_memory_equal(pixel(&image, shown_x, shown_y), pixel(&stored, x, y), 3);
                }
            bl_image_clear(&image);
            picture_clear(&file);
        }
    bl_image_clear(&stored);
    picture_clear(&plain);
}

static void parts_are_of_the_upright_image(void **state)
{
    picture_file file = with_exif(6, true, 3);
    bl_image image = decoded(&file);
    bl_scratch scratch = {0};
    bl_picture picture;
    assert_int_equal(bl_picture_decode(file.data, file.len, &(bl_want){0}, "picture", &scratch, &picture, NULL), BL_OK);
    assert_int_equal(picture.width, HEIGHT);
    assert_int_equal(picture.height, WIDTH);
    assert_memory_equal(picture.pixels, image.pixels, 3 * WIDTH * HEIGHT);
    bl_scratch_clear(&scratch);
    bl_image_clear(&image);
    picture_clear(&file);
}

static void orientations_that_make_no_sense_are_upright(void **state)
{
    for (int value = 0; value < 256; value++) {
        picture_file file = with_exif(value, value % 2 == 0, 3);
        assert_int_equal(bl_exif_orientation(file.data, file.len), value >= 1 && value <= 8 ? value : 1);
        picture_clear(&file);
        file = with_exif(value, value % 2 == 0, 4); /* no short number */
        assert_int_equal(bl_exif_orientation(file.data, file.len), 1);
        picture_clear(&file);
    }
    /* Cut anywhere, the sanitizer watching; whole, it is there. */
    picture_file file = with_exif(6, false, 3);
    for (size_t n = 0; n < 60; n++) {
        uint8_t *cut = malloc(n > 0 ? n : 1);
        assert_non_null(cut);
        memcpy(cut, file.data, n);
        assert_int_equal(bl_exif_orientation(cut, n), n < 46 ? 1 : 6);
        free(cut);
    }
    picture_clear(&file);
}

/* Each side is allowed, and the area is not. */
static void areas_are_limited(void **state)
{
    assert_false(bl_image_too_large(32768, 4096));
    assert_true(bl_image_too_large(32768, 4097));
    assert_true(bl_image_too_large(32769, 1));
    assert_true(bl_image_too_large(1, 32769));
    picture_file jpeg = picture_jpeg(PICTURE_RGB, 16, 16);
    for (size_t i = 2; i + 9 < jpeg.len; i++)
        if (jpeg.data[i] == 0xFF && jpeg.data[i + 1] == 0xC0) {
            memcpy(jpeg.data + i + 5, "\x7F\xFF\x7F\xFF", 4);
            break;
        }
    bl_error err = {0};
    bl_image image;
    bl_scratch scratch = {0};
    bl_picture picture;
    assert_int_equal(bl_image_decode(jpeg.data, jpeg.len, 0, "wide.jpg", &image, &err), BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "'wide.jpg' claims 32767 x 32767 pixels"));
    bl_error_clear(&err);
    assert_int_equal(bl_picture_decode(jpeg.data, jpeg.len, &(bl_want){0}, "wide.jpg", &scratch, &picture, &err),
                     BL_ERR_FORMAT);
    assert_non_null(strstr(err.message, "'wide.jpg' claims 32767 x 32767 pixels"));
    bl_scratch_clear(&scratch);
    picture_clear(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orientations_are_what_exif_says),
        cmocka_unit_test(parts_are_of_the_upright_image),
        cmocka_unit_test(orientations_that_make_no_sense_are_upright),
        cmocka_unit_test(areas_are_limited),
    };
    return cmocka_run_group_tests_name("data/odd_images", tests, NULL, NULL);
}
