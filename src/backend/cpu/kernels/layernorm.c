#include "backend/cpu/kernels/layernorm.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"

/* Pixels of one task of the gradient, whose sums are kept apart and merged in order. */
enum { PIXELS_A_TASK = 256 };

static int pixels_of(const bl_k_shape *s)
{
    return s->h * s->w;
}

static int tasks_an_image(const bl_k_shape *s)
{
    return (pixels_of(s) + PIXELS_A_TASK - 1) / PIXELS_A_TASK;
}

static size_t image_at(const bl_k_shape *s, int n)
{
    return (size_t)n * (size_t)bl_k_padded_c(s) * (size_t)pixels_of(s);
}

static bl_k_row_tile tile_of(const bl_k_shape *s, const float *gamma, const float *beta, float eps)
{
    return (bl_k_row_tile){.c = s->c,
                           .block = s->block,
                           .apart = (size_t)pixels_of(s) * (size_t)s->block,
                           .gamma = gamma,
                           .beta = beta,
                           .eps = eps};
}

void bl_k_layernorm_forward(const bl_k_shape *shape, const float *gamma, const float *beta, float eps, const float *x,
                            float *y, float *mean, float *rstd)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    bl_k_row_tile tile = tile_of(shape, gamma, beta, eps);
    int pixels = pixels_of(shape), chunks = (pixels + BL_K_ROWS - 1) / BL_K_ROWS;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int k = 0; k < chunks; k++) {
            int first = k * BL_K_ROWS, count = pixels - first < BL_K_ROWS ? pixels - first : BL_K_ROWS;
            size_t at = image_at(shape, n) + (size_t)first * (size_t)shape->block;
            size_t row = (size_t)n * (size_t)pixels + (size_t)first;
            tiles->row_norm(&tile, count, x + at, y + at, mean + row, rstd + row);
        }
}

size_t bl_k_layernorm_grad_scratch_b(const bl_k_shape *shape)
{
    return (size_t)shape->n * (size_t)tasks_an_image(shape) * 2 * (size_t)bl_k_padded_c(shape) * sizeof(float);
}

void bl_k_layernorm_grad(const bl_k_shape *shape, const float *gamma, const float *mean, const float *rstd,
                         const float *x, const float *dy, float *dx, float *dgamma, float *dbeta, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    bl_k_row_tile tile = tile_of(shape, gamma, NULL, 0);
    int pixels = pixels_of(shape), tasks = tasks_an_image(shape);
    size_t padded = (size_t)bl_k_padded_c(shape);
    float *sums = scratch;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int k = 0; k < tasks; k++) {
            float *mine = sums + ((size_t)n * (size_t)tasks + (size_t)k) * 2 * padded;
            int last = (k + 1) * PIXELS_A_TASK < pixels ? (k + 1) * PIXELS_A_TASK : pixels;
            memset(mine, 0, 2 * padded * sizeof *mine);
            for (int first = k * PIXELS_A_TASK; first < last; first += BL_K_ROWS) {
                int count = last - first < BL_K_ROWS ? last - first : BL_K_ROWS;
                size_t at = image_at(shape, n) + (size_t)first * (size_t)shape->block;
                size_t row = (size_t)n * (size_t)pixels + (size_t)first;
                tiles->row_norm_grad(&tile, count, x + at, dy + at, mean + row, rstd + row, dx + at, mine,
                                     mine + padded);
            }
        }
#pragma omp parallel for schedule(static)
    for (int c = 0; c < shape->c; c++) {
        double g = 0, b = 0;
        for (size_t k = 0; k < (size_t)shape->n * (size_t)tasks; k++) {
            g += (double)sums[k * 2 * padded + (size_t)c];
            b += (double)sums[(k * 2 + 1) * padded + (size_t)c];
        }
        dgamma[c] = (float)g;
        dbeta[c] = (float)b;
    }
}
