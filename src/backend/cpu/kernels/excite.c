#include "backend/cpu/kernels/excite.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"

size_t bl_k_excite_scratch_b(const bl_k_shape *shape)
{
    return 0; /* the tiles' sums go straight to where they belong */
}

static size_t vector_at(const bl_k_shape *s, int n, int cb)
{
    return (size_t)n * (size_t)bl_k_padded_c(s) + (size_t)(cb * s->block);
}

static const bl_k_affine *affine_of(const bl_k_norm *norm, const bl_k_shape *s, int cb, bl_k_affine *out)
{
    if (!norm)
        return NULL;
    bl_k_make_affine(norm, s->c, s->block, cb, out);
    return out;
}

void bl_k_pool_forward(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, float *mean, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            float *out = mean + vector_at(shape, n, cb);
            tiles->pool(x + bl_k_tile_at(shape, n, cb), bl_k_pixels(shape), shape->block,
                        affine_of(norm, shape, cb, &affine), out);
            for (int i = 0; i < shape->block; i++)
                out[i] /= (float)bl_k_pixels(shape);
            bl_k_clear_padding(out, 1, shape->block, bl_k_channels_in(shape->c, shape->block, cb));
        }
}

void bl_k_pool_grad(const bl_k_shape *shape, const float *dmean, float *dx)
{
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t pixels = bl_k_pixels(shape);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            float value[BL_K_BLOCK_MAX], *tile = dx + bl_k_tile_at(shape, n, cb);
            for (int i = 0; i < shape->block; i++)
                value[i] = dmean[vector_at(shape, n, cb) + (size_t)i] / (float)pixels;
            for (size_t p = 0; p < pixels; p++)
                memcpy(tile + p * (size_t)shape->block, value, (size_t)shape->block * sizeof *value);
        }
}

void bl_k_gate_forward(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate, float *y,
                       void *scratch)
{
    static const bl_k_affine identity = {.scale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            const bl_k_affine *used = affine_of(norm, shape, cb, &affine);
            tiles->apply(x + bl_k_tile_at(shape, n, cb), bl_k_pixels(shape), shape->block, used ? used : &identity,
                         gate + vector_at(shape, n, cb), NULL, y + bl_k_tile_at(shape, n, cb));
        }
}

void bl_k_gate_grad(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate, const float *dy,
                    float *dx, float *dgate, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            size_t at = bl_k_tile_at(shape, n, cb);
            float *sum = dgate + vector_at(shape, n, cb);
            tiles->gate_grad(x + at, dy + at, bl_k_pixels(shape), shape->block, affine_of(norm, shape, cb, &affine),
                             gate + vector_at(shape, n, cb), dx ? dx + at : NULL, sum);
            bl_k_clear_padding(sum, 1, shape->block, bl_k_channels_in(shape->c, shape->block, cb));
        }
}
