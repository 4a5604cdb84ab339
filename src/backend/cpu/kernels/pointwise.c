#include "backend/cpu/kernels/pointwise.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/kernels/block.h"
#include "graph/dropout.h"

#define CHUNK 16384 /* floats a task: 64 KiB */

static const bl_k_tiles *flat_tiles(void)
{
    return bl_k_tiles_for(BL_K_BLOCK_MAX);
}

void bl_k_act_forward(const bl_k_shape *shape, bl_act act, const float *x, float *y)
{
    const bl_k_tiles *tiles = flat_tiles();
    size_t count = bl_k_count(shape);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i += CHUNK)
        tiles->act_forward(count - i < CHUNK ? count - i : CHUNK, act, x + i, y + i);
    int blocks = bl_k_blocks(shape->c, shape->block), channels = bl_k_channels_in(shape->c, shape->block, blocks - 1);
    size_t pixels = (size_t)shape->h * (size_t)shape->w;
    for (int n = 0; !bl_k_act_keeps_zero(act) && channels < shape->block && n < shape->n; n++)
        bl_k_clear_padding(y + ((size_t)(n + 1) * (size_t)blocks - 1) * pixels * (size_t)shape->block, pixels,
                           shape->block, channels);
}

void bl_k_act_grad(size_t count, bl_act act, const float *x, const float *dy, float *dx)
{
    const bl_k_tiles *tiles = flat_tiles();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i += CHUNK)
        tiles->act_grad(count - i < CHUNK ? count - i : CHUNK, act, x + i, dy + i, dx + i);
}

void bl_k_add(size_t count, const float *a, const float *b, float *y)
{
    const bl_k_tiles *tiles = flat_tiles();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i += CHUNK)
        tiles->add(count - i < CHUNK ? count - i : CHUNK, a + i, b + i, y + i);
}

bool bl_k_dropout_keeps(const bl_k_dropout *dropout, uint64_t element)
{
    return bl_dropout_keeps(dropout->p, dropout->seed, dropout->step, dropout->stream, dropout->first + element);
}

void bl_k_dropout_apply(const bl_k_shape *shape, const bl_k_dropout *dropout, const float *x, float *y)
{
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t pixels = (size_t)shape->h * (size_t)shape->w, block = (size_t)shape->block;
    float scale = 1 / (1 - dropout->p);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++)
            for (size_t p = 0; p < pixels; p++)
                for (size_t i = 0; i < block; i++) {
                    size_t c = (size_t)cb * block + i,
                           at = (((size_t)n * (size_t)blocks + (size_t)cb) * pixels + p) * block + i;
                    uint64_t element = ((uint64_t)n * (uint64_t)shape->c + c) * pixels + p;
                    y[at] = c < (size_t)shape->c && bl_k_dropout_keeps(dropout, element) ? x[at] * scale : 0;
                }
}

static double target_of(const bl_k_targets *t, int row, int k, int n_classes)
{
    double at = k == t->labels[row] ? (t->others ? (double)t->share : 1) : 0;
    if (t->others && k == t->others[row])
        at += 1 - (double)t->share;
    return (1 - (double)t->smoothing) * at + (double)t->smoothing / n_classes;
}

void bl_k_softmax_loss(int n, int k, const float *logits, const bl_k_targets *targets, float *prob, double *loss,
                       int64_t *hits)
{
    const int32_t *labels = targets->labels;
    double total = 0;
    int64_t rows = 0, right = 0;
    for (int i = 0; i < n; i++) {
        const float *row = logits + (size_t)i * (size_t)k;
        float *p = prob + (size_t)i * (size_t)k;
        int largest = 0;
        for (int j = 1; j < k; j++)
            if (row[j] > row[largest])
                largest = j;
        double sum = 0, top = (double)row[largest];
        for (int j = 0; j < k; j++)
            sum += exp((double)row[j] - top);
        double log_sum = log(sum);
        for (int j = 0; j < k; j++) {
            double log_p = (double)row[j] - top - log_sum;
            p[j] = (float)exp(log_p);
            double target = labels[i] >= 0 ? target_of(targets, i, j, k) : 0;
            if (target > 0) /* else an infinite log_p would make no number of it */
                total -= target * log_p;
        }
        rows += labels[i] >= 0;
        right += labels[i] == largest;
    }
    *loss = rows > 0 ? total / (double)rows : 0;
    if (hits)
        *hits = right;
}

void bl_k_softmax_loss_grad(int n, int k, const float *prob, const bl_k_targets *targets, float dloss, float *dlogits)
{
    const int32_t *labels = targets->labels;
    int rows = 0;
    for (int i = 0; i < n; i++)
        rows += labels[i] >= 0;
    double scale = (double)dloss / (rows > 0 ? rows : 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            size_t at = (size_t)i * (size_t)k + (size_t)j;
            dlogits[at] = labels[i] < 0 ? 0 : (float)(scale * ((double)prob[at] - target_of(targets, i, j, k)));
        }
}

void bl_k_to_blocked(const bl_k_shape *shape, const float *plain, float *blocked)
{
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t pixels = (size_t)shape->h * (size_t)shape->w, block = (size_t)shape->block;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            float *tile = blocked + ((size_t)n * (size_t)blocks + (size_t)cb) * pixels * block;
            int channels = bl_k_channels_in(shape->c, shape->block, cb);
            const float *from = plain + ((size_t)n * (size_t)shape->c + (size_t)cb * block) * pixels;
            for (size_t p = 0; p < pixels; p++)
                for (size_t i = 0; i < block; i++)
                    tile[p * block + i] = (int)i < channels ? from[i * pixels + p] : 0;
        }
}

void bl_k_to_plain(const bl_k_shape *shape, const float *blocked, float *plain)
{
    int blocks = bl_k_blocks(shape->c, shape->block);
    size_t pixels = (size_t)shape->h * (size_t)shape->w, block = (size_t)shape->block;
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            const float *tile = blocked + ((size_t)n * (size_t)blocks + (size_t)cb) * pixels * block;
            float *to = plain + ((size_t)n * (size_t)shape->c + (size_t)cb * block) * pixels;
            for (int i = 0; i < bl_k_channels_in(shape->c, shape->block, cb); i++)
                for (size_t p = 0; p < pixels; p++)
                    to[(size_t)i * pixels + p] = tile[p * block + (size_t)i];
        }
}
