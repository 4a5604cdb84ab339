#include "backend/cpu/kernels/tokens.h"

#include <string.h>

#include "backend/cpu/kernels/tiles.h"

/* Moves every row of k pixels between an image and its patches. */
static void move(int n, int c, int h, int w, int k, float *x, float *patches, bool to_patches)
{
    size_t rows = (size_t)h / (size_t)k, columns = (size_t)w / (size_t)k, side = (size_t)k;
    size_t inner = (size_t)c * side * side;
#pragma omp parallel for collapse(2) schedule(static)
    for (int image = 0; image < n; image++)
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < (size_t)c * side; i++) { /* channel and row of the patch */
                size_t channel = i / side, line = r * side + i % side;
                float *pixels = x + (((size_t)image * (size_t)c + channel) * (size_t)h + line) * (size_t)w;
                float *patch = patches + ((size_t)image * rows + r) * columns * inner + i * side;
                for (size_t p = 0; p < columns; p++, patch += inner, pixels += side)
                    memcpy(to_patches ? patch : pixels, to_patches ? pixels : patch, side * sizeof *x);
            }
}

void bl_k_patches_forward(int n, int c, int h, int w, int k, const float *x, float *patches)
{
    move(n, c, h, w, k, (float *)x, patches, true); /* only read */
}

void bl_k_patches_grad(int n, int c, int h, int w, int k, const float *dpatches, float *dx)
{
    move(n, c, h, w, k, dx, (float *)dpatches, false);
}

void bl_k_tokens_forward(int n, int t, int c, const float *patches, const float *class_token, const float *position,
                         float *tokens)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(BL_K_BLOCK_MAX);
    size_t row = (size_t)c, rest = (size_t)(t - 1) * row;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        float *to = tokens + (size_t)i * (row + rest);
        tiles->add(row, class_token, position, to);
        tiles->add(rest, patches + (size_t)i * rest, position + row, to + row);
    }
}

void bl_k_tokens_grad(int n, int t, int c, const float *dtokens, float *dpatches, float *dclass, float *dposition)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(BL_K_BLOCK_MAX);
    size_t row = (size_t)c, all = (size_t)t * row, rest = all - row;
#pragma omp parallel for schedule(static)
    for (int token = 0; token < t; token++) {
        float *sum = dposition + (size_t)token * row;
        memcpy(sum, dtokens + (size_t)token * row, row * sizeof *sum);
        for (int i = 1; i < n; i++)
            tiles->add(row, sum, dtokens + (size_t)i * all + (size_t)token * row, sum);
    }
    for (int i = 0; dpatches && i < n; i++)
        memcpy(dpatches + (size_t)i * rest, dtokens + (size_t)i * all + row, rest * sizeof *dpatches);
    memcpy(dclass, dposition, row * sizeof *dclass); /* the first token is the class token plus its position */
}
