/* All that the project asks of oneDNN: convolutions and matrix products. Behind it lie the only files that know its
 * API, which differs between 2.x and 3.x. */
#ifndef BL_BACKEND_CPU_DNNL_ADAPTER_H
#define BL_BACKEND_CPU_DNNL_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "graph/precision.h"

typedef struct bl_dnnl bl_dnnl; /* engine and stream */

int bl_dnnl_open(bl_dnnl **out, bl_error *err);
void bl_dnnl_close(bl_dnnl *dnnl);
/* "2.6.3"; static storage. */
const char *bl_dnnl_version(void);
/* The channel block (8 or 16) of the layout that oneDNN picks for a convolution when left free on this machine. */
int bl_dnnl_preferred_block(bl_dnnl *dnnl);
/* BL_ERR_USAGE, with a remedy, where oneDNN offers no convolutions in bfloat16 on this processor. */
int bl_dnnl_require_bfloat16(bl_dnnl *dnnl, bl_error *err);

typedef struct bl_dnnl_conv_desc {
    int n, c, h, w, o, oh, ow;
    int kernel[2], stride[2], pad[2], dilation[2], groups;
    bool bias;
    bool plain_x; /* x is plain NCHW, not blocked */
    bool rows;    /* x and y are plain NHWC: with h = 1 and a kernel of 1 x 1, matrices of w rows */
    bool add;     /* forward: to what y holds */
    int block;    /* of x and y */
    bl_precision precision;
} bl_dnnl_conv_desc;

typedef enum bl_dnnl_conv_kind { BL_DNNL_FORWARD, BL_DNNL_GRAD_DATA, BL_DNNL_GRAD_WEIGHTS } bl_dnnl_conv_kind;

/* A convolution made ready. All tensors are float32 whatever the precision: factors are rounded in the scratch. Weights
 * come and go plain (O, C / groups, kh, kw); inside they take the form that oneDNN chose. keep_weights: the reordered
 * weights are held between runs and renewed when told to (evaluation); else they live in the scratch of one run
 * (training, where they change each time). */
typedef struct bl_dnnl_conv bl_dnnl_conv;

int bl_dnnl_conv_new(bl_dnnl *dnnl, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind, bool keep_weights,
                     bl_dnnl_conv **out, bl_error *err);
void bl_dnnl_conv_free(bl_dnnl_conv *conv);
size_t bl_dnnl_conv_scratch_b(const bl_dnnl_conv *conv);
size_t bl_dnnl_conv_kept_b(const bl_dnnl_conv *conv);
const char *bl_dnnl_conv_implementation(const bl_dnnl_conv *conv); /* "jit:avx2" */

/* y = conv(x, w) + bias. weights_changed matters with keep_weights only. */
int bl_dnnl_conv_forward(bl_dnnl_conv *conv, const float *x, const float *w, const float *bias, float *y, void *scratch,
                         bool weights_changed, bl_error *err);
int bl_dnnl_conv_grad_data(bl_dnnl_conv *conv, const float *dy, const float *w, float *dx, void *scratch,
                           bl_error *err);
int bl_dnnl_conv_grad_weights(bl_dnnl_conv *conv, const float *x, const float *dy, float *dw, float *dbias,
                              void *scratch, bl_error *err);

/* C (m x n) = scale op(A) op(B), or that added to C; row-major, rows *_apart floats apart. op turns a matrix: A is then
 * given as (k x m), B as (n x k). Within a parallel region it takes the calling thread alone. */
typedef struct bl_dnnl_product {
    bool turn_a, turn_b;
    int m, n, k;
    const float *a, *b;
    float *c;
    int a_apart, b_apart, c_apart;
    float scale;
    bool add;
} bl_dnnl_product;

int bl_dnnl_multiply(const bl_dnnl_product *product, bl_error *err);
/* C (m x n) = op(A) op(B) without gaps; `turn_a`: A is given as (k x m), `turn_b`: B as (n x k). */
int bl_dnnl_gemm(bool turn_a, bool turn_b, int m, int n, int k, const float *a, const float *b, float *c,
                 bl_error *err);

#endif
