/* Depthwise convolution: each channel has its own k x k filter.
 * y[n][c][oh][ow] = bias[c] + sum over i, j of w[c][0][i][j] * x[n][c][oh * stride + i - pad][ow * stride + j - pad],
 * x being zero outside its extent. */
#ifndef BL_BACKEND_CPU_KERNELS_DEPTHWISE_H
#define BL_BACKEND_CPU_KERNELS_DEPTHWISE_H

#include "backend/cpu/kernels/common.h"

#define BL_K_DW_MAX 15 /* largest k */

typedef struct bl_k_dw {
    int n, c, block;
    int ih, iw, oh, ow; /* x is (n, c, ih, iw), y is (n, c, oh, ow) */
    int k;              /* side of the filter, at most BL_K_DW_MAX: 3, 5 and 7 are fast */
    int stride;         /* both directions: 1 and 2 are fast, any other works */
    int pad;            /* above and to the left; below and to the right it follows from oh and ow */
} bl_k_dw;

/* Working memory for any of the functions below, at the present number of threads. */
size_t bl_k_dw_scratch_b(const bl_k_dw *dw);

/* norm: NULL, or what is applied to x as it is read. w is (c, 1, k, k); bias (c) may be NULL. */
void bl_k_dw_forward(const bl_k_dw *dw, const bl_k_norm *norm, const float *x, const float *w, const float *bias,
                     float *y, void *scratch);
/* dx (n, c, ih, iw) from dy (n, c, oh, ow). With a norm it is the gradient of its result, not of x. */
void bl_k_dw_grad_data(const bl_k_dw *dw, const float *dy, const float *w, float *dx, void *scratch);
/* d_w (c, 1, k, k), and d_bias (c) unless NULL; both are overwritten. */
void bl_k_dw_grad_weights(const bl_k_dw *dw, const bl_k_norm *norm, const float *x, const float *dy, float *d_w,
                          float *d_bias, void *scratch);

#endif
