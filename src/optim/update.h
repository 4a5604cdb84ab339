/* Optimizer steps over one flat array of `count` parameters w with gradients g. Formulas are those of PyTorch's
 * torch.optim; state arrays start as zeros. */
#ifndef BL_OPTIM_UPDATE_H
#define BL_OPTIM_UPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bl_sgd {
    float lr, momentum, weight_decay;
    bool nesterov;
} bl_sgd;

/* d = g + weight_decay * w; m = momentum * m + d; w -= lr * (nesterov ? d + momentum * m : m).
 * m may be NULL where momentum is 0. */
void bl_update_sgd(size_t count, const bl_sgd *sgd, float *w, const float *g, float *m);

typedef struct bl_adam {
    float lr, beta1, beta2, eps, weight_decay;
    bool decoupled; /* AdamW (Loshchilov and Hutter 2019): w *= 1 - lr * weight_decay before the step; else the decay is
                       added to the gradient (Kingma and Ba 2015 with L2) */
    int64_t step;   /* 1 for the first update */
} bl_adam;

/* m = beta1 m + (1 - beta1) d; v = beta2 v + (1 - beta2) d^2;
 * w -= lr / (1 - beta1^step) * m / (sqrt(v / (1 - beta2^step)) + eps). */
void bl_update_adam(size_t count, const bl_adam *adam, float *w, const float *g, float *m, float *v);

#endif
