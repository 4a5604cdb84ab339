/* Tiles of layer normalisation: a few rows at a time, so that their channels stay in the cache between the passes.
 * Included by tiles.c, once for each instruction set. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_ROW_H
#define BL_BACKEND_CPU_KERNELS_TILES_ROW_H

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/kernels/tiles.h"

static float sum_of_lanes(vfloat v)
{
    float lanes[BL_V], sum = 0;
    v_store(lanes, v);
    for (int i = 0; i < BL_V; i++)
        sum += lanes[i];
    return sum;
}

/* BL_V channels from c on of a plain vector; 0 past its end, and where there is no vector. */
static vfloat take(const float *v, int c, int count)
{
    if (v && c + BL_V <= count)
        return v_load(v + c);
    float lanes[BL_V] = {0};
    for (int i = 0; v && i < BL_V && c + i < count; i++)
        lanes[i] = v[c + i];
    return v_load(lanes);
}

/* Zeros in the lanes of padded channels, which a shifted x does not have. */
static vfloat mask_of(int c, int count)
{
    if (c + BL_V <= count)
        return v_set(1);
    float lanes[BL_V];
    for (int i = 0; i < BL_V; i++)
        lanes[i] = c + i < count ? 1 : 0;
    return v_load(lanes);
}

static size_t place_of(const bl_k_row_tile *t, int c)
{
    return (size_t)(c / t->block) * t->apart + (size_t)(c % t->block);
}

static int padded_of(const bl_k_row_tile *t)
{
    return (t->c + t->block - 1) / t->block * t->block;
}

static void tile_row_norm(const bl_k_row_tile *t, int count, const float *x, float *y, float *mean, float *rstd)
{
    vfloat sum[BL_K_ROWS], center[BL_K_ROWS];
    for (int p = 0; p < count; p++)
        sum[p] = v_set(0);
    for (int c = 0; c < padded_of(t); c += BL_V)
        for (int p = 0; p < count; p++)
            sum[p] = v_add(sum[p], v_load(x + place_of(t, c) + (size_t)p * t->next));
    for (int p = 0; p < count; p++) {
        mean[p] = sum_of_lanes(sum[p]) / (float)t->c;
        center[p] = v_set(mean[p]);
        sum[p] = v_set(0);
    }
    for (int c = 0; c < padded_of(t); c += BL_V) {
        vfloat mask = mask_of(c, t->c);
        for (int p = 0; p < count; p++) {
            vfloat off = v_mul(v_sub(v_load(x + place_of(t, c) + (size_t)p * t->next), center[p]), mask);
            sum[p] = v_fma(off, off, sum[p]);
        }
    }
    for (int p = 0; p < count; p++) {
        rstd[p] = 1 / sqrtf(sum_of_lanes(sum[p]) / (float)t->c + t->eps);
        sum[p] = v_set(rstd[p]);
    }
    for (int c = 0; c < padded_of(t); c += BL_V) {
        vfloat gamma = take(t->gamma, c, t->c), beta = take(t->beta, c, t->c);
        for (int p = 0; p < count; p++) {
            size_t at = place_of(t, c) + (size_t)p * t->next;
            v_store(y + at, v_fma(v_mul(v_sub(v_load(x + at), center[p]), sum[p]), gamma, beta));
        }
    }
}

static void tile_row_norm_grad(const bl_k_row_tile *t, int count, const float *x, const float *dy, const float *mean,
                               const float *rstd, float *dx, float *dgamma, float *dbeta)
{
    vfloat sum_g[BL_K_ROWS], sum_gx[BL_K_ROWS], center[BL_K_ROWS], scale[BL_K_ROWS];
    for (int p = 0; p < count; p++) {
        sum_g[p] = sum_gx[p] = v_set(0);
        center[p] = v_set(mean[p]);
        scale[p] = v_set(rstd[p]);
    }
    for (int c = 0; c < padded_of(t); c += BL_V) {
        vfloat gamma = take(t->gamma, c, t->c), d_gamma = v_load(dgamma + c), d_beta = v_load(dbeta + c);
        for (int p = 0; p < count; p++) {
            size_t at = place_of(t, c) + (size_t)p * t->next;
            vfloat d = v_load(dy + at), g = v_mul(d, gamma);
            vfloat xhat = v_mul(v_sub(v_load(x + at), center[p]), scale[p]);
            sum_g[p] = v_add(sum_g[p], g);
            sum_gx[p] = v_fma(g, xhat, sum_gx[p]);
            d_gamma = v_fma(d, xhat, d_gamma);
            d_beta = v_add(d_beta, d);
        }
        v_store(dgamma + c, d_gamma);
        v_store(dbeta + c, d_beta);
    }
    for (int p = 0; p < count; p++) {
        sum_g[p] = v_set(sum_of_lanes(sum_g[p]) / (float)t->c);
        sum_gx[p] = v_set(sum_of_lanes(sum_gx[p]) / (float)t->c);
    }
    for (int c = 0; c < padded_of(t); c += BL_V) {
        vfloat gamma = take(t->gamma, c, t->c), mask = mask_of(c, t->c);
        for (int p = 0; p < count; p++) {
            size_t at = place_of(t, c) + (size_t)p * t->next;
            vfloat g = v_mul(v_load(dy + at), gamma), xhat = v_mul(v_sub(v_load(x + at), center[p]), scale[p]);
            vfloat rest = v_sub(v_sub(g, sum_g[p]), v_mul(xhat, sum_gx[p]));
            v_store(dx + at, v_mul(v_mul(rest, scale[p]), mask));
        }
    }
}

#endif
