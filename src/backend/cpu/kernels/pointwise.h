/* Elementwise kernels, layout changes and the loss. */
#ifndef BL_BACKEND_CPU_KERNELS_POINTWISE_H
#define BL_BACKEND_CPU_KERNELS_POINTWISE_H

#include "backend/cpu/kernels/common.h"

/* y = act(x), channel padding kept zero (a hardsigmoid of zero is not). y may be x. For tensors without padding give
 * the shape {1, count, 1, 1, 1}. */
void bl_k_act_forward(const bl_k_shape *shape, bl_act act, const float *x, float *y);
/* dx = dy * act'(x). dx may be dy. At kinks: the derivative that PyTorch takes. */
void bl_k_act_grad(size_t count, bl_act act, const float *x, const float *dy, float *dx);
/* y = a + b; y may be either. */
void bl_k_add(size_t count, const float *a, const float *b, float *y);

/* Inverted dropout: y = 0 with probability p, else x / (1 - p). Element i's fate is a function of (seed, step, stream,
 * i) by Philox4x32-10 (Salmon et al. 2011), so the backward pass is the same call on dy. i counts the elements of the
 * plain (N, C, H, W) tensor in row-major order, which for a shape with c = count, block 1 is storage order: the same
 * numbers fall out in every layout. y may be x. */
typedef struct bl_k_dropout {
    float p; /* in [0, 1) */
    uint32_t stream;
    uint64_t seed, step;
    uint64_t first; /* where the elements (of drop_path: the samples) begin in a larger batch */
} bl_k_dropout;

void bl_k_dropout_apply(const bl_k_shape *shape, const bl_k_dropout *dropout, const float *x, float *y);
/* Whether element i is kept: the definition, for references. */
bool bl_k_dropout_keeps(const bl_k_dropout *dropout, uint64_t element);

/* What a softmax is compared with: (1 - smoothing) at the label plus smoothing / k everywhere. With `others`, the share
 * `share` of the first part lies at the label, the rest at the other label. */
typedef struct bl_k_targets {
    const int32_t *labels; /* in [0, k); a negative one leaves its row out */
    const int32_t *others; /* in [0, k), or NULL */
    float share, smoothing;
} bl_k_targets;

/* Plain [n][k] logits. prob (n x k) gets the softmax (left-out rows too). *loss = mean over the rows counted (0 where
 * there is none); *hits, unless NULL, how many rows have their label at the largest logit (the first one among equals).
 * Rows are summed in order. */
void bl_k_softmax_loss(int n, int k, const float *logits, const bl_k_targets *targets, float *prob, double *loss,
                       int64_t *hits);
/* dlogits = (prob - target) * dloss / rows counted; zero rows where left out. dlogits may be prob. */
void bl_k_softmax_loss_grad(int n, int k, const float *prob, const bl_k_targets *targets, float dloss, float *dlogits);

/* Plain (N, C, H, W) to blocked (padding written as zero) and back. */
void bl_k_to_blocked(const bl_k_shape *shape, const float *plain, float *blocked);
void bl_k_to_plain(const bl_k_shape *shape, const float *blocked, float *plain);

#endif
