/* Moving whole channels and pixels about: parts of tensors, shifts, images of twice the side. */
#ifndef BL_BACKEND_CPU_KERNELS_CHANNELS_H
#define BL_BACKEND_CPU_KERNELS_CHANNELS_H

#include "backend/cpu/kernels/common.h"

/* Channels [from_start, from_start + count) of `from` become channels [to_start, to_start + count) of `to`; both have
 * the same n, h, w and block. Quick where both starts are multiples of the block. The padding of `to` is left alone. */
void bl_k_copy_channels(const bl_k_shape *from_shape, const float *from, int from_start, const bl_k_shape *to_shape,
                        float *to, int to_start, int count);
/* Zeros in the padded channels of a whole tensor. */
void bl_k_clear_padding_of(const bl_k_shape *shape, float *x);

/* y = x + shift[c]. y may be x. */
void bl_k_shift_forward(const bl_k_shape *shape, const float *shift, const float *x, float *y);
size_t bl_k_channel_sum_scratch_b(const bl_k_shape *shape);
/* sum (c) = the sum over n, h, w of x. */
void bl_k_channel_sum(const bl_k_shape *shape, const float *x, float *sum, void *scratch);

/* y (n, c, 2h, 2w): every pixel of x (n, c, h, w) becomes four. */
void bl_k_upsample_forward(const bl_k_shape *x_shape, const float *x, float *y);
/* dx (n, c, h, w): the sum of the four. */
void bl_k_upsample_grad(const bl_k_shape *x_shape, const float *dy, float *dx);

/* Plain tensors: deep (n, 4c, h / 2, w / 2) from x (n, c, h, w), sides even, or back. Channel p c + k of the deep one
 * holds channel k's pixels of row parity p % 2 and column parity p / 2. */
void bl_k_space_to_depth(int n, int c, int h, int w, const float *x, float *deep);
void bl_k_depth_to_space(int n, int c, int h, int w, const float *deep, float *x);

#endif
