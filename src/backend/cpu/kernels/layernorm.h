/* Layer normalisation over the channels of each row: y = gamma (x - mean) rstd + beta, rstd = 1 / sqrt(var + eps).
 * mean and rstd are plain, one number a row. */
#ifndef BL_BACKEND_CPU_KERNELS_LAYERNORM_H
#define BL_BACKEND_CPU_KERNELS_LAYERNORM_H

#include "backend/cpu/kernels/common.h"

/* Where the rows lie: those of image i begin at i * image, `next` floats apart; a row is blocks of `block` channels,
 * `apart` floats apart. */
typedef struct bl_k_rows {
    int images, pixels, c, block;
    size_t image, next, apart;
} bl_k_rows;

bl_k_rows bl_k_rows_of_image(const bl_k_shape *shape); /* the channels of each pixel: n * h * w rows */
/* A plain matrix. */
#define BL_K_MATRIX_C 16 /* c must be a multiple of this */
bl_k_rows bl_k_rows_of_matrix(int rows, int c);

void bl_k_layernorm_forward(const bl_k_rows *rows, const float *gamma, const float *beta, float eps, const float *x,
                            float *y, float *mean, float *rstd);
size_t bl_k_layernorm_grad_scratch_b(const bl_k_rows *rows);
/* dx may be dy. dgamma and dbeta are plain (c). */
void bl_k_layernorm_grad(const bl_k_rows *rows, const float *gamma, const float *mean, const float *rstd,
                         const float *x, const float *dy, float *dx, float *dgamma, float *dbeta, void *scratch);

#endif
