#include "backend/cpu/kernels/maxpool.h"

#include "backend/cpu/kernels/block.h"

static bl_k_window_tile tile_of(const bl_k_maxpool *p, const bl_k_norm *norm, int cb, bl_k_affine *affine)
{
    if (norm)
        bl_k_make_affine(norm, p->x.c, p->x.block, cb, affine);
    return (bl_k_window_tile){.block = p->x.block,
                              .ih = p->x.h,
                              .iw = p->x.w,
                              .oh = p->oh,
                              .ow = p->ow,
                              .k = p->k,
                              .stride = p->stride,
                              .pad = p->pad,
                              .affine = norm ? affine : NULL};
}

static size_t tile_at(const bl_k_maxpool *p, int n, int cb, int pixels)
{
    return ((size_t)n * (size_t)bl_k_blocks(p->x.c, p->x.block) + (size_t)cb) * (size_t)pixels * (size_t)p->x.block;
}

void bl_k_maxpool_forward(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, float *y)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(pool->x.block);
    int blocks = bl_k_blocks(pool->x.c, pool->x.block), in = pool->x.h * pool->x.w, out = pool->oh * pool->ow;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < pool->x.n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            bl_k_window_tile tile = tile_of(pool, norm, cb, &affine);
            float *to = y + tile_at(pool, n, cb, out);
            tiles->max_pool(&tile, x + tile_at(pool, n, cb, in), to);
            bl_k_clear_padding(to, (size_t)out, pool->x.block, bl_k_channels_in(pool->x.c, pool->x.block, cb));
        }
}

void bl_k_maxpool_grad(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, const float *dy, float *dx)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(pool->x.block);
    int blocks = bl_k_blocks(pool->x.c, pool->x.block), in = pool->x.h * pool->x.w, out = pool->oh * pool->ow;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < pool->x.n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            bl_k_window_tile tile = tile_of(pool, norm, cb, &affine);
            tiles->max_pool_grad(&tile, x + tile_at(pool, n, cb, in), dy + tile_at(pool, n, cb, out),
                                 dx + tile_at(pool, n, cb, in));
        }
}
