#include "backend/cpu/kernels/layernorm.h"

#include <string.h>

#include "backend/cpu/kernels/block.h"

/* Rows of one task of the gradient, whose sums are kept apart and merged in order; and how many rows of a matrix go
 * together: they lie far apart, and many of them would fall on the same lines of the cache. */
enum { ROWS_A_TASK = 128, MATRIX_ROWS = 4 };

bl_k_rows bl_k_rows_of_image(const bl_k_shape *s)
{
    size_t pixels = (size_t)s->h * (size_t)s->w;
    return (bl_k_rows){.images = s->n,
                       .pixels = s->h * s->w,
                       .c = s->c,
                       .block = s->block,
                       .image = (size_t)bl_k_padded_c(s) * pixels,
                       .next = (size_t)s->block,
                       .apart = pixels * (size_t)s->block};
}

bl_k_rows bl_k_rows_of_matrix(int rows, int c)
{
    return (bl_k_rows){
        .images = 1, .pixels = rows, .c = c, .block = BL_K_MATRIX_C, .next = (size_t)c, .apart = BL_K_MATRIX_C};
}

static int together(const bl_k_rows *r)
{
    return r->next == (size_t)r->block ? BL_K_ROWS : MATRIX_ROWS;
}

static size_t padded_of(const bl_k_rows *r)
{
    return (size_t)bl_k_blocks(r->c, r->block) * (size_t)r->block;
}

static int tasks_an_image(const bl_k_rows *r)
{
    return (r->pixels + ROWS_A_TASK - 1) / ROWS_A_TASK;
}

static bl_k_row_tile tile_of(const bl_k_rows *r, const float *gamma, const float *beta, float eps)
{
    return (bl_k_row_tile){
        .c = r->c, .block = r->block, .apart = r->apart, .next = r->next, .gamma = gamma, .beta = beta, .eps = eps};
}

void bl_k_layernorm_forward(const bl_k_rows *rows, const float *gamma, const float *beta, float eps, const float *x,
                            float *y, float *mean, float *rstd)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(rows->block);
    bl_k_row_tile tile = tile_of(rows, gamma, beta, eps);
    int most = together(rows), chunks = (rows->pixels + most - 1) / most;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < rows->images; n++)
        for (int k = 0; k < chunks; k++) {
            int first = k * most, count = rows->pixels - first < most ? rows->pixels - first : most;
            size_t at = (size_t)n * rows->image + (size_t)first * rows->next;
            size_t row = (size_t)n * (size_t)rows->pixels + (size_t)first;
            tiles->row_norm(&tile, count, x + at, y + at, mean + row, rstd + row);
        }
}

size_t bl_k_layernorm_grad_scratch_b(const bl_k_rows *rows)
{
    return (size_t)rows->images * (size_t)tasks_an_image(rows) * 2 * padded_of(rows) * sizeof(float);
}

void bl_k_layernorm_grad(const bl_k_rows *rows, const float *gamma, const float *mean, const float *rstd,
                         const float *x, const float *dy, float *dx, float *dgamma, float *dbeta, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(rows->block);
    bl_k_row_tile tile = tile_of(rows, gamma, NULL, 0);
    int pixels = rows->pixels, tasks = tasks_an_image(rows), most = together(rows);
    size_t padded = padded_of(rows);
    float *sums = scratch;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < rows->images; n++)
        for (int k = 0; k < tasks; k++) {
            float *mine = sums + ((size_t)n * (size_t)tasks + (size_t)k) * 2 * padded;
            int last = (k + 1) * ROWS_A_TASK < pixels ? (k + 1) * ROWS_A_TASK : pixels;
            memset(mine, 0, 2 * padded * sizeof *mine);
            for (int first = k * ROWS_A_TASK; first < last; first += most) {
                int count = last - first < most ? last - first : most;
                size_t at = (size_t)n * rows->image + (size_t)first * rows->next;
                size_t row = (size_t)n * (size_t)pixels + (size_t)first;
                tiles->row_norm_grad(&tile, count, x + at, dy + at, mean + row, rstd + row, dx + at, mine,
                                     mine + padded);
            }
        }
#pragma omp parallel for schedule(static)
    for (int c = 0; c < rows->c; c++) {
        double g = 0, b = 0;
        for (size_t k = 0; k < (size_t)rows->images * (size_t)tasks; k++) {
            g += (double)sums[k * 2 * padded + (size_t)c];
            b += (double)sums[(k * 2 + 1) * padded + (size_t)c];
        }
        dgamma[c] = (float)g;
        dbeta[c] = (float)b;
    }
}
