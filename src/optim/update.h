/* Optimizer steps over flat arrays: parameters w with gradients g. Formulas are those of PyTorch's torch.optim; state
 * arrays start as zeros. All results are the same for every number of threads. */
#ifndef BL_OPTIM_UPDATE_H
#define BL_OPTIM_UPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optim/sums.h"

/* Elements [begin, end) with a rate and a decay of their own. Spans are adjacent and in order, from 0 on. */
typedef struct bl_span {
    size_t begin, end;
    float lr, weight_decay;
} bl_span;

typedef struct bl_sgd {
    float momentum, grad_scale;
    bool nesterov;
} bl_sgd;

/* d = grad_scale * g + weight_decay * w; m = momentum * m + d; w -= lr * (nesterov ? d + momentum * m : m).
 * m may be NULL where momentum is 0. */
void bl_update_sgd(const bl_span *spans, int n_spans, const bl_sgd *sgd, float *w, const float *g, float *m);

typedef struct bl_adam {
    float beta1, beta2, eps, grad_scale;
    bool decoupled; /* AdamW (Loshchilov and Hutter 2019): w *= 1 - lr * weight_decay before the step; else the decay is
                       added to the gradient (Kingma and Ba 2015 with L2) */
    int64_t step;   /* 1 for the first update */
} bl_adam;

/* d = grad_scale * g; m = beta1 m + (1 - beta1) d; v = beta2 v + (1 - beta2) d^2;
 * w -= lr / (1 - beta1^step) * m / (sqrt(v / (1 - beta2^step)) + eps). */
void bl_update_adam(const bl_span *spans, int n_spans, const bl_adam *adam, float *w, const float *g, float *m,
                    float *v);

/* mean += share * (w - mean): an exponential moving average of decay 1 - share. */
void bl_update_mean(size_t count, float share, const float *w, float *mean);
void bl_update_swap(size_t count, float *a, float *b);

#endif
