#include "optim/update.h"

#include <math.h>

/* What one thread takes at a time: in the second-level cache with all its arrays, and long beside the cost of finding
 * its spans. Being of fixed size, the chunks make sums the same whatever the threads. */
#define CHUNK ((size_t)16384)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The span that element `at` lies in. */
static int span_of(const bl_span *spans, int n, size_t at)
{
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (spans[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sgd_span(size_t count, const bl_sgd *sgd, const bl_span *span, float *w, const float *g, float *m)
{
    const bl_sgd s = *sgd;
    const float lr = span->lr, decay = span->weight_decay;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float d = s.grad_scale * g[i] + decay * w[i];
        if (m) {
            m[i] = s.momentum * m[i] + d;
            d = s.nesterov ? d + s.momentum * m[i] : m[i];
        }
        w[i] -= lr * d;
    }
}

void bl_update_sgd(const bl_span *spans, int n_spans, const bl_sgd *sgd, float *w, const float *g, float *m)
{
    size_t count = n_spans > 0 ? spans[n_spans - 1].end : 0;
#pragma omp parallel for schedule(static)
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        size_t end = least(begin + CHUNK, count);
        int k = span_of(spans, n_spans, begin);
        for (size_t at = begin; at < end; at = spans[k++].end)
            sgd_span(least(spans[k].end, end) - at, sgd, &spans[k], w + at, g + at, m ? m + at : NULL);
    }
}

typedef struct adam_step {
    bl_adam adam;
    double c1; /* 1 - beta1^step */
    float root;
} adam_step;

static void adam_span(size_t count, const adam_step *s, const bl_span *span, float *w, const float *g, float *m,
                      float *v)
{
    const bl_adam a = s->adam;
    const float rate = (float)((double)span->lr / s->c1), root = s->root;
    const float shrink = a.decoupled ? 1 - span->lr * span->weight_decay : 1;
    const float coupled = a.decoupled ? 0 : span->weight_decay;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float d = a.grad_scale * g[i] + coupled * w[i];
        m[i] = a.beta1 * m[i] + (1 - a.beta1) * d;
        v[i] = a.beta2 * v[i] + (1 - a.beta2) * d * d;
        w[i] = shrink * w[i] - rate * m[i] / (sqrtf(v[i]) * root + a.eps);
    }
}

void bl_update_adam(const bl_span *spans, int n_spans, const bl_adam *adam, float *w, const float *g, float *m,
                    float *v)
{
    size_t count = n_spans > 0 ? spans[n_spans - 1].end : 0;
    adam_step step = {.adam = *adam,
                      .c1 = 1 - pow((double)adam->beta1, (double)adam->step),
                      .root = (float)(1 / sqrt(1 - pow((double)adam->beta2, (double)adam->step)))};
#pragma omp parallel for schedule(static)
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        size_t end = least(begin + CHUNK, count);
        int k = span_of(spans, n_spans, begin);
        for (size_t at = begin; at < end; at = spans[k++].end)
            adam_span(least(spans[k].end, end) - at, &step, &spans[k], w + at, g + at, m + at, v + at);
    }
}

void bl_update_sum(size_t count, bool fresh, float weight, const float *g, float *sum)
{
    if (fresh) {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < count; i++)
            sum[i] = weight * g[i];
    } else {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < count; i++)
            sum[i] += weight * g[i];
    }
}

void bl_update_mean(size_t count, float share, const float *w, float *mean)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++)
        mean[i] += share * (w[i] - mean[i]);
}

void bl_update_swap(size_t count, float *a, float *b)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++) {
        float held = a[i];
        a[i] = b[i];
        b[i] = held;
    }
}

size_t bl_update_partials(size_t count)
{
    return (count + CHUNK - 1) / CHUNK;
}

double bl_update_squares(size_t count, const float *g, double *partial)
{
    size_t n = bl_update_partials(count);
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < n; k++) {
        const float *at = g + k * CHUNK;
        size_t length = least(count - k * CHUNK, CHUNK);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < length; i++)
            sum += (double)at[i] * (double)at[i];
        partial[k] = sum;
    }
    double total = 0;
    for (size_t k = 0; k < n; k++)
        total += partial[k];
    return total;
}

double bl_update_scaled_squares(size_t count, const float *g, const float *scale, double *partial)
{
    size_t n = bl_update_partials(count);
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < n; k++) {
        const float *at = g + k * CHUNK, *times = scale + k * CHUNK;
        size_t length = least(count - k * CHUNK, CHUNK);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < length; i++)
            sum += (double)times[i] * (double)at[i] * (double)at[i];
        partial[k] = sum;
    }
    double total = 0;
    for (size_t k = 0; k < n; k++)
        total += partial[k];
    return total;
}
