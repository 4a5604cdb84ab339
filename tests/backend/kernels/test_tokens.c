/* Images to patches to tokens and back against their definitions. */
#include "helpers.h"

#include <string.h>

#include "backend/cpu/kernels/tokens.h"

#define TOLERANCE 2e-6

typedef struct image {
    int n, c, h, w, k;
} image;

static void check_patches(const void *argument)
{
    const image *s = argument;
    size_t count = (size_t)(s->n * s->c * s->h * s->w), i = 0;
    float *x = kt_random(count, -1, 1, 1), *y = kt_floats(count), *back = kt_floats(count);
    double *expected = kt_doubles(count), *same = kt_doubles(count);
    for (int n = 0; n < s->n; n++)
        for (int top = 0; top < s->h; top += s->k)
            for (int left = 0; left < s->w; left += s->k)
                for (int c = 0; c < s->c; c++)
                    for (int ky = 0; ky < s->k; ky++)
                        for (int kx = 0; kx < s->k; kx++)
                            expected[i++] = (double)x[((n * s->c + c) * s->h + top + ky) * s->w + left + kx];
    for (i = 0; i < count; i++)
        same[i] = (double)x[i];
    bl_k_patches_forward(s->n, s->c, s->h, s->w, s->k, x, y);
    kt_same("patches", count, y, expected, 0);
    bl_k_patches_grad(s->n, s->c, s->h, s->w, s->k, y, back);
    kt_same("back", count, back, same, 0);
}

typedef struct shape {
    int n, t, c;
} shape;

static void check_tokens(const void *argument)
{
    const shape *s = argument;
    size_t c = (size_t)s->c, t = (size_t)s->t, n = (size_t)s->n, all = n * t * c, fewer = n * (t - 1) * c;
    float *x = kt_random(fewer, -1, 1, 1), *class_token = kt_random(c, -1, 1, 2);
    float *position = kt_random(t * c, -1, 1, 3), *d = kt_random(all, -1, 1, 4);
    float *y = kt_floats(all), *dx = kt_floats(fewer), *dclass = kt_floats(c), *dposition = kt_floats(t * c);
    double *ey = kt_doubles(all), *edx = kt_doubles(fewer), *edposition = kt_doubles(t * c);
    memset(edposition, 0, t * c * sizeof *edposition);
    for (size_t i = 0; i < all; i++) {
        size_t token = i / c % t, patch = (i / (t * c) * (t - 1) + token - 1) * c + i % c;
        ey[i] = (double)position[i % (t * c)] + (double)(token == 0 ? class_token[i % c] : x[patch]);
        edposition[i % (t * c)] += (double)d[i];
        if (token > 0)
            edx[patch] = (double)d[i];
    }
    bl_k_tokens_forward(s->n, s->t, s->c, x, class_token, position, y);
    kt_same("tokens", all, y, ey, TOLERANCE);
    bl_k_tokens_grad(s->n, s->t, s->c, d, dx, dclass, dposition);
    kt_same("dpatches", fewer, dx, edx, 0);
    kt_same("dclass", c, dclass, edposition, TOLERANCE);
    kt_same("dposition", t * c, dposition, edposition, TOLERANCE);
    memset(dposition, 0xff, t * c * sizeof *dposition);
    bl_k_tokens_grad(s->n, s->t, s->c, d, NULL, dclass, dposition);
    kt_same("dposition alone", t * c, dposition, edposition, TOLERANCE);
}

static void test_patches(void **state)
{
    static const image images[] = {{3, 3, 32, 48, 16}, {1, 1, 4, 4, 4}, {2, 5, 6, 3, 3}, {1, 2, 5, 7, 1}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        kt_each("patches", check_patches, &images[i]);
}

static void test_tokens(void **state)
{
    static const shape shapes[] = {{3, 7, 19}, {1, 2, 32}, {2, 9, 6}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        kt_each("tokens", check_tokens, &shapes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
