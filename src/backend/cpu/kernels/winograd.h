/* Convolutions with 3 x 3 filters and stride 1 by Winograd's minimal filtering F(4 x 4, 3 x 3): 36 multiplications for
 * 16 results instead of 144 (Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
 * section 4.3). With d a 6 x 6 part of the image, g the filter, and e the 4 x 4 part of the result's gradient:
 *
 *     y = A' [(G g G') o (B' d B)] A             forward; the data gradient is the same, the filter turned round
 *
 *     dg = G' [sum (B' d B) o (A e A')] G        the transposed map
 *
 * The products, summed over channels or over parts, are 36 matrix products. Rounding errors are some times those of the
 * direct sum. */
#ifndef BL_BACKEND_CPU_KERNELS_WINOGRAD_H
#define BL_BACKEND_CPU_KERNELS_WINOGRAD_H

#include "backend/cpu/kernels/common.h"

typedef struct bl_k_wino {
    int n, c, k; /* images, channels of x, channels of y */
    int block;
    int h, w; /* of x; y is h + 2 pad - 2 high and likewise wide */
    int pad;  /* 0, 1 or 2 */
    /* The scratch has room for so many threads, and no more work: the limit may have changed since it was measured. 0:
     * as many as OpenMP's limit is. */
    int threads;
} bl_k_wino;

typedef enum bl_k_wino_kind { BL_K_WINO_FORWARD, BL_K_WINO_GRAD_DATA, BL_K_WINO_GRAD_WEIGHTS } bl_k_wino_kind;

/* Where it pays: enough channels and parts for the transformations to be the lesser work. */
bool bl_k_wino_pays(const bl_k_wino *shape, bl_k_wino_kind kind);
size_t bl_k_wino_scratch_b(const bl_k_wino *shape, bl_k_wino_kind kind);

/* Filters are plain (k, c, 3, 3), images blocked. */
void bl_k_wino_forward(const bl_k_wino *shape, const float *x, const float *w, float *y, void *scratch);
void bl_k_wino_grad_data(const bl_k_wino *shape, const float *dy, const float *w, float *dx, void *scratch);
void bl_k_wino_grad_weights(const bl_k_wino *shape, const float *x, const float *dy, float *dw, void *scratch);

#endif
