#include "optim/update.h"

#include <math.h>

void bl_update_sgd(size_t count, const bl_sgd *sgd, float *w, const float *g, float *m)
{
    const bl_sgd s = *sgd;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++) {
        float d = g[i] + s.weight_decay * w[i];
        if (m) {
            m[i] = s.momentum * m[i] + d;
            d = s.nesterov ? d + s.momentum * m[i] : m[i];
        }
        w[i] -= s.lr * d;
    }
}

void bl_update_adam(size_t count, const bl_adam *adam, float *w, const float *g, float *m, float *v)
{
    const bl_adam a = *adam;
    double c1 = 1 - pow((double)a.beta1, (double)a.step), c2 = 1 - pow((double)a.beta2, (double)a.step);
    float rate = (float)((double)a.lr / c1), root = (float)(1 / sqrt(c2));
    float shrink = a.decoupled ? 1 - a.lr * a.weight_decay : 1, coupled = a.decoupled ? 0 : a.weight_decay;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++) {
        float d = g[i] + coupled * w[i];
        m[i] = a.beta1 * m[i] + (1 - a.beta1) * d;
        v[i] = a.beta2 * v[i] + (1 - a.beta2) * d * d;
        w[i] = shrink * w[i] - rate * m[i] / (sqrtf(v[i]) * root + a.eps);
    }
}
