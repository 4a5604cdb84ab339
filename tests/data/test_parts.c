/* Parts of JPEG images against libjpeg's own decoding of the whole, and batches' use of memory. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/attributes.h"
#include "base/fs.h"
#include "data/jpeg_quick.h"
#include "data/loader.h"
#include "data/picture.h"
#include "pictures.h"

typedef struct kind {
    int width, height, h, v; /* h, v: how many luminance pixels share one of chrominance */
    bool progressive, grey, restarts;
} kind;

/* Noise with slopes: every pixel differs from its neighbours. */
static picture_file make_jpeg(const kind *k)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr error;
    unsigned char *data = NULL;
    unsigned long len = 0;
    int channels = k->grey ? 1 : 3;
    uint32_t noise = 12345;
    info.err = jpeg_std_error(&error);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &len);
    info.image_width = (JDIMENSION)k->width;
    info.image_height = (JDIMENSION)k->height;
    info.input_components = channels;
    info.in_color_space = k->grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 90, TRUE);
    if (!k->grey) {
        info.comp_info[0].h_samp_factor = k->h;
        info.comp_info[0].v_samp_factor = k->v;
    }
    if (k->restarts)
        info.restart_in_rows = 1;
    if (k->progressive)
        jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    JSAMPLE *row = malloc((size_t)(k->width * channels));
    assert_non_null(row);
    while (info.next_scanline < info.image_height) {
        for (int i = 0; i < k->width * channels; i++) {
            noise = noise * 1664525u + 1013904223u;
            row[i] = (JSAMPLE)((i * 3 + (int)info.next_scanline * (1 + i % channels) + (int)(noise >> 26)) & 255);
        }
        jpeg_write_scanlines(&info, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    picture_file file = {.data = malloc(len), .len = len};
    assert_non_null(file.data);
    memcpy(file.data, data, len);
    free(data);
    return file;
}

/* As a program would that knows nothing but libjpeg. */
static uint8_t *plainly_decoded(const picture_file *file, unsigned denominator, int *width, int *height)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr error;
    info.err = jpeg_std_error(&error);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, file->data, file->len);
    jpeg_read_header(&info, TRUE);
    info.scale_num = 1;
    info.scale_denom = denominator;
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    *width = (int)info.output_width;
    *height = (int)info.output_height;
    uint8_t *pixels = malloc((size_t)*width * (size_t)*height * 3);
    assert_non_null(pixels);
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = pixels + 3 * (size_t)*width * info.output_scanline;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return pixels;
}

static bl_part wanted;

static bl_part as_wanted(void *context, int width, int height)
{
    return wanted;
}

static void compare(const picture_file *file, const uint8_t *whole, int width, int height, int least)
{
    bl_scratch scratch = {0};
    bl_error err = {0};
    bl_picture p;
    bl_want want = {.least = least, .part = as_wanted};
    if (bl_picture_decode(file->data, file->len, &want, "picture", &scratch, &p, &err) != BL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(p.width, width);
    assert_int_equal(p.height, height);
    if (wanted.columns > 0 && wanted.rows > 0) {
        assert_true(p.part.left <= wanted.left && p.part.top <= wanted.top);
        assert_true(p.part.left + p.part.columns >= wanted.left + wanted.columns);
        assert_true(p.part.top + p.part.rows >= wanted.top + wanted.rows);
    }
    for (int y = wanted.top; y < wanted.top + wanted.rows; y++) {
        const uint8_t *got =
            p.pixels + 3 * ((size_t)(y - p.part.top) * (size_t)p.part.columns + (size_t)(wanted.left - p.part.left));
        if (memcmp(got, whole + 3 * (y * width + wanted.left), (size_t)(3 * wanted.columns)) != 0)
            fail_msg("line %d of (%d, %d) + (%d, %d) of %d x %d differs", y, wanted.left, wanted.top, wanted.columns,
                     wanted.rows, width, height);
    }
    bl_scratch_clear(&scratch);
}

static void parts_have_the_whole_images_bits(void **state)
{
    static const kind kinds[] = {{200, 150, 2, 2, false, false, false}, {201, 147, 2, 1, false, false, false},
                                 {130, 99, 1, 1, false, false, false},  {200, 150, 2, 2, true, false, false},
                                 {177, 120, 1, 2, false, false, false}, {150, 133, 1, 1, false, true, false},
                                 {200, 150, 2, 2, false, false, true},  {190, 90, 4, 1, false, false, false}};
    bl_draws draws = {.state = 3};
    for (size_t i = 0; i < BL_ARRAY_LEN(kinds); i++)
        for (int least = 0; least < 61; least += 30) { /* in full, half or a quarter */
            picture_file file = make_jpeg(&kinds[i]);
            int width, height;
            unsigned denominator = bl_jpeg_denominator((unsigned)kinds[i].width, (unsigned)kinds[i].height, least);
            uint8_t *whole = plainly_decoded(&file, denominator, &width, &height);
            wanted = (bl_part){0, 0, width, height};
            compare(&file, whole, width, height, least);
            wanted = (bl_part){0};
            compare(&file, whole, width, height, least);
            for (int k = 0; k < 60; k++) {
                int left = (int)(bl_draw_uniform(&draws) * width), top = (int)(bl_draw_uniform(&draws) * height);
                wanted = (bl_part){left, top, 1 + (int)(bl_draw_uniform(&draws) * (width - left)),
                                   1 + (int)(bl_draw_uniform(&draws) * (height - top))};
                if (wanted.columns > width - left)
                    wanted.columns = width - left;
                if (wanted.rows > height - top)
                    wanted.rows = height - top;
                compare(&file, whole, width, height, least);
            }
            free(whole);
            picture_clear(&file);
        }
}

/* What is common is done by the project's own code, what is not is left to libjpeg. */
static void the_quick_way_takes_what_is_common(void **state)
{
#ifdef BL_DATA_X86
    static const struct {
        kind kind;
        bool taken;
    } cases[] = {{{200, 150, 2, 2, false, false, false}, true},  {{201, 147, 2, 1, false, false, false}, true},
                 {{130, 99, 1, 1, false, false, false}, true},   {{200, 150, 2, 2, true, false, false}, false},
                 {{177, 120, 1, 2, false, false, false}, false}, {{150, 133, 1, 1, false, true, false}, false},
                 {{200, 150, 2, 2, false, false, true}, false},  {{7, 150, 2, 2, false, false, false}, false}};
    if (!bl_jpeg_quick_can())
        skip();
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        picture_file file = make_jpeg(&cases[i].kind);
        struct jpeg_decompress_struct info;
        struct jpeg_error_mgr error;
        bl_scratch scratch = {0};
        bl_picture picture;
        info.err = jpeg_std_error(&error);
        jpeg_create_decompress(&info);
        jpeg_mem_src(&info, file.data, file.len);
        jpeg_read_header(&info, TRUE);
        bl_part part = {1, 40, 5, 30};
        assert_int_equal(bl_jpeg_quick(&info, part, &scratch, &picture), cases[i].taken);
        jpeg_destroy_decompress(&info);
        bl_scratch_clear(&scratch);
        picture_clear(&file);
    }
#else
    skip();
#endif
}

/* A file that ends too early is refused even where the part would lie above the gap. */
static void truncated_files_are_noticed_whatever_the_part(void **state)
{
    picture_file file = make_jpeg(&(kind){160, 160, 2, 2, false, false, false});
    bl_scratch scratch = {0};
    wanted = (bl_part){10, 10, 40, 20};
    for (size_t cut = 1; cut < file.len / 2; cut += file.len / 9) {
        bl_error err = {0};
        bl_picture p;
        bl_want want = {.part = as_wanted};
        assert_int_equal(bl_picture_decode(file.data, file.len - cut, &want, "cut.jpg", &scratch, &p, &err),
                         BL_ERR_FORMAT);
        assert_non_null(strstr(err.message, "cut.jpg"));
    }
    bl_scratch_clear(&scratch);
    picture_clear(&file);
}

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

static int64_t allocations_after(bl_loader *loader, int epochs)
{
    for (int epoch = 0; epoch < epochs; epoch++) {
        bl_batch batch;
        bl_error err = {0};
        bl_loader_start_epoch(loader, epoch);
        while (bl_loader_next(loader, &batch, &err))
            ;
        if (err.code != BL_OK)
            fail_msg("%s", err.message);
    }
    return (int64_t)bl_loader_allocations(loader);
}

/* Images of one size have all been seen after the first of each kind of part; crops' parts grow a while longer. */
static void batches_allocate_nothing_after_the_first_rounds(void **state)
{
    char *folder = test_path(*state, "train/a");
    assert_int_equal(bl_fs_mkdirs(folder, NULL), BL_OK);
    for (int i = 0; i < 24; i++) {
        picture_file file = make_jpeg(&(kind){120 + i, 100 + i % 5, 2, 2, false, false, false});
        char name[32];
        snprintf(name, sizeof name, "train/a/%02d.jpg", i);
        char *path = test_path(*state, name);
        test_write_file(path, file.data, file.len);
        free(path);
        picture_clear(&file);
    }
    bl_dataset *dataset = NULL;
    bl_error err = {0};
    assert_int_equal(bl_folder_open(*state, &dataset, &err), BL_OK);
    for (int prefetch = 1; prefetch <= 4; prefetch += 3) {
        bl_loader_options options = {
            .batch = 5, .size = 64, .augment = BL_AUGMENT_CROP, .shuffle = true, .n_workers = 2, .prefetch = prefetch};
        bl_loader *loader = NULL;
        assert_int_equal(bl_loader_new(dataset, &options, &loader, &err), BL_OK);
        int64_t first = allocations_after(loader, 30);
        assert_true(first > 0 && first < 2 * 30);      /* 30 epochs are 720 images */
        int64_t later = allocations_after(loader, 30); /* the same images and parts, to whichever worker */
        assert_true(later - first <= 4);
        bl_loader_free(loader);
    }
    bl_dataset_free(dataset);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_whole_images_bits),
        cmocka_unit_test(the_quick_way_takes_what_is_common),
        cmocka_unit_test(truncated_files_are_noticed_whatever_the_part),
        cmocka_unit_test_setup_teardown(batches_allocate_nothing_after_the_first_rounds, make_top, remove_top),
    };
    return cmocka_run_group_tests_name("data/parts", tests, NULL, NULL);
}
