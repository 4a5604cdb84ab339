/* Global average pooling and gating: the ends of a squeeze-and-excitation block (Hu et al. 2018, eq. 2 and 4).
 * `norm` is NULL, or is applied to x as it is read. Pooled values and gates are blocked, (n, c, 1, 1). */
#ifndef BL_BACKEND_CPU_KERNELS_EXCITE_H
#define BL_BACKEND_CPU_KERNELS_EXCITE_H

#include "backend/cpu/kernels/common.h"

/* Working memory for any of the functions below. */
size_t bl_k_excite_scratch_b(const bl_k_shape *shape);

/* mean[n][c] = mean over h, w of x. */
void bl_k_pool_forward(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, float *mean, void *scratch);
/* dx = dmean / (h * w) everywhere. */
void bl_k_pool_grad(const bl_k_shape *shape, const float *dmean, float *dx);
/* y = x * gate. y may be x. */
void bl_k_gate_forward(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate, float *y,
                       void *scratch);
/* dx = dy * gate (NULL: not wanted; may be dy) and dgate = sum over h, w of dy * x. With a norm, dx is the gradient of
 * its result. */
void bl_k_gate_grad(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate, const float *dy,
                    float *dx, float *dgate, void *scratch);

#endif
