/* Compiled once for each instruction set; BL_K_TILES is then the table's name. */
#include "backend/cpu/kernels/tiles.h"

#include <string.h>

#include "backend/cpu/kernels/act_simd.h"
#include "backend/cpu/kernels/depthwise.h"
#include "backend/cpu/kernels/simd.h"

#include "backend/cpu/kernels/tiles_norm.h"

#include "backend/cpu/kernels/tiles_dw.h"
#include "backend/cpu/kernels/tiles_pool.h"
#include "backend/cpu/kernels/tiles_row.h"
#include "backend/cpu/kernels/tiles_softmax.h"
#include "backend/cpu/kernels/tiles_wino.h"

/* ---- flat arrays: whole vectors, then a last one on a copy ---- */

BL_INLINE void act_forward_with(size_t count, bl_act act, const float *x, float *y)
{
    size_t i = 0;
    for (; i + BL_V <= count; i += BL_V)
        v_store(y + i, act_value(act, v_load(x + i)));
    if (i < count) {
        float rest[BL_V] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        v_store(rest, act_value(act, v_load(rest)));
        memcpy(y + i, rest, (count - i) * sizeof *y);
    }
}

static void tile_act_forward(size_t count, bl_act act, const float *x, float *y)
{
    BL_WITH_ACT(act, constant, act_forward_with(count, constant, x, y));
}

BL_INLINE void act_grad_with(size_t count, bl_act act, const float *x, const float *dy, float *dx)
{
    size_t i = 0;
    for (; i + BL_V <= count; i += BL_V)
        v_store(dx + i, act_chain(act, v_load(x + i), v_load(dy + i)));
    if (i < count) {
        float rest[BL_V] = {0}, d[BL_V] = {0};
        memcpy(rest, x + i, (count - i) * sizeof *x);
        memcpy(d, dy + i, (count - i) * sizeof *dy);
        v_store(d, act_chain(act, v_load(rest), v_load(d)));
        memcpy(dx + i, d, (count - i) * sizeof *dx);
    }
}

static void tile_act_grad(size_t count, bl_act act, const float *x, const float *dy, float *dx)
{
    BL_WITH_ACT(act, constant, act_grad_with(count, constant, x, dy, dx));
}

static void tile_add(size_t count, const float *a, const float *b, float *y)
{
    size_t i = 0;
    for (; i + BL_V <= count; i += BL_V)
        v_store(y + i, v_add(v_load(a + i), v_load(b + i)));
    for (; i < count; i++)
        y[i] = a[i] + b[i];
}

const bl_k_tiles BL_K_TILES = {
    .v = BL_V,
    .stats = tile_stats,
    .apply = tile_apply,
    .grad_sums = tile_grad_sums,
    .grad_apply = tile_grad_apply,
    .pool = tile_pool,
    .row_norm = tile_row_norm,
    .row_norm_grad = tile_row_norm_grad,
    .max_pool = tile_max_pool,
    .max_pool_grad = tile_max_pool_grad,
    .gate_grad = tile_gate_grad,
    .dw_forward = tile_dw_forward,
    .dw_grad_data = tile_dw_grad_data,
    .dw_grad_weights = tile_dw_grad_weights,
    .wino_input = tile_wino_input,
    .wino_output_grad = tile_wino_output_grad,
    .wino_output = tile_wino_output,
    .wino_filters = tile_wino_filters,
    .wino_filter_grad = tile_wino_filter_grad,
    .wino_gemm = tile_wino_gemm,
    .act_forward = tile_act_forward,
    .act_grad = tile_act_grad,
    .softmax = tile_softmax,
    .softmax_grad = tile_softmax_grad,
    .add = tile_add,
};
