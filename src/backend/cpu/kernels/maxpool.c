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

/* The shape of the result. */
static bl_k_shape pooled(const bl_k_maxpool *p)
{
    bl_k_shape y = p->x;
    y.h = p->oh;
    y.w = p->ow;
    return y;
}

void bl_k_maxpool_forward(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, float *y)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(pool->x.block);
    bl_k_shape out = pooled(pool);
    int blocks = bl_k_blocks(out.c, out.block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < pool->x.n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            bl_k_window_tile tile = tile_of(pool, norm, cb, &affine);
            float *to = y + bl_k_tile_at(&out, n, cb);
            tiles->max_pool(&tile, x + bl_k_tile_at(&pool->x, n, cb), to);
            bl_k_clear_padding(to, bl_k_pixels(&out), out.block, bl_k_channels_in(pool->x.c, pool->x.block, cb));
        }
}

void bl_k_maxpool_grad(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, const float *dy, float *dx)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(pool->x.block);
    bl_k_shape out = pooled(pool);
    int blocks = bl_k_blocks(out.c, out.block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < pool->x.n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            bl_k_window_tile tile = tile_of(pool, norm, cb, &affine);
            tiles->max_pool_grad(&tile, x + bl_k_tile_at(&pool->x, n, cb), dy + bl_k_tile_at(&out, n, cb),
                                 dx + bl_k_tile_at(&pool->x, n, cb));
        }
}
