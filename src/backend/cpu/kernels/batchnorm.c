#include "backend/cpu/kernels/batchnorm.h"

#include <math.h>
#include <omp.h>

#include "backend/cpu/kernels/block.h"

/* Working memory: two vectors a tile. */
size_t bl_k_bn_scratch_b(const bl_k_shape *shape)
{
    return 2 * (size_t)shape->n * (size_t)bl_k_padded_c(shape) * sizeof(float);
}

/* One thread to a channel block where there are enough of them: its tiles may then still lie in the cache when they
 * are read a second time. Else tile by tile. The sums are the same either way. */
static bool by_block(const bl_k_shape *s)
{
    int blocks = bl_k_blocks(s->c, s->block), threads = omp_get_max_threads();
    return blocks >= 4 * threads || blocks % threads == 0;
}

/* Chan's formula over the images, in order: partial means and squared deviations become those of the channel. */
static void merge_stats(const bl_k_shape *s, int cb, const float *partial, float *mean, float *var)
{
    size_t padded = (size_t)bl_k_padded_c(s);
    double tile = (double)bl_k_pixels(s);
    for (int i = 0; i < bl_k_channels_in(s->c, s->block, cb); i++) {
        size_t c = (size_t)(cb * s->block + i);
        double count = 0, m = 0, m2 = 0;
        for (int n = 0; n < s->n; n++) {
            double tile_mean = (double)partial[(size_t)n * padded + c];
            double tile_m2 = (double)partial[(size_t)(s->n + n) * padded + c];
            double delta = tile_mean - m, total = count + tile;
            m += delta * tile / total;
            m2 += tile_m2 + delta * delta * count * tile / total;
            count = total;
        }
        mean[c] = (float)m;
        var[c] = (float)(m2 / count);
    }
}

static void stats_of_tile(const bl_k_shape *s, const bl_k_tiles *tiles, const float *x, int n, int cb, float *partial)
{
    size_t padded = (size_t)bl_k_padded_c(s), at = (size_t)(cb * s->block);
    tiles->stats(x + bl_k_tile_at(s, n, cb), bl_k_pixels(s), s->block, partial + (size_t)n * padded + at,
                 partial + (size_t)(s->n + n) * padded + at);
}

static void apply_to_tile(const bl_k_shape *s, const bl_k_tiles *tiles, const bl_k_affine *affine, const float *x,
                          const float *gate, const float *residual, float *y, int n, int cb)
{
    size_t at = bl_k_tile_at(s, n, cb);
    tiles->apply(x + at, bl_k_pixels(s), s->block, affine,
                 gate ? gate + (size_t)n * (size_t)bl_k_padded_c(s) + (size_t)(cb * s->block) : NULL,
                 residual ? residual + at : NULL, y + at);
    if (!bl_k_act_keeps_zero(affine->act))
        bl_k_clear_padding(y + at, bl_k_pixels(s), s->block, bl_k_channels_in(s->c, s->block, cb));
}

void bl_k_bn_stats(const bl_k_shape *shape, const float *x, float *mean, float *var, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++)
            stats_of_tile(shape, tiles, x, n, cb, scratch);
    for (int cb = 0; cb < blocks; cb++)
        merge_stats(shape, cb, scratch, mean, var);
}

/* Sums of x and of x^2. The means are subtracted again as they were put in, so that a large one costs no digits. */
void bl_k_bn_part_sums(const bl_k_shape *shape, const float *mean, const float *var, double *sums)
{
    double count = (double)shape->n * (double)bl_k_pixels(shape);
    for (int c = 0; c < shape->c; c++) {
        sums[c] = count * (double)mean[c];
        sums[shape->c + c] = count * ((double)var[c] + (double)mean[c] * (double)mean[c]);
    }
}

void bl_k_bn_whole_stats(int c, const double *sums, double count, float *mean, float *var)
{
    for (int i = 0; i < c; i++) {
        double m = sums[i] / count;
        mean[i] = (float)m;
        var[i] = (float)fmax(0, sums[c + i] / count - m * m);
    }
}

void bl_k_bn_track(int channels, double n, float momentum, const float *mean, const float *var, float *running_mean,
                   float *running_var)
{
    float unbiased = (float)(n > 1 ? n / (n - 1) : 1);
    for (int c = 0; c < channels; c++) {
        running_mean[c] += momentum * (mean[c] - running_mean[c]);
        running_var[c] += momentum * (unbiased * var[c] - running_var[c]);
    }
}

void bl_k_bn_apply(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *gate,
                   const float *residual, float *y, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < shape->n; n++)
        for (int cb = 0; cb < blocks; cb++) {
            bl_k_affine affine;
            bl_k_make_affine(norm, shape->c, shape->block, cb, &affine);
            apply_to_tile(shape, tiles, &affine, x, gate, residual, y, n, cb);
        }
}

void bl_k_bn_train(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const float *residual, float *mean,
                   float *var, float *y, void *scratch)
{
    const bl_k_tiles *tiles = bl_k_tiles_for(shape->block);
    int blocks = bl_k_blocks(shape->c, shape->block);
    bl_k_norm with_stats = *norm;
    with_stats.mean = mean;
    with_stats.var = var;
    if (!by_block(shape)) {
        bl_k_bn_stats(shape, x, mean, var, scratch);
        bl_k_bn_apply(shape, &with_stats, x, NULL, residual, y, scratch);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int cb = 0; cb < blocks; cb++) {
        bl_k_affine affine;
        for (int n = 0; n < shape->n; n++)
            stats_of_tile(shape, tiles, x, n, cb, scratch);
        merge_stats(shape, cb, scratch, mean, var);
        bl_k_make_affine(&with_stats, shape->c, shape->block, cb, &affine);
        for (int n = shape->n; n-- > 0;) /* what was read last is still in the cache */
            apply_to_tile(shape, tiles, &affine, x, NULL, residual, y, n, cb);
    }
}

/* ---- gradient ---- */

typedef struct bn_grad {
    const bl_k_shape *shape;
    const bl_k_norm *norm;
    const bl_k_tiles *tiles;
    const float *x;
    const bl_k_bn_dy *dy;
    float *dx, *dgamma, *dbeta, *partial;
} bn_grad;

static bl_k_incoming incoming_of_tile(const bn_grad *g, int n, int cb)
{
    size_t per_image = (size_t)n * (size_t)bl_k_padded_c(g->shape) + (size_t)(cb * g->shape->block);
    return (bl_k_incoming){.dy = g->dy->dy ? g->dy->dy + bl_k_tile_at(g->shape, n, cb) : NULL,
                           .gate = g->dy->gate ? g->dy->gate + per_image : NULL,
                           .add = g->dy->add ? g->dy->add + per_image : NULL,
                           .add_scale = g->dy->add_scale};
}

static void prepare_block(const bn_grad *g, int cb, bl_k_bn_block *bn)
{
    const bl_k_shape *s = g->shape;
    bl_k_make_affine(g->norm, s->c, s->block, cb, &bn->affine);
    bl_k_take_channels(g->norm->mean, s->c, s->block, cb, bn->mean);
    for (int i = 0; i < s->block; i++) {
        bool there = i < bl_k_channels_in(s->c, s->block, cb);
        bn->inv_std[i] = there ? (float)(1 / sqrt((double)g->norm->var[cb * s->block + i] + (double)g->norm->eps)) : 0;
    }
}

static void sum_tile(const bn_grad *g, const bl_k_bn_block *bn, int n, int cb)
{
    const bl_k_shape *s = g->shape;
    size_t padded = (size_t)bl_k_padded_c(s), at = (size_t)(cb * s->block);
    bl_k_incoming in = incoming_of_tile(g, n, cb);
    g->tiles->grad_sums(g->x + bl_k_tile_at(s, n, cb), &in, bl_k_pixels(s), s->block, bn,
                        g->partial + (size_t)n * padded + at, g->partial + (size_t)(s->n + n) * padded + at);
}

/* dx = gamma inv_std (g - sum_g / N - xhat sum_gx / N) = a g + b (x - mean) + c. */
static void take_sums(const bn_grad *g, size_t c, int i, double sum_g, double sum_gx, double count, bl_k_bn_block *bn)
{
    double a = (g->norm->gamma ? (double)g->norm->gamma[c] : 1) * (double)bn->inv_std[i];
    bn->a[i] = (float)a;
    bn->b[i] = (float)(-a * (double)bn->inv_std[i] * sum_gx / count);
    bn->c[i] = (float)(-a * sum_g / count);
}

static void add_tiles(const bn_grad *g, size_t c, double *sum_g, double *sum_gx)
{
    size_t padded = (size_t)bl_k_padded_c(g->shape);
    *sum_g = *sum_gx = 0;
    for (int n = 0; n < g->shape->n; n++) {
        *sum_g += (double)g->partial[(size_t)n * padded + c];
        *sum_gx += (double)g->partial[(size_t)(g->shape->n + n) * padded + c];
    }
    if (g->dgamma)
        g->dgamma[c] = (float)*sum_gx;
    if (g->dbeta)
        g->dbeta[c] = (float)*sum_g;
}

static void finish_block(const bn_grad *g, int cb, bl_k_bn_block *bn)
{
    const bl_k_shape *s = g->shape;
    double count = (double)s->n * (double)bl_k_pixels(s);
    for (int i = 0; i < s->block; i++) {
        bn->a[i] = bn->b[i] = bn->c[i] = 0;
        if (i >= bl_k_channels_in(s->c, s->block, cb))
            continue;
        size_t c = (size_t)(cb * s->block + i);
        double sum_g, sum_gx;
        add_tiles(g, c, &sum_g, &sum_gx);
        take_sums(g, c, i, sum_g, sum_gx, count, bn);
    }
}

static void apply_grad_to_tile(const bn_grad *g, const bl_k_bn_block *bn, int n, int cb)
{
    const bl_k_shape *s = g->shape;
    bl_k_incoming in = incoming_of_tile(g, n, cb);
    size_t at = bl_k_tile_at(s, n, cb);
    g->tiles->grad_apply(g->x + at, &in, bl_k_pixels(s), s->block, bn, g->dx + at);
}

static void grad_by_block(const bn_grad *g)
{
    int blocks = bl_k_blocks(g->shape->c, g->shape->block);
#pragma omp parallel for schedule(static)
    for (int cb = 0; cb < blocks; cb++) {
        bl_k_bn_block bn;
        prepare_block(g, cb, &bn);
        for (int n = 0; n < g->shape->n; n++)
            sum_tile(g, &bn, n, cb);
        finish_block(g, cb, &bn);
        for (int n = g->shape->n; n-- > 0;)
            apply_grad_to_tile(g, &bn, n, cb);
    }
}

static void grad_by_tile(const bn_grad *g)
{
    int blocks = bl_k_blocks(g->shape->c, g->shape->block);
#pragma omp parallel
    {
        bl_k_bn_block bn;
#pragma omp for collapse(2) schedule(static)
        for (int cb = 0; cb < blocks; cb++)
            for (int n = 0; n < g->shape->n; n++) {
                prepare_block(g, cb, &bn);
                sum_tile(g, &bn, n, cb);
            }
#pragma omp for collapse(2) schedule(static)
        for (int cb = 0; cb < blocks; cb++)
            for (int n = 0; n < g->shape->n; n++) {
                bn_grad quiet = *g; /* one of the block's tiles writes dgamma and dbeta */
                if (n > 0)
                    quiet.dgamma = quiet.dbeta = NULL;
                prepare_block(g, cb, &bn);
                finish_block(&quiet, cb, &bn);
                apply_grad_to_tile(g, &bn, n, cb);
            }
    }
}

void bl_k_bn_grad(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy, float *dx,
                  float *dgamma, float *dbeta, void *scratch)
{
    bn_grad g = {.shape = shape,
                 .norm = norm,
                 .tiles = bl_k_tiles_for(shape->block),
                 .x = x,
                 .dy = dy,
                 .dx = dx,
                 .dgamma = dgamma,
                 .dbeta = dbeta,
                 .partial = scratch};
    if (by_block(shape))
        grad_by_block(&g);
    else
        grad_by_tile(&g);
}

void bl_k_bn_grad_sums(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy,
                       double *sums, float *dgamma, float *dbeta, void *scratch)
{
    bn_grad g = {.shape = shape,
                 .norm = norm,
                 .tiles = bl_k_tiles_for(shape->block),
                 .x = x,
                 .dy = dy,
                 .dgamma = dgamma,
                 .dbeta = dbeta,
                 .partial = scratch};
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int cb = 0; cb < blocks; cb++)
        for (int n = 0; n < shape->n; n++) {
            bl_k_bn_block bn;
            prepare_block(&g, cb, &bn);
            sum_tile(&g, &bn, n, cb);
        }
    for (int c = 0; c < shape->c; c++)
        add_tiles(&g, (size_t)c, &sums[c], &sums[shape->c + c]);
}

void bl_k_bn_grad_apply(const bl_k_shape *shape, const bl_k_norm *norm, const float *x, const bl_k_bn_dy *dy,
                        const double *sums, double count, float *dx)
{
    bn_grad g = {.shape = shape, .norm = norm, .tiles = bl_k_tiles_for(shape->block), .x = x, .dy = dy, .dx = dx};
    int blocks = bl_k_blocks(shape->c, shape->block);
#pragma omp parallel for collapse(2) schedule(static)
    for (int cb = 0; cb < blocks; cb++)
        for (int n = 0; n < shape->n; n++) {
            bl_k_bn_block bn = {0};
            prepare_block(&g, cb, &bn);
            for (int i = 0; i < bl_k_channels_in(shape->c, shape->block, cb); i++) {
                size_t c = (size_t)(cb * shape->block + i);
                take_sums(&g, c, i, sums[c], sums[(size_t)shape->c + c], count, &bn);
            }
            apply_grad_to_tile(&g, &bn, n, cb);
        }
}
