/* Tiles of depthwise convolution. Included by tiles.c, once for each instruction set. The rows of x that an output row
 * reads are kept in a ring, padded with zeros on both sides and normalised where that is asked for: every element is
 * normalised once, and the inner loops know no borders. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_DW_H
#define BL_BACKEND_CPU_KERNELS_TILES_DW_H

#include <string.h>

#include "backend/cpu/kernels/depthwise.h"
#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/kernels/tiles_norm.h"

static size_t row_floats(const bl_k_dw_tile *t)
{
    return bl_k_dw_row_floats(t->iw, t->k, t->stride, t->pad, t->block);
}

/* CALL with fixed_block for `block`: a constant where it is one vector, as it is in the layout of the processor's own
 * instruction set. Every address in an inner loop is then a base and a constant. */
#define BL_WITH_BLOCK(block, CALL)                                                                                     \
    do {                                                                                                               \
        if ((block) == BL_V) {                                                                                         \
            const int fixed_block = BL_V;                                                                              \
            CALL;                                                                                                      \
        } else {                                                                                                       \
            const int fixed_block = (block);                                                                           \
            CALL;                                                                                                      \
        }                                                                                                              \
    } while (0)

BL_INLINE void normalise_row(const bl_k_affine *affine, const float *from, int pixels, int block, bl_act act, float *to)
{
    for (int b = 0; b < block; b += BL_V) {
        vaffine v = load_affine(affine, b);
        for (int p = 0; p < pixels; p++)
            v_store(to + p * block + b, affine_at(&v, act, v_load(from + p * block + b)));
    }
}

static void copy_row(const bl_k_dw_tile *t, const float *from, float *to)
{
    if (t->affine)
        BL_WITH_ACT(t->affine->act, constant, normalise_row(t->affine, from, t->iw, t->block, constant, to));
    else
        memcpy(to, from, (size_t)(t->iw * t->block) * sizeof *to);
}

/* Row ih of x into its place of the ring; zeros where there is no such row. */
static void fill_row(const bl_k_dw_tile *t, const float *x, int ih, float *row)
{
    size_t total = row_floats(t), left = (size_t)t->pad * (size_t)t->block, middle = (size_t)(t->iw * t->block);
    if (ih < 0 || ih >= t->ih) {
        memset(row, 0, total * sizeof *row);
        return;
    }
    memset(row, 0, left * sizeof *row);
    copy_row(t, x + (size_t)ih * middle, row + left);
    memset(row + left + middle, 0, (total - left - middle) * sizeof *row);
}

/* `count` output pixels from `ow`; k and stride are constants where this is inlined. */
BL_INLINE void dw_pixels(const float *const *rows, const float *w, vfloat start, int b, int block, int k, int stride,
                         int ow, int count, float *y)
{
    vfloat acc[8];
#pragma GCC unroll 8
    for (int u = 0; u < count; u++)
        acc[u] = start;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++) {
            vfloat filter = v_load(w + (i * k + j) * block + b);
            const float *x = rows[i] + (ow * stride + j) * block + b;
#pragma GCC unroll 8
            for (int u = 0; u < count; u++)
                acc[u] = v_fma(v_load(x + u * stride * block), filter, acc[u]);
        }
#pragma GCC unroll 8
    for (int u = 0; u < count; u++)
        v_store(y + (ow + u) * block + b, acc[u]);
}

/* Seven or eight pixels at a time: as many sums hide the latency of the additions. */
BL_INLINE void dw_row(const float *const *rows, const float *w, const float *bias, int block, int n_out, int k,
                      int stride, float *y)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat start = bias ? v_load(bias + b) : v_set(0);
        int ow = 0;
        if (n_out % 7 == 0) /* 224 = 7 * 32, halved and halved again */
            for (; ow < n_out; ow += 7)
                dw_pixels(rows, w, start, b, block, k, stride, ow, 7, y);
        for (; ow + 8 <= n_out; ow += 8)
            dw_pixels(rows, w, start, b, block, k, stride, ow, 8, y);
        for (; ow + 4 <= n_out; ow += 4)
            dw_pixels(rows, w, start, b, block, k, stride, ow, 4, y);
        for (; ow + 2 <= n_out; ow += 2)
            dw_pixels(rows, w, start, b, block, k, stride, ow, 2, y);
        for (; ow < n_out; ow++)
            dw_pixels(rows, w, start, b, block, k, stride, ow, 1, y);
    }
}

#define DW_CASE(K, STRIDE)                                                                                             \
    case (K)*8 + (STRIDE):                                                                                             \
        BL_WITH_BLOCK(block, dw_row(rows, w, bias, fixed_block, n_out, K, STRIDE, y));                                 \
        break

static void dw_row_any(const float *const *rows, const float *w, const float *bias, int block, int n_out, int k,
                       int stride, float *y)
{
    switch (k * 8 + stride) {
        DW_CASE(3, 1);
        DW_CASE(3, 2);
        DW_CASE(5, 1);
        DW_CASE(5, 2);
        DW_CASE(7, 1);
    default:
        dw_row(rows, w, bias, block, n_out, k, stride, y);
        break;
    }
}

/* The ring: row ih lies at (ih + k * something) modulo k. */
static float *ring_row(const bl_k_dw_tile *t, float *ring, int ih)
{
    return ring + (size_t)((ih + 64 * t->k) % t->k) * row_floats(t);
}

/* Makes sure that the k rows which output row oh reads are there; *next is the first that is not. */
static void fill_ring(const bl_k_dw_tile *t, const float *x, int oh, int *next, float *ring, const float **rows)
{
    int first = oh * t->stride - t->pad;
    if (*next < first)
        *next = first;
    for (; *next < first + t->k; ++*next)
        fill_row(t, x, *next, ring_row(t, ring, *next));
    for (int i = 0; i < t->k; i++)
        rows[i] = ring_row(t, ring, first + i);
}

static void tile_dw_forward(const bl_k_dw_tile *t, const float *x, const float *w, const float *bias, float *y,
                            float *ring)
{
    const float *rows[BL_K_DW_MAX];
    int next = -t->pad;
    for (int oh = 0; oh < t->oh; oh++) {
        fill_ring(t, x, oh, &next, ring, rows);
        dw_row_any(rows, w, bias, t->block, t->ow, t->k, t->stride, y + (size_t)oh * (size_t)(t->ow * t->block));
    }
}

/* Stride 1: a forward convolution of dy with the turned filter, its padding being k - 1 - pad. */
static void grad_data_dense(const bl_k_dw_tile *t, const float *dy, const float *w, float *dx, float *ring)
{
    bl_k_dw_tile turned = {.block = t->block,
                           .ih = t->oh,
                           .iw = t->ow,
                           .oh = t->ih,
                           .ow = t->iw,
                           .k = t->k,
                           .stride = 1,
                           .pad = t->k - 1 - t->pad};
    float filter[BL_K_DW_MAX * BL_K_DW_MAX * BL_K_BLOCK_MAX];
    int taps = t->k * t->k;
    for (int i = 0; i < taps; i++)
        memcpy(filter + i * t->block, w + (taps - 1 - i) * t->block, (size_t)t->block * sizeof *filter);
    tile_dw_forward(&turned, dy, filter, NULL, dx, ring);
}

/* One row of dx gathers from the rows of dy whose filters reach it: scattered into a padded row. */
BL_INLINE void scatter_row(const float *dy, const float *w, int block, int n, int k, int stride, float *row)
{
    for (int b = 0; b < block; b += BL_V)
        for (int ow = 0; ow < n; ow++) {
            vfloat d = v_load(dy + ow * block + b);
            float *at = row + ow * stride * block + b;
            for (int j = 0; j < k; j++)
                v_store(at + j * block, v_fma(d, v_load(w + j * block + b), v_load(at + j * block)));
        }
}

static void scatter_row_any(const float *dy, const float *w, int block, int n, int k, int stride, float *row)
{
    if (k == 3 && stride == 2)
        BL_WITH_BLOCK(block, scatter_row(dy, w, fixed_block, n, 3, 2, row));
    else if (k == 5 && stride == 2)
        BL_WITH_BLOCK(block, scatter_row(dy, w, fixed_block, n, 5, 2, row));
    else
        scatter_row(dy, w, block, n, k, stride, row);
}

static void tile_dw_grad_data(const bl_k_dw_tile *t, const float *dy, const float *w, float *dx, float *rows)
{
    if (t->stride == 1 && t->pad < t->k) {
        grad_data_dense(t, dy, w, dx, rows);
        return;
    }
    size_t total = row_floats(t), line = (size_t)(t->iw * t->block);
    for (int ih = 0; ih < t->ih; ih++) {
        memset(rows, 0, total * sizeof *rows);
        for (int i = 0; i < t->k; i++) {
            int reach = ih + t->pad - i; /* oh * stride */
            if (reach < 0 || reach % t->stride != 0 || reach / t->stride >= t->oh)
                continue;
            scatter_row_any(dy + (size_t)(reach / t->stride) * (size_t)(t->ow * t->block), w + i * t->k * t->block,
                            t->block, t->ow, t->k, t->stride, rows);
        }
        memcpy(dx + (size_t)ih * line, rows + (size_t)(t->pad * t->block), line * sizeof *dx);
    }
}

/* Adds one output row's part to the sums of `n_rows` filter rows from row i on. dy is loaded once for all of them, and
 * nine or ten sums at a time hide the latency of the additions. */
BL_INLINE void weights_rows(const float *const *rows, const float *dy, int block, int n, int k, int stride, int i,
                            int n_rows, float *d_w)
{
    for (int b = 0; b < block; b += BL_V) {
        vfloat acc[2 * BL_K_DW_MAX]; /* n_rows * k of them */
        float *sums = d_w + i * k * block + b;
#pragma GCC unroll 16
        for (int t = 0; t < n_rows * k; t++)
            acc[t] = v_load(sums + t * block);
        for (int ow = 0; ow < n; ow++) {
            vfloat d = v_load(dy + ow * block + b);
#pragma GCC unroll 16
            for (int t = 0; t < n_rows * k; t++)
                acc[t] = v_fma(d, v_load(rows[i + t / k] + (ow * stride + t % k) * block + b), acc[t]);
        }
#pragma GCC unroll 16
        for (int t = 0; t < n_rows * k; t++)
            v_store(sums + t * block, acc[t]);
    }
}

BL_INLINE void weights_row(const float *const *rows, const float *dy, int block, int n, int k, int stride, float *d_w)
{
    for (int i = 0; i < k; i++)
        weights_rows(rows, dy, block, n, k, stride, i, 1, d_w);
}

BL_INLINE void weights_row_3(const float *const *rows, const float *dy, int block, int n, int stride, float *d_w)
{
    weights_rows(rows, dy, block, n, 3, stride, 0, 3, d_w);
}

BL_INLINE void weights_row_5(const float *const *rows, const float *dy, int block, int n, int stride, float *d_w)
{
    weights_rows(rows, dy, block, n, 5, stride, 0, 2, d_w);
    weights_rows(rows, dy, block, n, 5, stride, 2, 2, d_w);
    weights_rows(rows, dy, block, n, 5, stride, 4, 1, d_w);
}

static void weights_row_any(const float *const *rows, const float *dy, int block, int n, int k, int stride, float *d_w)
{
    switch (k * 8 + stride) {
    case 3 * 8 + 1:
        BL_WITH_BLOCK(block, weights_row_3(rows, dy, fixed_block, n, 1, d_w));
        break;
    case 3 * 8 + 2:
        BL_WITH_BLOCK(block, weights_row_3(rows, dy, fixed_block, n, 2, d_w));
        break;
    case 5 * 8 + 1:
        BL_WITH_BLOCK(block, weights_row_5(rows, dy, fixed_block, n, 1, d_w));
        break;
    case 5 * 8 + 2:
        BL_WITH_BLOCK(block, weights_row_5(rows, dy, fixed_block, n, 2, d_w));
        break;
    case 7 * 8 + 1:
        BL_WITH_BLOCK(block, weights_row(rows, dy, fixed_block, n, 7, 1, d_w));
        break;
    default:
        weights_row(rows, dy, block, n, k, stride, d_w);
        break;
    }
}

static void tile_dw_grad_weights(const bl_k_dw_tile *t, const float *x, const float *dy, float *d_w, float *ring)
{
    const float *rows[BL_K_DW_MAX];
    int next = -t->pad;
    memset(d_w, 0, (size_t)(t->k * t->k * t->block) * sizeof *d_w);
    for (int oh = 0; oh < t->oh; oh++) {
        fill_ring(t, x, oh, &next, ring, rows);
        weights_row_any(rows, dy + (size_t)oh * (size_t)(t->ow * t->block), t->block, t->ow, t->k, t->stride, d_w);
    }
}

#endif
