/* Max pooling: y[n][c][oh][ow] is the largest of the k x k window of x that starts at (oh * stride - pad,
 * ow * stride - pad); what lies outside x never wins. */
#ifndef BL_BACKEND_CPU_KERNELS_MAXPOOL_H
#define BL_BACKEND_CPU_KERNELS_MAXPOOL_H

#include "backend/cpu/kernels/common.h"

typedef struct bl_k_maxpool {
    bl_k_shape x; /* blocked */
    int oh, ow;   /* of y (n, c, oh, ow) */
    int k, stride, pad;
} bl_k_maxpool;

/* norm: NULL, or what is applied to x as it is read. */
void bl_k_maxpool_forward(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, float *y);
/* dy goes to the first of the largest elements of each window. With a norm, dx is the gradient of its result. */
void bl_k_maxpool_grad(const bl_k_maxpool *pool, const bl_k_norm *norm, const float *x, const float *dy, float *dx);

#endif
