/* The end of a residual branch: a scale for each channel, and dropping it for some samples. */
#ifndef BL_BACKEND_CPU_KERNELS_BRANCH_H
#define BL_BACKEND_CPU_KERNELS_BRANCH_H

#include "backend/cpu/kernels/common.h"
#include "backend/cpu/kernels/pointwise.h"

/* y = gamma[c] x. y may be x. */
void bl_k_scale_forward(const bl_k_shape *shape, const float *gamma, const float *x, float *y);
size_t bl_k_scale_grad_scratch_b(const bl_k_shape *shape);
/* dx = gamma[c] dy (may be dy), dgamma (c) = the sum over n, h, w of dy x. */
void bl_k_scale_grad(const bl_k_shape *shape, const float *gamma, const float *x, const float *dy, float *dx,
                     float *dgamma, void *scratch);
/* Sample n of y is x / (1 - p), or zeros: graph/dropout.h decides, by n alone. y may be x. */
void bl_k_drop_path(const bl_k_shape *shape, const bl_k_dropout *dropout, const float *x, float *y);

#endif
