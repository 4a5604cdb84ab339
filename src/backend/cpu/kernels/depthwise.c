#include "backend/cpu/kernels/depthwise.h"

#include <omp.h>
#include <string.h>

#include "backend/cpu/kernels/block.h"

/* Working memory: packed filters, then a ring of rows for each thread, then one partial filter gradient for each tile.
 */
static size_t packed_floats(const bl_k_dw *dw)
{
    return (size_t)bl_k_blocks(dw->c, dw->block) * (size_t)(dw->k * dw->k * dw->block);
}

static size_t ring_floats(const bl_k_dw *dw)
{
    int widest = dw->iw > dw->ow ? dw->iw : dw->ow;
    return (size_t)dw->k * bl_k_dw_row_floats(widest, dw->k, dw->stride, dw->pad > dw->k ? dw->pad : dw->k, dw->block);
}

size_t bl_k_dw_scratch_b(const bl_k_dw *dw)
{
    size_t rings = (size_t)omp_get_max_threads() * ring_floats(dw);
    return (packed_floats(dw) * (size_t)(1 + dw->n) + rings) * sizeof(float);
}

static bl_k_dw_tile tile_of(const bl_k_dw *dw)
{
    return (bl_k_dw_tile){.block = dw->block,
                          .ih = dw->ih,
                          .iw = dw->iw,
                          .oh = dw->oh,
                          .ow = dw->ow,
                          .k = dw->k,
                          .stride = dw->stride,
                          .pad = dw->pad};
}

/* (c, 1, k, k) to [c / block][k * k][block]. */
static void pack(const bl_k_dw *dw, const float *w, float *packed)
{
    int taps = dw->k * dw->k;
    for (int cb = 0; cb < bl_k_blocks(dw->c, dw->block); cb++)
        for (int t = 0; t < taps; t++)
            for (int i = 0; i < dw->block; i++) {
                int c = cb * dw->block + i;
                packed[((size_t)cb * (size_t)taps + (size_t)t) * (size_t)dw->block + (size_t)i] =
                    c < dw->c ? w[(size_t)c * (size_t)taps + (size_t)t] : 0;
            }
}

static size_t x_tile(const bl_k_dw *dw, int n, int cb)
{
    return ((size_t)n * (size_t)bl_k_blocks(dw->c, dw->block) + (size_t)cb) * (size_t)(dw->ih * dw->iw * dw->block);
}

static size_t y_tile(const bl_k_dw *dw, int n, int cb)
{
    return ((size_t)n * (size_t)bl_k_blocks(dw->c, dw->block) + (size_t)cb) * (size_t)(dw->oh * dw->ow * dw->block);
}

static float *ring_of_thread(const bl_k_dw *dw, float *scratch)
{
    return scratch + packed_floats(dw) + (size_t)omp_get_thread_num() * ring_floats(dw);
}

void bl_k_dw_forward(const bl_k_dw *dw, const bl_k_norm *norm, const float *x, const float *w, const float *bias,
                     float *y, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(dw->block);
    int blocks = bl_k_blocks(dw->c, dw->block);
    float *packed = scratch;
    pack(dw, w, packed);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < dw->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_dw_tile tile = tile_of(dw);
            bl_k_affine affine;
            float bias_block[BL_K_BLOCK_MAX];
            if (norm) {
                bl_k_make_affine(norm, dw->c, dw->block, cb, &affine);
                tile.affine = &affine;
            }
            if (bias)
                bl_k_take_channels(bias, dw->c, dw->block, cb, bias_block);
            tiles->dw_forward(&tile, x + x_tile(dw, n, cb), packed + (size_t)cb * (size_t)(dw->k * dw->k * dw->block),
                              bias ? bias_block : NULL, y + y_tile(dw, n, cb), ring_of_thread(dw, scratch));
        }
}

void bl_k_dw_grad_data(const bl_k_dw *dw, const float *dy, const float *w, float *dx, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(dw->block);
    int blocks = bl_k_blocks(dw->c, dw->block);
    float *packed = scratch;
    pack(dw, w, packed);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < dw->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_dw_tile tile = tile_of(dw);
            tiles->dw_grad_data(&tile, dy + y_tile(dw, n, cb),
                                packed + (size_t)cb * (size_t)(dw->k * dw->k * dw->block), dx + x_tile(dw, n, cb),
                                ring_of_thread(dw, scratch));
        }
}

/* Adds up over the images, in order. */
static void merge_weights(const bl_k_dw *dw, const float *partial, float *d_w)
{
    int taps = dw->k * dw->k;
    for (int c = 0; c < dw->c; c++)
        for (int t = 0; t < taps; t++) {
            size_t at =
                ((size_t)(c / dw->block) * (size_t)taps + (size_t)t) * (size_t)dw->block + (size_t)(c % dw->block);
            double sum = 0;
            for (int n = 0; n < dw->n; n++)
                sum += (double)partial[(size_t)n * packed_floats(dw) + at];
            d_w[(size_t)c * (size_t)taps + (size_t)t] = (float)sum;
        }
}

static void grad_bias(const bl_k_dw *dw, const float *dy, float *d_bias)
{
    size_t pixels = (size_t)(dw->oh * dw->ow);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < dw->c; c++) {
        double sum = 0;
        for (int n = 0; n < dw->n; n++) {
            const float *tile = dy + y_tile(dw, n, c / dw->block) + c % dw->block;
            for (size_t p = 0; p < pixels; p++)
                sum += (double)tile[p * (size_t)dw->block];
        }
        d_bias[c] = (float)sum;
    }
}

void bl_k_dw_grad_weights(const bl_k_dw *dw, const bl_k_norm *norm, const float *x, const float *dy, float *d_w,
                          float *d_bias, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(dw->block);
    int blocks = bl_k_blocks(dw->c, dw->block);
    float *partial = (float *)scratch + packed_floats(dw) + (size_t)omp_get_max_threads() * ring_floats(dw);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < dw->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_dw_tile tile = tile_of(dw);
            bl_k_affine affine;
            if (norm) {
                bl_k_make_affine(norm, dw->c, dw->block, cb, &affine);
                tile.affine = &affine;
            }
            size_t at = (size_t)n * packed_floats(dw) + (size_t)cb * (size_t)(dw->k * dw->k * dw->block);
            tiles->dw_grad_weights(&tile, x + x_tile(dw, n, cb), dy + y_tile(dw, n, cb), partial + at,
                                   ring_of_thread(dw, scratch));
        }
    merge_weights(dw, partial, d_w);
    if (d_bias)
        grad_bias(dw, dy, d_bias);
}
