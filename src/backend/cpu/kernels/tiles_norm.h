/* Tiles of normalisation, pooling and gating. Included by tiles.c, once for each instruction set. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_NORM_H
#define BL_BACKEND_CPU_KERNELS_TILES_NORM_H

#include "backend/cpu/kernels/act_simd.h"
#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/kernels/tiles.h"

static void tile_stats(const float *x, size_t pixels, int block, float *mean, float *m2)
{
    for (int b = 0; b < block; b += BL_V) {
        /* Four sums each: additions need not wait for one another. The tile lies in the cache for the second pass. */
        vfloat s[4] = {v_set(0), v_set(0), v_set(0), v_set(0)}, d[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
        size_t p = 0;
        for (; p + 4 <= pixels; p += 4)
            for (int u = 0; u < 4; u++)
                s[u] = v_add(s[u], v_load(x + (p + (size_t)u) * (size_t)block + b));
        for (; p < pixels; p++)
            s[0] = v_add(s[0], v_load(x + p * (size_t)block + b));
        vfloat m = v_mul(v_add(v_add(s[0], s[1]), v_add(s[2], s[3])), v_set(1.0f / (float)pixels));
        for (p = 0; p + 4 <= pixels; p += 4)
            for (int u = 0; u < 4; u++) {
                vfloat off = v_sub(v_load(x + (p + (size_t)u) * (size_t)block + b), m);
                d[u] = v_fma(off, off, d[u]);
            }
        for (; p < pixels; p++) {
            vfloat off = v_sub(v_load(x + p * (size_t)block + b), m);
            d[0] = v_fma(off, off, d[0]);
        }
        v_store(mean + b, m);
        v_store(m2 + b, v_add(v_add(d[0], d[1]), v_add(d[2], d[3])));
    }
}

/* One vector's part of a bl_k_affine, held in registers: a compiler must assume that stores change what lies in
 * memory. */
typedef struct vaffine {
    vfloat scale, shift;
} vaffine;

BL_INLINE vaffine load_affine(const bl_k_affine *a, int b)
{
    return (vaffine){v_load(a->scale + b), v_load(a->shift + b)};
}

BL_INLINE vfloat affine_at(const vaffine *a, bl_act act, vfloat x)
{
    return act_value(act, v_fma(x, a->scale, a->shift));
}

BL_INLINE void apply_with(const float *x, size_t pixels, int block, const bl_k_affine *a, bl_act act, const float *gate,
                          const float *residual, float *y)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat factor = gate ? v_load(gate + b) : v_set(1);
        vaffine v = load_affine(a, b);
        if (residual)
            for (size_t i = (size_t)b; i < pixels * (size_t)block; i += (size_t)block)
                v_store(y + i, v_fma(affine_at(&v, act, v_load(x + i)), factor, v_load(residual + i)));
        else if (gate)
            for (size_t i = (size_t)b; i < pixels * (size_t)block; i += (size_t)block)
                v_store(y + i, v_mul(affine_at(&v, act, v_load(x + i)), factor));
        else
            for (size_t i = (size_t)b; i < pixels * (size_t)block; i += (size_t)block)
                v_store(y + i, affine_at(&v, act, v_load(x + i)));
    }
}

static void tile_apply(const float *x, size_t pixels, int block, const bl_k_affine *affine, const float *gate,
                       const float *residual, float *y)
{
    BL_WITH_ACT(affine->act, constant, apply_with(x, pixels, block, affine, constant, gate, residual, y));
}

/* g at one place, after the activation's slope. */
BL_INLINE vfloat incoming(const bl_k_incoming *in, size_t i, vfloat gate, vfloat add, vfloat x, const vaffine *a,
                          bl_act act)
{
    vfloat g = in->dy ? v_fma(v_load(in->dy + i), gate, add) : add;
    if (act == BL_ACT_NONE)
        return g;
    return act_chain(act, v_fma(x, a->scale, a->shift), g);
}

BL_INLINE void load_incoming(const bl_k_incoming *in, int b, vfloat *gate, vfloat *add)
{
    *gate = in->gate ? v_load(in->gate + b) : v_set(1);
    *add = in->add ? v_mul(v_load(in->add + b), v_set(in->add_scale)) : v_set(0);
}

BL_INLINE void grad_sums_with(const float *x, const bl_k_incoming *in, size_t pixels, int block,
                              const bl_k_bn_block *bn, bl_act act, float *sum_g, float *sum_gx)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat gate, add, mean = v_load(bn->mean + b);
        vfloat s[2] = {v_set(0), v_set(0)}, t[2] = {v_set(0), v_set(0)};
        vaffine v = load_affine(&bn->affine, b);
        load_incoming(in, b, &gate, &add);
        size_t p = 0;
        for (; p + 2 <= pixels; p += 2)
            for (int u = 0; u < 2; u++) {
                size_t i = (p + (size_t)u) * (size_t)block + (size_t)b;
                vfloat value = v_load(x + i), g = incoming(in, i, gate, add, value, &v, act);
                s[u] = v_add(s[u], g);
                t[u] = v_fma(g, v_sub(value, mean), t[u]);
            }
        for (; p < pixels; p++) {
            size_t i = p * (size_t)block + (size_t)b;
            vfloat value = v_load(x + i), g = incoming(in, i, gate, add, value, &v, act);
            s[0] = v_add(s[0], g);
            t[0] = v_fma(g, v_sub(value, mean), t[0]);
        }
        v_store(sum_g + b, v_add(s[0], s[1]));
        v_store(sum_gx + b, v_mul(v_add(t[0], t[1]), v_load(bn->inv_std + b)));
    }
}

static void tile_grad_sums(const float *x, const bl_k_incoming *in, size_t pixels, int block, const bl_k_bn_block *bn,
                           float *sum_g, float *sum_gx)
{
    BL_WITH_ACT(bn->affine.act, constant, grad_sums_with(x, in, pixels, block, bn, constant, sum_g, sum_gx));
}

BL_INLINE void grad_apply_with(const float *x, const bl_k_incoming *in, size_t pixels, int block,
                               const bl_k_bn_block *bn, bl_act act, float *dx)
{
    for (int k = 0; k < block; k += BL_V) {
        vfloat gate, add, mean = v_load(bn->mean + k);
        vfloat a = v_load(bn->a + k), b = v_load(bn->b + k), c = v_load(bn->c + k);
        vaffine v = load_affine(&bn->affine, k);
        load_incoming(in, k, &gate, &add);
        for (size_t i = (size_t)k; i < pixels * (size_t)block; i += (size_t)block) {
            vfloat value = v_load(x + i), g = incoming(in, i, gate, add, value, &v, act);
            v_store(dx + i, v_fma(a, g, v_fma(b, v_sub(value, mean), c)));
        }
    }
}

static void tile_grad_apply(const float *x, const bl_k_incoming *in, size_t pixels, int block, const bl_k_bn_block *bn,
                            float *dx)
{
    BL_WITH_ACT(bn->affine.act, constant, grad_apply_with(x, in, pixels, block, bn, constant, dx));
}

static const bl_k_affine identity = {
    .scale = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    .act = BL_ACT_NONE,
};

BL_INLINE void pool_with(const float *x, size_t pixels, int block, const bl_k_affine *a, bl_act act, float *sum)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat s[2] = {v_set(0), v_set(0)};
        vaffine v = load_affine(a, b);
        size_t p = 0;
        for (; p + 2 <= pixels; p += 2)
            for (int u = 0; u < 2; u++)
                s[u] = v_add(s[u], affine_at(&v, act, v_load(x + (p + (size_t)u) * (size_t)block + b)));
        for (; p < pixels; p++)
            s[0] = v_add(s[0], affine_at(&v, act, v_load(x + p * (size_t)block + b)));
        v_store(sum + b, v_add(s[0], s[1]));
    }
}

static void tile_pool(const float *x, size_t pixels, int block, const bl_k_affine *affine, float *sum)
{
    const bl_k_affine *a = affine ? affine : &identity;
    BL_WITH_ACT(a->act, constant, pool_with(x, pixels, block, a, constant, sum));
}

BL_INLINE void gate_grad_with(const float *x, const float *dy, size_t pixels, int block, const bl_k_affine *a,
                              bl_act act, const float *gate, float *dx, float *dgate)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat sum[2] = {v_set(0), v_set(0)}, factor = v_load(gate + b);
        vaffine v = load_affine(a, b);
        for (size_t p = 0; p < pixels; p++) {
            size_t i = p * (size_t)block + (size_t)b;
            vfloat d = v_load(dy + i);
            sum[p & 1] = v_fma(d, affine_at(&v, act, v_load(x + i)), sum[p & 1]);
            if (dx)
                v_store(dx + i, v_mul(d, factor));
        }
        v_store(dgate + b, v_add(sum[0], sum[1]));
    }
}

static void tile_gate_grad(const float *x, const float *dy, size_t pixels, int block, const bl_k_affine *affine,
                           const float *gate, float *dx, float *dgate)
{
    const bl_k_affine *a = affine ? affine : &identity;
    BL_WITH_ACT(a->act, constant, gate_grad_with(x, dy, pixels, block, a, constant, gate, dx, dgate));
}

#endif
