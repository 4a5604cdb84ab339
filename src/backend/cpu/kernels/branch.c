#include "backend/cpu/kernels/branch.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"
#include "graph/dropout.h"

void bl_k_scale_forward(const bl_k_shape *shape, const float *gamma, const float *x, float *y)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine = {.act = BL_ACT_NONE};
            bl_k_take_channels(gamma, shape->c, shape->block, cb, affine.scale);
            tiles->apply(x + bl_k_tile_at(shape, n, cb), bl_k_pixels(shape), shape->block, &affine, NULL, NULL,
                         y + bl_k_tile_at(shape, n, cb));
        }
}

size_t bl_k_scale_grad_scratch_b(const bl_k_shape *shape)
{
    return (size_t)shape->n * (size_t)bl_k_padded_c(shape) * sizeof(float);
}

void bl_k_scale_grad(const bl_k_shape *shape, const float *gamma, const float *x, const float *dy, float *dx,
                     float *dgamma, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t padded = (size_t)bl_k_padded_c(shape);
    float *sums = scratch;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            float scale[BL_K_BLOCK_MAX];
            size_t at = bl_k_tile_at(shape, n, cb);
            bl_k_take_channels(gamma, shape->c, shape->block, cb, scale);
            tiles->gate_grad(x + at, dy + at, bl_k_pixels(shape), shape->block, NULL, scale, dx ? dx + at : NULL,
                             sums + (size_t)n * padded + (size_t)(cb * shape->block));
        }
    for (int c = 0; c < shape->c; c++) {
        double sum = 0;
        for (int n = 0; n < shape->n; n++)
            sum += (double)sums[(size_t)n * padded + (size_t)c];
        dgamma[c] = (float)sum;
    }
}

void bl_k_drop_path(const bl_k_shape *shape, const bl_k_dropout *dropout, const float *x, float *y)
{
    size_t each = (size_t)bl_k_padded_c(shape) * bl_k_pixels(shape);
    float scale = 1 / (1 - dropout->p);
#pragma omp parallel for schedule(static)
    for (int n = 0; n < shape->n; n++) {
        const float *from = x + (size_t)n * each;
        float *to = y + (size_t)n * each;
        if (!bl_dropout_keeps(dropout->p, dropout->seed, dropout->step, dropout->stream, dropout->first + (uint64_t)n))
            memset(to, 0, each * sizeof *to);
        else
            for (size_t i = 0; i < each; i++)
                to[i] = from[i] * scale;
    }
}
