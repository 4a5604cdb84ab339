/* Plain matrices, row-major: what stands around their products. */
#ifndef BL_BACKEND_CPU_KERNELS_MATRIX_H
#define BL_BACKEND_CPU_KERNELS_MATRIX_H

#include "backend/cpu/kernels/common.h"

/* Each row of y (rows x n) = bias (n) + that row of residual (rows x n); either may be NULL, not both. y may be
 * residual. A product is then added to it. */
void bl_k_fill_rows(int rows, int n, const float *bias, const float *residual, float *y);
/* sums (n) = the sum of the rows of x (rows x n). */
void bl_k_column_sums(int rows, int n, const float *x, float *sums);

/* The two below take no threads: they are called from within a parallel region. Rows are `apart` floats apart. */
/* Each row = softmax(row). */
void bl_k_softmax_rows(int rows, int n, size_t apart, float *x);
/* dp = p * (dp - sum(p * dp)) row by row: from the gradient of a softmax's result p to that of what it was taken of. */
void bl_k_softmax_rows_grad(int rows, int n, size_t apart, const float *p, float *dp);

#endif
