/* Helpers of the drivers: tiles, padded vectors, normalisations as one multiplication and one addition. Of use inside
 * this folder. */
#ifndef BL_BACKEND_CPU_KERNELS_BLOCK_H
#define BL_BACKEND_CPU_KERNELS_BLOCK_H

#include "backend/cpu/kernels/tiles.h"

static inline int bl_k_blocks(int c, int block)
{
    return (c + block - 1) / block;
}

/* Channels of block cb that are there; the rest is padding. */
static inline int bl_k_channels_in(int c, int block, int cb)
{
    int left = c - cb * block;
    return left < block ? left : block;
}

static inline size_t bl_k_pixels(const bl_k_shape *s)
{
    return (size_t)s->h * (size_t)s->w;
}

/* Where the tile of image n and block cb starts. */
static inline size_t bl_k_tile_at(const bl_k_shape *s, int n, int cb)
{
    return ((size_t)n * (size_t)bl_k_blocks(s->c, s->block) + (size_t)cb) * bl_k_pixels(s) * (size_t)s->block;
}

/* Copies the block's part of a vector with one number a channel; padding gets 0, and so does all where v is NULL. */
void bl_k_take_channels(const float *v, int c, int block, int cb, float *out);
/* The normalisation of block cb. Padded channels become 0 times x plus 0, and the activation of 0 must then be 0:
 * hardsigmoid and sigmoid are no such, so padding is cleared by the drivers (bl_k_clear_padding). */
void bl_k_make_affine(const bl_k_norm *norm, int c, int block, int cb, bl_k_affine *out);
bool bl_k_act_keeps_zero(bl_act act);
/* Zeros in the padded channels of a tile of the last block. */
void bl_k_clear_padding(float *tile, size_t pixels, int block, int channels);

#endif
