/* The inner loops, once for each instruction set. A tile is one image's plane of one channel block:
 * [pixels][block] floats. Vectors with one number a channel are `block` long, padded with zeros. Of use inside this
 * folder. */
#ifndef BL_BACKEND_CPU_KERNELS_TILES_H
#define BL_BACKEND_CPU_KERNELS_TILES_H

#include "backend/cpu/kernels/common.h"

/* y = act(scale * x + shift): a normalisation as one multiplication and one addition. */
typedef struct bl_k_affine {
    float scale[BL_K_BLOCK_MAX], shift[BL_K_BLOCK_MAX];
    bl_act act;
} bl_k_affine;

/* What the gradient of a normalisation needs of one channel block. */
typedef struct bl_k_bn_block {
    bl_k_affine affine;
    float mean[BL_K_BLOCK_MAX], inv_std[BL_K_BLOCK_MAX];
    /* dx = a * g + b * (x - mean) + c */
    float a[BL_K_BLOCK_MAX], b[BL_K_BLOCK_MAX], c[BL_K_BLOCK_MAX];
} bl_k_bn_block;

/* g = dy * gate + add, before the activation's slope; gate and add NULL: 1, 0; dy NULL: 0. */
typedef struct bl_k_incoming {
    const float *dy;
    const float *gate, *add;
    float add_scale;
} bl_k_incoming;

typedef struct bl_k_dw_tile {
    int block, ih, iw, oh, ow, k, stride, pad;
    const bl_k_affine *affine; /* applied to x as it is read, or NULL */
} bl_k_dw_tile;

/* Windows of a max pooling. */
typedef struct bl_k_window_tile {
    int block, ih, iw, oh, ow, k, stride, pad;
    const bl_k_affine *affine; /* applied to x as it is read, or NULL */
} bl_k_window_tile;

/* Rows of a layer normalisation: channels, `block` beside one another, the blocks `apart` floats apart, the rows
 * `next`. */
#define BL_K_ROWS 16 /* rows at a time, at most */
typedef struct bl_k_row_tile {
    int c, block;
    size_t apart, next;
    const float *gamma, *beta; /* plain (c) */
    float eps;
} bl_k_row_tile;

/* The Winograd convolutions (winograd.h). Channels c are whole blocks here. */
typedef struct bl_k_wino_image {
    int block, c, h, w;
} bl_k_wino_image;

/* Plain filters of 3 x 3: of input i and output o at i * in_apart + o * out_apart, turned round by half a circle or
 * not. */
typedef struct bl_k_wino_filters {
    int n_in, n_in_padded, n_out;
    size_t in_apart, out_apart;
    bool turn;
} bl_k_wino_filters;

/* C (rows, panel) = or += A (rows, depth) B (depth, panel); rows are even, those of B and C a panel of 2 v floats
 * apart. */
typedef struct bl_k_wino_gemm {
    int rows, depth;
    size_t a_row, a_step; /* floats between A's rows and columns */
    bool whole_panel;     /* else only its first v channels */
    bool add;
} bl_k_wino_gemm;

/* Floats of a row with its padding. */
static inline size_t bl_k_dw_row_floats(int iw, int k, int stride, int pad, int block)
{
    return (size_t)(iw + 2 * pad + 2 * k + stride) * (size_t)block;
}

typedef struct bl_k_tiles {
    int v; /* block must be a multiple of this */
    /* Mean and sum of squared deviations. */
    void (*stats)(const float *x, size_t pixels, int block, float *mean, float *m2);
    void (*apply)(const float *x, size_t pixels, int block, const bl_k_affine *affine, const float *gate,
                  const float *residual, float *y);
    /* Sums over the pixels of g' = g act'(.) and of g' xhat. */
    void (*grad_sums)(const float *x, const bl_k_incoming *in, size_t pixels, int block, const bl_k_bn_block *bn,
                      float *sum_g, float *sum_gx);
    void (*grad_apply)(const float *x, const bl_k_incoming *in, size_t pixels, int block, const bl_k_bn_block *bn,
                       float *dx);
    void (*pool)(const float *x, size_t pixels, int block, const bl_k_affine *affine, float *sum);
    /* count rows; mean and rstd get one number each. */
    void (*row_norm)(const bl_k_row_tile *tile, int count, const float *x, float *y, float *mean, float *rstd);
    /* dgamma and dbeta (padded) are added to. dx may be dy. */
    void (*row_norm_grad)(const bl_k_row_tile *tile, int count, const float *x, const float *dy, const float *mean,
                          const float *rstd, float *dx, float *dgamma, float *dbeta);
    void (*max_pool)(const bl_k_window_tile *tile, const float *x, float *y);
    void (*max_pool_grad)(const bl_k_window_tile *tile, const float *x, const float *dy, float *dx);
    /* dx may be NULL; dgate gets the sum of dy * act(x). */
    void (*gate_grad)(const float *x, const float *dy, size_t pixels, int block, const bl_k_affine *affine,
                      const float *gate, float *dx, float *dgate);
    /* rows: k * bl_k_dw_row_floats() of working memory, for x as wide as the wider of x and y. Filters are packed
     * [k * k][block]. */
    void (*dw_forward)(const bl_k_dw_tile *tile, const float *x, const float *w, const float *bias, float *y,
                       float *rows);
    void (*dw_grad_data)(const bl_k_dw_tile *tile, const float *dy, const float *w, float *dx, float *rows);
    void (*dw_grad_weights)(const bl_k_dw_tile *tile, const float *x, const float *dy, float *d_w, float *rows);
    /* B' d B of the 6 x 6 part at (y0, x0), all channels: number e of channel c to v[e * apart + c]. */
    void (*wino_input)(const bl_k_wino_image *image, const float *x, int y0, int x0, float *v, size_t apart);
    /* A e A' of the 4 x 4 part at (y0, x0); panels lie panel_apart floats apart. */
    void (*wino_output_grad)(const bl_k_wino_image *image, const float *dy, int y0, int x0, float *out, size_t apart,
                             size_t panel_apart);
    /* A' m A to the 4 x 4 part at (y0, x0), as far as it lies in the image. */
    void (*wino_output)(const bl_k_wino_image *image, const float *m, size_t apart, size_t panel_apart, int y0, int x0,
                        float *y);
    /* G g G' of one panel of outputs, [n_in_padded][panel], and G' du G back. */
    void (*wino_filters)(const bl_k_wino_filters *filters, const float *w, int panel, float *u, size_t apart);
    void (*wino_filter_grad)(const bl_k_wino_filters *filters, const float *du, size_t apart, int panel, float *dw);
    void (*wino_gemm)(const bl_k_wino_gemm *gemm, const float *a, const float *b, float *c);
    void (*act_forward)(size_t count, bl_act act, const float *x, float *y);
    void (*act_grad)(size_t count, bl_act act, const float *x, const float *dy, float *dx);
    /* In place: of a row; and from a softmax's result and its gradient to that of what it was taken of. */
    void (*softmax)(size_t n, float *x);
    void (*softmax_grad)(size_t n, const float *p, float *dp);
    void (*add)(size_t count, const float *a, const float *b, float *y);
} bl_k_tiles;

extern const bl_k_tiles bl_k_tiles_portable;
extern const bl_k_tiles bl_k_tiles_avx2;
extern const bl_k_tiles bl_k_tiles_avx512;

/* The fastest chosen ones that can do this block. */
const bl_k_tiles *bl_k_tiles_for(int block);

#endif
