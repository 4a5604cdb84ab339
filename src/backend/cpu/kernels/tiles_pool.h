/* Tiles of max pooling. Included by tiles.c, once for each instruction set. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_POOL_H
#define BL_BACKEND_CPU_KERNELS_TILES_POOL_H

#include <string.h>

#include "backend/cpu/kernels/tiles_norm.h"

/* The part of a window that lies inside the image: [from, to) along one axis. */
typedef struct extent {
    int from, to;
} extent;

static extent window_at(int out, int stride, int pad, int k, int size)
{
    int from = out * stride - pad, to = from + k;
    return (extent){from < 0 ? 0 : from, to > size ? size : to};
}

BL_INLINE void max_pool_with(const bl_k_window_tile *t, const bl_k_affine *a, bl_act act, const float *x, float *y)
{
    for (int b = 0; b < t->block; b += BL_V) {
        vaffine v = load_affine(a, b);
        for (int oy = 0; oy < t->oh; oy++) {
            extent rows = window_at(oy, t->stride, t->pad, t->k, t->ih);
            for (int ox = 0; ox < t->ow; ox++) {
                extent columns = window_at(ox, t->stride, t->pad, t->k, t->iw);
                const float *first = x + (rows.from * t->iw + columns.from) * t->block + b;
                vfloat best = affine_at(&v, act, v_load(first));
                for (int iy = rows.from; iy < rows.to; iy++)
                    for (int ix = columns.from; ix < columns.to; ix++)
                        best = v_max(best, affine_at(&v, act, v_load(x + (iy * t->iw + ix) * t->block + b)));
                v_store(y + (oy * t->ow + ox) * t->block + b, best);
            }
        }
    }
}

static void tile_max_pool(const bl_k_window_tile *t, const float *x, float *y)
{
    const bl_k_affine *a = t->affine ? t->affine : &identity;
    BL_WITH_ACT(a->act, constant, max_pool_with(t, a, constant, x, y));
}

/* Which element of each lane's window is the largest, the first of equal ones: the backward pass needs no stored
 * indices, since the forward pass' input is kept anyway. */
BL_INLINE void find_winners(const bl_k_window_tile *t, const bl_k_affine *a, bl_act act, extent rows, extent columns,
                            const float *x, float *best, int *at)
{
    bool fresh = true;
    for (int iy = rows.from; iy < rows.to; iy++)
        for (int ix = columns.from; ix < columns.to; ix++, fresh = false) {
            float value[BL_K_BLOCK_MAX];
            int place = (iy * t->iw + ix) * t->block;
            for (int b = 0; b < t->block; b += BL_V) {
                vaffine v = load_affine(a, b);
                v_store(value + b, affine_at(&v, act, v_load(x + place + b)));
            }
            for (int b = 0; b < t->block; b++) {
                bool better = fresh || value[b] > best[b];
                best[b] = better ? value[b] : best[b];
                at[b] = better ? place : at[b];
            }
        }
}

BL_INLINE void max_pool_grad_with(const bl_k_window_tile *t, const bl_k_affine *a, bl_act act, const float *x,
                                  const float *dy, float *dx)
{
    float best[BL_K_BLOCK_MAX];
    int at[BL_K_BLOCK_MAX];
    memset(dx, 0, (size_t)t->ih * (size_t)t->iw * (size_t)t->block * sizeof *dx);
    for (int oy = 0; oy < t->oh; oy++) {
        extent rows = window_at(oy, t->stride, t->pad, t->k, t->ih);
        for (int ox = 0; ox < t->ow; ox++) {
            extent columns = window_at(ox, t->stride, t->pad, t->k, t->iw);
            const float *d = dy + (oy * t->ow + ox) * t->block;
            find_winners(t, a, act, rows, columns, x, best, at);
            for (int b = 0; b < t->block; b++)
                dx[at[b] + b] += d[b];
        }
    }
}

static void tile_max_pool_grad(const bl_k_window_tile *t, const float *x, const float *dy, float *dx)
{
    const bl_k_affine *a = t->affine ? t->affine : &identity;
    BL_WITH_ACT(a->act, constant, max_pool_grad_with(t, a, constant, x, dy, dx));
}

#endif
