/* Batch normalisation (Ioffe and Szegedy 2015) with what follows it: y = act(gamma * xhat + beta), where
 * xhat = (x - mean) / sqrt(var + eps); then an optional gate and an optional residual. */
#ifndef BL_BACKEND_CPU_KERNELS_BATCHNORM_H
#define BL_BACKEND_CPU_KERNELS_BATCHNORM_H

#include "backend/cpu/kernels/common.h"

/* Working memory for any of the functions below. */
size_t bl_k_bn_scratch_b(const bl_k_shape *shape);

/* Mean and biased variance of each channel over n, h and w. Chunks that fit the first-level cache are summed in two
 * passes and merged by Chan's formula (Chan, Golub, LeVeque 1983), so that a large mean costs few digits. */
void bl_k_bn_stats(const bl_k_shape *shape, const float *x, float *mean, float *var, void *scratch);
/* The same of a batch of which this is a part, others having the rest: `sums` (2 c) of the part are to be added up over
 * the parts, and give mean and variance of the whole, which has `count` elements a channel. */
void bl_k_bn_part_sums(const bl_k_shape *shape, const float *mean, const float *var, double *sums);
void bl_k_bn_whole_stats(int c, const double *sums, double count, float *mean, float *var);
/* running = (1 - momentum) * running + momentum * batch, the variance being taken as unbiased (n / (n - 1); a single
 * element a channel is taken as it is): PyTorch's rule. n: elements a channel. */
void bl_k_bn_track(int c, double n, float momentum, const float *mean, const float *var, float *running_mean,
                   float *running_var);
/* y = act(normalised x) * gate + residual; gate (n, c, 1, 1) and residual (as x) may be NULL. y may be x. */
void bl_k_bn_apply(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate,
                   const float *residual, float *y, void *scratch);
/* bl_k_bn_stats and bl_k_bn_apply in one, which reads x from memory once where a channel block fits the cache:
 * norm->mean and norm->var are not read; they are `mean` and `var`, written first. y may be x. */
void bl_k_bn_train(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *residual, float *mean,
                   float *var, float *y, void *scratch);

/* The gradient that arrives at the activation's result: dy * gate + add * add_scale, of which dy and `gate` and `add`
 * (n, c, 1, 1, both may be NULL) are given apart. With these the backward pass of a gate and of a global average pool
 * (add_scale = 1 / (h * w)) needs no tensor of its own. */
typedef struct bl_k_bn_dy {
    const float *dy;
    const float *gate;
    const float *add;
    float add_scale;
} bl_k_bn_dy;

/* Training mode's gradients: dx, dgamma (c), dbeta (c), all overwritten; dgamma and dbeta may be NULL. The activation's
 * derivative is taken from x again, so only x, mean and var need to be kept. dx may be dy or x. */
void bl_k_bn_grad(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy, float *dx,
                  float *dgamma, float *dbeta, void *scratch);

/* The two halves of bl_k_bn_grad, for a batch of which this is a part: `sums` (2 c: of dbeta, then of dgamma) of the
 * part, whose own dgamma and dbeta are written too; and dx from those of the whole, of `count` elements a channel. */
void bl_k_bn_grad_sums(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy,
                       double *sums, float *dgamma, float *dbeta, void *scratch);
void bl_k_bn_grad_apply(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy,
                        const double *sums, double count, float *dx);

#endif
