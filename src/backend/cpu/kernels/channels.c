#include "backend/cpu/kernels/channels.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"

static void copy_one_channel(const bl_k_shape *from_shape, const float *from, int from_c, const bl_k_shape *to_shape,
                             float *to, int to_c, int n)
{
    size_t block = (size_t)to_shape->block, pixels = bl_k_pixels(to_shape);
    from += bl_k_tile_at(from_shape, n, from_c / from_shape->block) + (size_t)(from_c % from_shape->block);
    to += bl_k_tile_at(to_shape, n, to_c / to_shape->block) + (size_t)(to_c % to_shape->block);
    for (size_t p = 0; p < pixels; p++)
        to[p * block] = from[p * block];
}

void bl_k_copy_channels(const bl_k_shape *from_shape, const float *from, int from_start, const bl_k_shape *to_shape,
                        float *to, int to_start, int count)
{
    int block = to_shape->block;
    int whole = from_start % block == 0 && to_start % block == 0 ? count / block : 0;
    size_t tile = bl_k_pixels(to_shape) * (size_t)block;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < to_shape->n; n++)
        for (int cb = 0; cb < whole; cb++)
            memcpy(to + bl_k_tile_at(to_shape, n, to_start / block + cb),
                   from + bl_k_tile_at(from_shape, n, from_start / block + cb), tile * sizeof *to);
#pragma omp parallel for schedule(static)
    for (int n = 0; n < to_shape->n; n++)
        for (int c = whole * block; c < count; c++)
            copy_one_channel(from_shape, from, from_start + c, to_shape, to, to_start + c, n);
}

void bl_k_clear_padding_of(const bl_k_shape *shape, float *x)
{
    int last = bl_k_blocks(shape->c, shape->block) - 1;
    for (int n = 0; n < shape->n; n++)
        bl_k_clear_padding(x + bl_k_tile_at(shape, n, last), bl_k_pixels(shape), shape->block,
                           bl_k_channels_in(shape->c, shape->block, last));
}

void bl_k_shift_forward(const bl_k_shape *shape, const float *shift, const float *x, float *y)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine = {.act = BL_ACT_NONE};
            for (int i = 0; i < shape->block; i++)
                affine.scale[i] = 1;
            bl_k_take_channels(shift, shape->c, shape->block, cb, affine.shift);
            tiles->apply(x + bl_k_tile_at(shape, n, cb), bl_k_pixels(shape), shape->block, &affine, NULL, NULL,
                         y + bl_k_tile_at(shape, n, cb));
        }
}

size_t bl_k_channel_sum_scratch_b(const bl_k_shape *shape)
{
    return (size_t)shape->n * (size_t)bl_k_padded_c(shape) * sizeof(float);
}

void bl_k_channel_sum(const bl_k_shape *shape, const float *x, float *sum, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t padded = (size_t)bl_k_padded_c(shape);
    float *sums = scratch;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++)
            tiles->pool(x + bl_k_tile_at(shape, n, cb), bl_k_pixels(shape), shape->block, NULL,
                        sums + (size_t)n * padded + (size_t)(cb * shape->block));
    for (int c = 0; c < shape->c; c++) {
        double total = 0;
        for (int n = 0; n < shape->n; n++)
            total += (double)sums[(size_t)n * padded + (size_t)c];
        sum[c] = (float)total;
    }
}

void bl_k_upsample_forward(const bl_k_shape *x_shape, const float *x, float *y)
{
    int rows = x_shape->n * bl_k_blocks(x_shape->c, x_shape->block) * x_shape->h;
    size_t block = (size_t)x_shape->block, w = (size_t)x_shape->w;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < rows; row++) {
        const float *from = x + (size_t)row * w * block;
        float *to = y + (size_t)row * 4 * w * block;
        for (size_t p = 0; p < w; p++)
            for (size_t twice = 0; twice < 2; twice++)
                memcpy(to + (2 * p + twice) * block, from + p * block, block * sizeof *to);
        memcpy(to + 2 * w * block, to, 2 * w * block * sizeof *to);
    }
}

void bl_k_upsample_grad(const bl_k_shape *x_shape, const float *dy, float *dx)
{
    int rows = x_shape->n * bl_k_blocks(x_shape->c, x_shape->block) * x_shape->h;
    size_t block = (size_t)x_shape->block, w = (size_t)x_shape->w;
#pragma omp parallel for schedule(static)
    for (int row = 0; row < rows; row++) {
        const float *upper = dy + (size_t)row * 4 * w * block, *lower = upper + 2 * w * block;
        float *to = dx + (size_t)row * w * block;
        for (size_t p = 0; p < w; p++)
            for (size_t i = 0; i < block; i++) {
                size_t at = 2 * p * block + i;
                to[p * block + i] = (upper[at] + upper[at + block]) + (lower[at] + lower[at + block]);
            }
    }
}

/* One plane of x, and where its four parts begin in the deep tensor. */
static size_t part_at(int c, int h, int w, int plane, int phase)
{
    size_t image = (size_t)(plane / c), channel = (size_t)(plane % c);
    return ((image * 4 + (size_t)phase) * (size_t)c + channel) * (size_t)(h / 2) * (size_t)(w / 2);
}

void bl_k_space_to_depth(int n, int c, int h, int w, const float *x, float *deep)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int plane = 0; plane < n * c; plane++)
        for (int phase = 0; phase < 4; phase++) {
            float *to = deep + part_at(c, h, w, plane, phase);
            for (int row = phase % 2; row < h; row += 2) {
                const float *from = x + ((size_t)plane * (size_t)h + (size_t)row) * (size_t)w;
                for (int column = phase / 2; column < w; column += 2)
                    *to++ = from[column];
            }
        }
}

void bl_k_depth_to_space(int n, int c, int h, int w, const float *deep, float *x)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int plane = 0; plane < n * c; plane++)
        for (int phase = 0; phase < 4; phase++) {
            const float *from = deep + part_at(c, h, w, plane, phase);
            for (int row = phase % 2; row < h; row += 2) {
                float *to = x + ((size_t)plane * (size_t)h + (size_t)row) * (size_t)w;
                for (int column = phase / 2; column < w; column += 2)
                    to[column] = *from++;
            }
        }
}
