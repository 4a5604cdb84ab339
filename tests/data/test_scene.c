/* Drawing, colours, and that boxes move with the pixels: rectangles are drawn, the picture is changed, and they are
 * looked for again. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/canvas.h"
#include "data/scene.h"

enum { SIZE = 160, PICTURES = 6 };

/* Grey pictures, each with one rectangle in the picture's own hue: red, yellow, green, cyan, blue, magenta. */
static const uint8_t colors[PICTURES][3] = {{200, 20, 20},  {200, 200, 20}, {20, 200, 20},
                                            {20, 200, 200}, {20, 20, 200},  {200, 20, 200}};
static const int sides[2][PICTURES][2] = {{{200, 150}, {120, 200}, {160, 160}, {90, 60}, {160, 40}, {64, 128}},
                                          {{160, 160}, {80, 80}, {200, 200}, {64, 64}, {128, 128}, {100, 100}}};
static const bl_object rectangles[PICTURES] = {{0, 0.5f, 0.5f, 0.5f, 0.4f},  {1, 0.25f, 0.5f, 0.3f, 0.6f},
                                               {2, 0.7f, 0.3f, 0.5f, 0.25f}, {3, 0.5f, 0.75f, 1, 0.5f},
                                               {4, 0.2f, 0.5f, 0.4f, 1},     {5, 0.5f, 0.2f, 0.4f, 0.2f}};

static int make_picture(const void *context, int64_t index, const bl_want *want, bl_scratch *scratch, bl_picture *out,
                        bl_error *err)
{
    const int *side = sides[*(const int *)context][index];
    const bl_object *b = &rectangles[index];
    int w = side[0], h = side[1];
    uint8_t *pixels = bl_scratch_room(scratch, BL_SCRATCH_PIXELS, (size_t)(3 * w * h));
    assert_non_null(pixels);
    *out = (bl_picture){.pixels = pixels, .width = w, .height = h, .part = {0, 0, w, h}};
    want->part(want->context, w, h);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            bool in = fabs((x + 0.5) / w - (double)b->x) < (double)b->width / 2 &&
                      fabs((y + 0.5) / h - (double)b->y) < (double)b->height / 2;
            for (int c = 0; c < 3; c++)
                pixels[3 * (y * w + x) + c] = in ? colors[index][c] : 90;
        }
    return BL_OK;
}

static const bl_object *rectangle_of(const void *context, int64_t index, size_t *n)
{
    *n = 1;
    return &rectangles[index];
}

static bl_scene_source pictures(const int *kind)
{
    return (bl_scene_source){kind, PICTURES, make_picture, rectangle_of};
}

/* Which picture's hue a pixel has; -1: grey. */
static int hue_of(const float *image, int x, int y)
{
    double rgb[3], most = 0, least = 1;
    for (int c = 0; c < 3; c++) {
        rgb[c] = (double)image[(c * SIZE + y) * SIZE + x];
        most = fmax(most, rgb[c]);
        least = fmin(least, rgb[c]);
    }
    if (most - least < 0.12 * most || most == 0)
        return -1;
    double range = most - least, hue = most == rgb[0]   ? (rgb[1] - rgb[2]) / range
                                       : most == rgb[1] ? 2 + (rgb[2] - rgb[0]) / range
                                                        : 4 + (rgb[0] - rgb[1]) / range;
    int nearest = (int)lround(hue < 0 ? hue + 6 : hue) % PICTURES;
    return fabs(remainder(hue - nearest, 6)) < 0.2 ? nearest : -1;
}

static bool is_inside(const bl_object *b, int x, int y, double margin)
{
    return fabs(x + 0.5 - SIZE * (double)b->x) < SIZE * (double)b->width / 2 + margin &&
           fabs(y + 0.5 - SIZE * (double)b->y) < SIZE * (double)b->height / 2 + margin;
}

typedef struct found {
    int64_t boxes, inside, inside_wrong, colored, astray; /* pixels but for the first */
} found;

/* Edges are blurred over the width of a source pixel: they are left out. */
#define EDGE 3.0

static void look(const float *image, const bl_objects *boxes, found *f)
{
    f->boxes += (int64_t)boxes->len;
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            int hue = hue_of(image, x, y);
            bool explained = false;
            for (size_t i = 0; i < boxes->len; i++) {
                const bl_object *b = &boxes->items[i];
                bool inside = is_inside(b, x, y, -EDGE);
                f->inside += inside;
                f->inside_wrong += inside && hue != b->label;
                explained = explained || (b->label == hue && is_inside(b, x, y, EDGE));
            }
            f->colored += hue >= 0;
            f->astray += hue >= 0 && !explained;
        }
}

static found look_at_many(int kind, bl_augment augment, const bl_scene_style *style)
{
    float *image = malloc(3 * SIZE * SIZE * sizeof *image), frame[4];
    assert_non_null(image);
    bl_scene_source source = pictures(&kind);
    found f = {0};
    for (uint64_t draw = 0; draw < 300; draw++) {
        bl_objects boxes = {0};
        bl_error err = {0};
        bl_view view = {.size = SIZE, .augment = augment, .draw = draw * 7919};
        if (bl_scene_make(&source, (int64_t)draw % PICTURES, &view, style, image, &boxes, frame, &err) != BL_OK)
            fail_msg("%s", err.message);
        look(image, &boxes, &f);
        bl_objects_clear(&boxes);
    }
    free(image);
    print_message("%lld boxes; of %lld pixels inside %lld wrong; of %lld coloured %lld outside\n", (long long)f.boxes,
                  (long long)f.inside, (long long)f.inside_wrong, (long long)f.colored, (long long)f.astray);
    return f;
}

/* Boxes of which little was left were taken away, so a few coloured pixels are outside. */
static void boxes_move_with_the_pixels(void **state)
{
    bl_scene_style style = bl_scene_yolov7;
    style.mixup = 0;
    style.nine = 0;
    found four = look_at_many(0, BL_AUGMENT_MOSAIC, &style);
    assert_true(four.boxes > 500 && four.inside > 500000);
    assert_int_equal(four.inside_wrong, 0);
    assert_true(four.astray < four.colored / 25);
    style.nine = 1; /* square ones hide nothing of each other */
    found nine = look_at_many(1, BL_AUGMENT_MOSAIC, &style);
    assert_true(nine.boxes > 500 && nine.inside > 500000);
    assert_int_equal(nine.inside_wrong, 0);
    assert_true(nine.astray < nine.colored / 25);
    found flip = look_at_many(0, BL_AUGMENT_FLIP, &style);
    assert_true(flip.boxes > 250 && flip.inside > 200000);
    assert_int_equal(flip.inside_wrong, 0);
    assert_true(flip.astray < flip.colored / 25);
    found none = look_at_many(0, BL_AUGMENT_NONE, &style);
    assert_true(none.boxes == 300 && none.inside_wrong == 0 && none.astray == 0);
}

/* The search itself: boxes that are off are found out. */
static void boxes_that_are_off_are_noticed(void **state)
{
    int kind = 0;
    float *image = malloc(3 * SIZE * SIZE * sizeof *image), frame[4];
    assert_non_null(image);
    bl_scene_source source = pictures(&kind);
    bl_objects boxes = {0};
    bl_view view = {.size = SIZE};
    assert_int_equal(bl_scene_make(&source, 0, &view, &bl_scene_yolov7, image, &boxes, frame, NULL), BL_OK);
    bl_object right = boxes.items[0];
    for (int way = 0; way < 4; way++) {
        found f = {0};
        boxes.items[0] = right;
        boxes.items[0].x += way == 0 ? 0.05f : 0;
        boxes.items[0].y -= way == 1 ? 0.05f : 0;
        boxes.items[0].width *= way == 2 ? 1.2f : 1;
        boxes.items[0].label += way == 3;
        look(image, &boxes, &f);
        assert_true(f.inside_wrong > 0);
    }
    bl_objects_clear(&boxes);
    free(image);
}

static void one_picture_lies_in_the_middle_of_grey(void **state)
{
    int kind = 0;
    float image[3 * SIZE * SIZE], frame[4];
    bl_scene_source source = pictures(&kind);
    bl_objects boxes = {0};
    bl_view view = {.size = SIZE};
    assert_int_equal(bl_scene_make(&source, 4, &view, &bl_scene_yolov7, image, &boxes, frame, NULL), BL_OK);
    assert_true(frame[0] == 0 && frame[1] == 60 && frame[2] == 160 && frame[3] == 100); /* 160 x 40: as it is */
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            for (int c = 0; c < 3; c++) {
                int level = y < 60 || y >= 100 ? 114 : x < 64 ? colors[4][c] : 90;
                assert_true(fabs((double)image[(c * SIZE + y) * SIZE + x] * 255 - level) < 1e-3);
            }
    assert_int_equal(boxes.len, 1);
    const bl_object *b = &boxes.items[0];
    assert_true(fabsf(b->x - 0.2f) < 1e-6f && fabsf(b->y - 0.5f) < 1e-6f && fabsf(b->width - 0.4f) < 1e-6f &&
                fabsf(b->height - 0.25f) < 1e-6f);
    bl_objects_clear(&boxes);
}

static void the_number_decides(void **state)
{
    int kind = 0;
    size_t floats = 3 * SIZE * SIZE;
    float *a = malloc(floats * sizeof *a), *b = malloc(floats * sizeof *b), frame[4];
    assert_true(a && b);
    bl_scene_source source = pictures(&kind);
    for (uint64_t draw = 0; draw < 40; draw++) {
        bl_objects of_a = {0}, of_b = {0};
        bl_view view = {.size = SIZE, .augment = BL_AUGMENT_MOSAIC, .draw = draw};
        assert_int_equal(bl_scene_make(&source, 0, &view, &bl_scene_yolov7, a, &of_a, frame, NULL), BL_OK);
        assert_int_equal(bl_scene_make(&source, 0, &view, &bl_scene_yolov7, b, &of_b, frame, NULL), BL_OK);
        assert_memory_equal(a, b, floats * sizeof *a);
        assert_int_equal(of_a.len, of_b.len);
        if (of_a.len > 0)
            assert_memory_equal(of_a.items, of_b.items, of_a.len * sizeof *of_a.items);
        for (size_t i = 0; i < floats; i++)
            assert_true(a[i] >= 0 && a[i] <= 1.00001f);
        view.draw++;
        of_b.len = 0;
        assert_int_equal(bl_scene_make(&source, 0, &view, &bl_scene_yolov7, b, &of_b, frame, NULL), BL_OK);
        assert_memory_not_equal(a, b, floats * sizeof *a);
        bl_objects_clear(&of_a);
        bl_objects_clear(&of_b);
    }
    free(a);
    free(b);
}

static int black_or_white(const void *context, int64_t index, const bl_want *want, bl_scratch *scratch, bl_picture *out,
                          bl_error *err)
{
    uint8_t *pixels = bl_scratch_room(scratch, BL_SCRATCH_PIXELS, 3 * 8 * 8);
    assert_non_null(pixels);
    *out = (bl_picture){.pixels = pixels, .width = 8, .height = 8, .part = {0, 0, 8, 8}};
    memset(pixels, index ? 255 : 0, 3 * 8 * 8);
    want->part(want->context, 8, 8);
    return BL_OK;
}

static const bl_object *no_boxes(const void *context, int64_t index, size_t *n)
{
    *n = 0;
    return NULL;
}

/* Where white lies over black the pixel is the share itself: of Beta(8, 8), mean 1/2 and variance 1/68. */
static void shares_are_drawn_from_a_beta_distribution(void **state)
{
    bl_scene_source source = {NULL, 2, black_or_white, no_boxes};
    bl_scene_style style = {.mixup = 1, .scale_min = 1, .scale_max = 1};
    float image[3 * 8 * 8], frame[4];
    double sum = 0, squares = 0;
    int n = 0;
    for (uint64_t draw = 0; draw < 8000; draw++) {
        bl_objects boxes = {0};
        bl_view view = {.size = 8, .augment = BL_AUGMENT_MOSAIC, .draw = draw * 104729};
        assert_int_equal(bl_scene_make(&source, 0, &view, &style, image, &boxes, frame, NULL), BL_OK);
        double share = (double)image[0];
        if (share < 0.001 || share > 0.999)
            continue;
        sum += share;
        squares += share * share;
        n++;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    assert_true(n > 3000);
    assert_true(fabs(mean - 0.5) < 5 * sqrt(1 / 68.0 / n));
    assert_true(fabs(variance * 68 - 1) < 0.15);
}

/* The definition, slowly: a triangle as wide as max(1, scale) around the pixel's middle, over the image's pixels. */
static double by_definition(const bl_image *image, const bl_rect *r, int c, int y, int x)
{
    double sx = image->width / (r->right - r->left), sy = image->height / (r->bottom - r->top);
    double wx = fmax(1, sx), wy = fmax(1, sy), cx = (x + 0.5 - r->left) * sx, cy = (y + 0.5 - r->top) * sy;
    double sum = 0, total = 0;
    for (int v = 0; v < image->height; v++)
        for (int u = 0; u < image->width; u++) {
            double w = fmax(0, 1 - fabs(u + 0.5 - cx) / wx) * fmax(0, 1 - fabs(v + 0.5 - cy) / wy);
            sum += w * image->pixels[(v * image->width + u) * 3 + c];
            total += w;
        }
    return sum / total;
}

static uint8_t *cut_out(const bl_image *image, const bl_part *part)
{
    uint8_t *out = malloc((size_t)(3 * part->columns * part->rows + 1));
    assert_non_null(out);
    for (int y = 0; y < part->rows; y++)
        memcpy(out + 3 * y * part->columns, image->pixels + 3 * ((part->top + y) * image->width + part->left),
               (size_t)(3 * part->columns));
    return out;
}

static void drawing_follows_the_definition(void **state)
{
    bl_scratch scratch = {0};
    static const bl_rect where[] = {{0, 0, 21, 17},      {-3.2, 2.5, 30.3, 9.75}, {4, 4, 8.2, 7.9},
                                    {-50, -40, 90, 60},  {20.4, 0, 21.2, 24},     {100, 0, 120, 10},
                                    {5.6, 5.6, 5.9, 5.9}};
    static const bl_rect windows[] = {{0, 0, 24, 24}, {3.5, -8, 12.4, 11}, {-5, -5, 100, 100}};
    bl_image image = {.pixels = malloc(21 * 17 * 3), .width = 21, .height = 17};
    float planes[3 * 24 * 24];
    bl_canvas canvas = {planes, 24};
    bl_draws draws = {.state = 5};
    assert_non_null(image.pixels);
    for (int i = 0; i < 21 * 17 * 3; i++)
        image.pixels[i] = (uint8_t)(256 * bl_draw_uniform(&draws));
    for (size_t i = 0; i < sizeof where / sizeof *where; i++)
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) {
            const bl_rect *r = &where[i], *w = &windows[k];
            bl_canvas_fill(&canvas, BL_CANVAS_GREY);
            /* A copy of the part that is said to be looked at, and nothing else. */
            bl_part part = bl_canvas_part(&canvas, 21, 17, r, w);
            bl_picture picture = {.pixels = cut_out(&image, &part), .width = 21, .height = 17, .part = part};
            assert_int_equal(bl_canvas_draw(&canvas, &picture, r, w, &scratch, NULL), BL_OK);
            free((void *)picture.pixels);
            for (int at = 0; at < 3 * 24 * 24; at++) {
                int c = at / (24 * 24), y = at / 24 % 24, x = at % 24;
                double mx = x + 0.5, my = y + 0.5;
                bool in = mx >= fmax(r->left, w->left) && mx < fmin(r->right, w->right) && my >= fmax(r->top, w->top) &&
                          my < fmin(r->bottom, w->bottom);
                double want = in ? by_definition(&image, r, c, y, x) : BL_CANVAS_GREY;
                if (fabs((double)planes[at] - want) > 0.01)
                    fail_msg("%zu, %zu: (%d, %d, %d) is %g, not %g", i, k, c, y, x, (double)planes[at], want);
            }
        }
    bl_scratch_clear(&scratch);
    bl_image_clear(&image);
}

static void recolored(const float gains[3], const double before[3], const double after[3])
{
    float planes[3] = {(float)before[0], (float)before[1], (float)before[2]};
    bl_canvas canvas = {planes, 1};
    bl_canvas_recolor(&canvas, gains);
    for (int c = 0; c < 3; c++)
        if (fabs((double)planes[c] - after[c]) > 1e-3)
            fail_msg("channel %d of (%g, %g, %g) becomes %g, not %g", c, before[0], before[1], before[2],
                     (double)planes[c], after[c]);
}

static void colors_are_changed_by_hue_saturation_and_value(void **state)
{
    static const float same[3] = {1, 1, 1}, hue[3] = {1.5f, 1, 1}, saturation[3] = {1, 0.5f, 1}, value[3] = {1, 1, 2},
                       more[3] = {1, 2, 1};
    bl_draws draws = {.state = 9};
    for (int i = 0; i < 1000; i++) {
        double rgb[3];
        for (int c = 0; c < 3; c++)
            rgb[c] = floor(256 * bl_draw_uniform(&draws));
        recolored(same, rgb, rgb);
    }
    recolored(hue, (double[]){0, 255, 0}, (double[]){0, 255, 255}); /* 120 degrees to 180 */
    recolored(hue, (double[]){0, 0, 200}, (double[]){200, 0, 0});   /* 240 to 360 */
    recolored(hue, (double[]){50, 50, 50}, (double[]){50, 50, 50}); /* grey has none */
    recolored(saturation, (double[]){255, 0, 0}, (double[]){255, 127.5, 127.5});
    recolored(more, (double[]){200, 100, 120}, (double[]){200, 0, 40});
    recolored(more, (double[]){200, 50, 50}, (double[]){200, 0, 0}); /* no more than all */
    recolored(value, (double[]){100, 50, 0}, (double[]){200, 100, 0});
    recolored(value, (double[]){200, 100, 0}, (double[]){255, 127.5, 0});
    recolored(value, (double[]){0, 0, 0}, (double[]){0, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_move_with_the_pixels),
        cmocka_unit_test(boxes_that_are_off_are_noticed),
        cmocka_unit_test(one_picture_lies_in_the_middle_of_grey),
        cmocka_unit_test(the_number_decides),
        cmocka_unit_test(shares_are_drawn_from_a_beta_distribution),
        cmocka_unit_test(drawing_follows_the_definition),
        cmocka_unit_test(colors_are_changed_by_hue_saturation_and_value),
    };
    return cmocka_run_group_tests_name("data/scene", tests, NULL, NULL);
}
