#include "data/mix.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "data/image.h"

static double normal(bl_draws *draws)
{
    double radius = sqrt(-2 * log(1 - bl_draw_uniform(draws)));
    return radius * cos(2 * M_PI * bl_draw_uniform(draws));
}

/* The logarithm of a number from the gamma distribution (Marsaglia and Tsang 2000; below 1 by its section 6): small
 * alphas make numbers too small for doubles. */
static double log_gamma_draw(bl_draws *draws, double alpha)
{
    double below = alpha < 1 ? log(1 - bl_draw_uniform(draws)) / alpha : 0;
    double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(draws), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(1 - bl_draw_uniform(draws)) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + below;
    }
}

static double beta_draw(bl_draws *draws, double alpha)
{
    double a = log_gamma_draw(draws, alpha), b = log_gamma_draw(draws, alpha);
    return 1 / (1 + exp(b - a));
}

/* Yun et al. 2019, eq. 2: a rectangle of 1 - share of the area around a uniform centre, as much of it as is inside. */
static void draw_rectangle(bl_draws *draws, int size, double share, bl_mix *mix)
{
    int half = (int)(0.5 * sqrt(1 - share) * size);
    int x = (int)(bl_draw_uniform(draws) * size), y = (int)(bl_draw_uniform(draws) * size);
    int right = x + half < size ? x + half : size, bottom = y + half < size ? y + half : size;
    mix->left = x > half ? x - half : 0;
    mix->top = y > half ? y - half : 0;
    mix->width = right - mix->left;
    mix->height = bottom - mix->top;
    mix->share = (float)(1 - (double)mix->width * mix->height / ((double)size * size));
}

bl_mix bl_mix_draw(const bl_mix_options *options, int size, int64_t epoch, int64_t number)
{
    bl_draws draws = {.state = options->seed * 0xD1342543DE82EF95u ^ ((uint64_t)epoch + 1) * 0x9E3779B97F4A7C15u ^
                               ((uint64_t)number + 1) * 0xC2B2AE3D27D4EB4Fu};
    bl_mix mix = {.share = 1};
    bool first_half = bl_draw_uniform(&draws) < 0.5;
    mix.cut = options->cutmix > 0 && (options->mixup <= 0 || first_half);
    if (mix.cut)
        draw_rectangle(&draws, size, beta_draw(&draws, options->cutmix), &mix);
    else if (options->mixup > 0)
        mix.share = (float)beta_draw(&draws, options->mixup);
    return mix;
}

enum { PIECE = 2048 }; /* floats; no row is longer (BL_VIEW_SIZE_MAX) */

/* One piece of every image, from the last on: each is needed as it was by the next one only. */
static void roll_piece(const bl_mix *mix, int n, size_t stride, size_t length, float *at)
{
    float last[PIECE];
    memcpy(last, at + (size_t)(n - 1) * stride, length * sizeof *at);
    for (int i = n; i-- > 0;) {
        float *to = at + (size_t)i * stride;
        const float *from = i > 0 ? to - stride : last;
        if (mix->cut)
            memcpy(to, from, length * sizeof *to);
        else
            for (size_t k = 0; k < length; k++)
                to[k] = mix->share * to[k] + (1 - mix->share) * from[k];
    }
}

_Static_assert(BL_VIEW_SIZE_MAX <= PIECE, "a row of the rectangle must fit");

void bl_mix_apply(const bl_mix *mix, int n, int size, float *images, const int32_t *labels, int32_t *others)
{
    size_t plane = (size_t)size * (size_t)size, stride = 3 * plane;
    if (n == 0)
        return;
    for (int i = 0; i < n; i++)
        others[i] = labels[i > 0 ? i - 1 : n - 1];
    if (mix->cut) {
#pragma omp parallel for schedule(static)
        for (int row = 0; row < 3 * mix->height; row++) {
            size_t channel = (size_t)(row / mix->height), y = (size_t)(mix->top + row % mix->height);
            roll_piece(mix, n, stride, (size_t)mix->width,
                       images + channel * plane + y * (size_t)size + (size_t)mix->left);
        }
    } else {
#pragma omp parallel for schedule(static)
        for (size_t begin = 0; begin < stride; begin += PIECE)
            roll_piece(mix, n, stride, stride - begin < PIECE ? stride - begin : PIECE, images + begin);
    }
}
