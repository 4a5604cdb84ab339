#include "backend/cpu/kernels/matrix.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"

enum { COLUMNS = 128, ROWS = 64 }; /* of a task of the sums; rows that are summed in single precision */

static const bl_k_tiles *flat_tiles(void)
{
    return bl_k_tiles_for(BL_K_BLOCK_MAX);
}

void bl_k_fill_rows(int rows, int n, const float *bias, const float *residual, float *y)
{
    const bl_k_tiles *tiles = flat_tiles();
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++) {
        size_t at = (size_t)r * (size_t)n;
        if (bias && residual)
            tiles->add((size_t)n, bias, residual + at, y + at);
        else if (residual != y)
            memcpy(y + at, bias ? bias : residual + at, (size_t)n * sizeof *y);
    }
}

void bl_k_column_sums(int rows, int n, const float *x, float *sums)
{
    const bl_k_tiles *tiles = flat_tiles();
#pragma omp parallel for schedule(static)
    for (int first = 0; first < n; first += COLUMNS) {
        int width = n - first < COLUMNS ? n - first : COLUMNS;
        double total[COLUMNS] = {0};
        for (int from = 0; from < rows; from += ROWS) {
            float part[COLUMNS] = {0};
            for (int r = from; r < rows && r < from + ROWS; r++)
                tiles->add((size_t)width, part, x + (size_t)r * (size_t)n + (size_t)first, part);
            for (int i = 0; i < width; i++)
                total[i] += (double)part[i];
        }
        for (int i = 0; i < width; i++)
            sums[first + i] = (float)total[i];
    }
}

void bl_k_softmax_rows(int rows, int n, size_t apart, float *x)
{
    const bl_k_tiles *tiles = flat_tiles();
    for (int r = 0; r < rows; r++)
        tiles->softmax((size_t)n, x + (size_t)r * apart);
}

void bl_k_softmax_rows_grad(int rows, int n, size_t apart, const float *p, float *dp)
{
    const bl_k_tiles *tiles = flat_tiles();
    for (int r = 0; r < rows; r++)
        tiles->softmax_grad((size_t)n, p + (size_t)r * apart, dp + (size_t)r * apart);
}
