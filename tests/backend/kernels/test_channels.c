/* Parts of tensors, shifts and doubled sides against their definitions. */
#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/kernels/channels.h"

#define TOLERANCE 1e-6

typedef struct part_case {
    bl_k_shape from; /* the other side has its n, h, w and block */
    int from_start, to_c, to_start, count;
} part_case;

static const part_case parts[] = {
    {.from = {.n = 2, .c = 32, .h = 3, .w = 2, .block = 8}, .from_start = 0, .to_c = 48, .to_start = 16, .count = 32},
    {.from = {.n = 2, .c = 48, .h = 3, .w = 2, .block = 16}, .from_start = 16, .to_c = 32, .to_start = 0, .count = 32},
    {.from = {.n = 1, .c = 19, .h = 2, .w = 5, .block = 8}, .from_start = 0, .to_c = 27, .to_start = 8, .count = 19},
    {.from = {.n = 2, .c = 5, .h = 2, .w = 2, .block = 16}, .from_start = 0, .to_c = 24, .to_start = 18, .count = 5},
    {.from = {.n = 2, .c = 21, .h = 1, .w = 3, .block = 4}, .from_start = 3, .to_c = 18, .to_start = 0, .count = 18},
};

static double at(const bl_k_shape *s, const float *plain, int n, int c, int y, int x)
{
    return (double)plain[((n * s->c + c) * s->h + y) * s->w + x];
}

static void check_part(const void *argument)
{
    const part_case *test = argument;
    bl_k_shape to = test->from;
    to.c = test->to_c;
    float *x = kt_random(kt_plain_count(&test->from), -1, 1, 1), *old = kt_random(kt_plain_count(&to), -1, 1, 2);
    float *got = kt_blocked(&to, old);
    double *expected = kt_doubles(kt_plain_count(&to));
    for (int n = 0, i = 0; n < to.n; n++)
        for (int c = 0; c < to.c; c++)
            for (int p = 0; p < to.h * to.w; p++, i++) {
                int k = c - test->to_start;
                expected[i] = k >= 0 && k < test->count
                                  ? at(&test->from, x, n, test->from_start + k, p / to.w, p % to.w)
                                  : (double)old[i];
            }
    bl_k_copy_channels(&test->from, kt_blocked(&test->from, x), test->from_start, &to, got, test->to_start,
                       test->count);
    bl_k_clear_padding_of(&to, got);
    kt_same_blocked("part", &to, got, expected, TOLERANCE);
}

static const bl_k_shape images[] = {
    {.n = 2, .c = 16, .h = 4, .w = 6, .block = 8},
    {.n = 1, .c = 19, .h = 2, .w = 2, .block = 16},
    {.n = 3, .c = 3, .h = 6, .w = 2, .block = 4},
};

/* The image, and one of half its sides that is doubled. */
static void check_image(const void *argument)
{
    const bl_k_shape *s = argument;
    bl_k_shape half = *s;
    half.h /= 2;
    half.w /= 2;
    size_t count = kt_plain_count(s), n_half = kt_plain_count(&half), c = (size_t)s->c;
    float *x = kt_random(count, -2, 2, 1), *small = kt_random(n_half, -2, 2, 2), *shift = kt_random(c, -1, 1, 3);
    double *shifted = kt_doubles(count), *sum = kt_doubles(c), *large = kt_doubles(count), *dx = kt_doubles(n_half);
    double *deep = kt_doubles(count), *back = kt_doubles(count);
    for (size_t i = 0; i < c; i++)
        sum[i] = 0;
    for (size_t i = 0; i < n_half; i++)
        dx[i] = 0;
    for (size_t i = 0; i < count; i++) {
        int column = (int)(i % (size_t)s->w), row = (int)(i / (size_t)s->w % (size_t)s->h);
        int k = (int)(i / (size_t)(s->h * s->w) % c), n = (int)(i / ((size_t)(s->h * s->w) * c));
        size_t source = (size_t)(((n * s->c + k) * half.h + row / 2) * half.w + column / 2);
        int phase = row % 2 + 2 * (column % 2);
        size_t place = (size_t)((((n * 4 + phase) * s->c + k) * half.h + row / 2) * half.w + column / 2);
        shifted[i] = (double)x[i] + (double)shift[k];
        sum[k] += (double)x[i];
        large[i] = (double)small[source];
        dx[source] += (double)x[i];
        deep[place] = back[i] = (double)x[i];
    }
    size_t stored = bl_k_count(s);
    float *x_blocked = kt_blocked(s, x), *got = kt_floats(stored), *got_sum = kt_floats(c);
    bl_k_shift_forward(s, shift, x_blocked, got);
    kt_same_blocked("shifted", s, got, shifted, TOLERANCE);
    bl_k_channel_sum(s, x_blocked, got_sum, kt_memory(bl_k_channel_sum_scratch_b(s)));
    kt_same("sum", c, got_sum, sum, TOLERANCE);
    bl_k_upsample_forward(&half, kt_blocked(&half, small), got);
    kt_same_blocked("enlarged", s, got, large, TOLERANCE);
    float *got_half = kt_floats(bl_k_count(&half));
    bl_k_upsample_grad(&half, x_blocked, got_half);
    kt_same_blocked("dx", &half, got_half, dx, TOLERANCE);
    float *got_deep = kt_floats(count), *got_back = kt_floats(count);
    bl_k_space_to_depth(s->n, s->c, s->h, s->w, x, got_deep);
    kt_same("deep", count, got_deep, deep, TOLERANCE);
    bl_k_depth_to_space(s->n, s->c, s->h, s->w, got_deep, got_back);
    kt_same("back", count, got_back, back, TOLERANCE);
}

static void test_parts(void **state)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "channels %d of %d in %ds", parts[i].count, parts[i].from.c, parts[i].from.block);
        kt_each(name, check_part, &parts[i]);
    }
}

static void test_images(void **state)
{
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char name[64];
        snprintf(name, sizeof name, "image %dx%dx%dx%d in %ds", images[i].n, images[i].c, images[i].h, images[i].w,
                 images[i].block);
        kt_each(name, check_image, &images[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
