/* Layer normalisation over the channels of each pixel: y = gamma (x - mean) rstd + beta, rstd = 1 / sqrt(var + eps).
 * mean and rstd are plain, one number a pixel: (n * h * w). */
#ifndef BL_BACKEND_CPU_KERNELS_LAYERNORM_H
#define BL_BACKEND_CPU_KERNELS_LAYERNORM_H

#include "backend/cpu/kernels/common.h"

void bl_k_layernorm_forward(const bl_k_shape *shape, const float *gamma, const float *beta, float eps, const float *x,
                            float *y, float *mean, float *rstd);
size_t bl_k_layernorm_grad_scratch_b(const bl_k_shape *shape);
/* dx may be dy. dgamma and dbeta are plain (c). */
void bl_k_layernorm_grad(const bl_k_shape *shape, const float *gamma, const float *mean, const float *rstd,
                         const float *x, const float *dy, float *dx, float *dgamma, float *dbeta, void *scratch);

#endif
