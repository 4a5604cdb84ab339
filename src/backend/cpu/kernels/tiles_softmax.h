/* Tiles of the softmax: one row, whole vectors and then a last one on a copy. Included by tiles.c, once for each
 * instruction set. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_SOFTMAX_H
#define BL_BACKEND_CPU_KERNELS_TILES_SOFTMAX_H

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/exp_simd.h"
#include "backend/cpu/kernels/tiles_row.h"

/* The last n < BL_V numbers, the other lanes filled. */
static vfloat take_last(const float *x, size_t n, float fill)
{
    float lanes[BL_V];
    for (size_t i = 0; i < BL_V; i++)
        lanes[i] = i < n ? x[i] : fill;
    return v_load(lanes);
}

static void store_last(float *x, size_t n, vfloat v)
{
    float lanes[BL_V];
    v_store(lanes, v);
    memcpy(x, lanes, n * sizeof *x);
}

static float largest_lane(vfloat v)
{
    float lanes[BL_V];
    v_store(lanes, v);
    float top = lanes[0];
    for (int i = 1; i < BL_V; i++)
        top = lanes[i] > top ? lanes[i] : top;
    return top;
}

static void tile_softmax(size_t n, float *x)
{
    size_t whole = n / BL_V * BL_V, rest = n - whole;
    vfloat top = v_set(-INFINITY), sum = v_set(0);
    for (size_t i = 0; i < whole; i += BL_V)
        top = v_max(top, v_load(x + i)); /* in this order a NaN stays, or goes into the sum below */
    if (rest > 0)
        top = v_max(top, take_last(x + whole, rest, -INFINITY));
    top = v_set(largest_lane(top));
    for (size_t i = 0; i < whole; i += BL_V) {
        vfloat e = v_exp(v_sub(v_load(x + i), top));
        sum = v_add(sum, e);
        v_store(x + i, e);
    }
    float total = 0;
    if (rest > 0) {
        store_last(x + whole, rest, v_exp(v_sub(take_last(x + whole, rest, 0), top)));
        for (size_t i = whole; i < n; i++)
            total += x[i];
    }
    vfloat scale = v_set(1 / (total + sum_of_lanes(sum)));
    for (size_t i = 0; i < whole; i += BL_V)
        v_store(x + i, v_mul(v_load(x + i), scale));
    if (rest > 0)
        store_last(x + whole, rest, v_mul(take_last(x + whole, rest, 0), scale));
}

static void tile_softmax_grad(size_t n, const float *p, float *dp)
{
    size_t whole = n / BL_V * BL_V, rest = n - whole;
    vfloat sum = v_set(0);
    for (size_t i = 0; i < whole; i += BL_V)
        sum = v_fma(v_load(p + i), v_load(dp + i), sum);
    if (rest > 0)
        sum = v_fma(take_last(p + whole, rest, 0), take_last(dp + whole, rest, 0), sum);
    vfloat mean = v_set(sum_of_lanes(sum));
    for (size_t i = 0; i < whole; i += BL_V)
        v_store(dp + i, v_mul(v_load(p + i), v_sub(v_load(dp + i), mean)));
    if (rest > 0)
        store_last(dp + whole, rest, v_mul(take_last(p + whole, rest, 0), v_sub(take_last(dp + whole, rest, 0), mean)));
}

#endif
