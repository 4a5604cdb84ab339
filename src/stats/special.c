#include "stats/special.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/fit.h"

/* One size with enough figures. */
typedef struct point {
    int64_t batch;
    const double *y;
    bool special;
    bool compared; /* special, with the curve close enough on both sides */
} point;

/* Everything one computation looks at; all arrays hold n entries. */
typedef struct curve {
    point *points; /* by ascending batch size */
    size_t n;
    double *x, *t, *slopes; /* of the points of one block's curve */
} curve;

static bool is_special(bl_special_kind kind, int64_t batch)
{
    return kind == BL_SPECIAL_MULTIPLES_OF_8 ? batch % 8 == 0 : batch > 0 && (batch & (batch - 1)) == 0;
}

static size_t count_figures(const double *y, size_t n_blocks)
{
    size_t n = 0;
    for (size_t b = 0; b < n_blocks; b++)
        n += !isnan(y[b]);
    return n;
}

static int compare_points(const void *a, const void *b)
{
    int64_t x = ((const point *)a)->batch;
    int64_t y = ((const point *)b)->batch;
    return (x > y) - (x < y);
}

static void take_points(curve *c, bl_special_kind kind, const int64_t *batch, const double *y, size_t n_cases,
                        size_t n_blocks)
{
    size_t most = 0;
    for (size_t i = 0; i < n_cases; i++) {
        size_t n = count_figures(y + i * n_blocks, n_blocks);
        most = n > most ? n : most;
    }
    for (size_t i = 0; i < n_cases; i++) {
        size_t n = count_figures(y + i * n_blocks, n_blocks);
        if (n > 0 && 2 * n >= most && batch[i] > 0)
            c->points[c->n++] = (point){batch[i], y + i * n_blocks, is_special(kind, batch[i]), false};
    }
    qsort(c->points, c->n, sizeof(*c->points), compare_points);
}

/* Which special sizes lie between points of the curve that are near enough. */
static void choose(curve *c, bl_special *out)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t low = i;
        size_t high = i;
        out->n_curve += !c->points[i].special;
        if (!c->points[i].special)
            continue;
        while (low > 0 && c->points[low].special)
            low--;
        while (high + 1 < c->n && c->points[high].special)
            high++;
        if (c->points[low].special || c->points[high].special)
            continue;
        double from = (double)c->points[low].batch;
        double to = (double)c->points[high].batch;
        if (to > BL_SPECIAL_GAP * from && to - from > 2)
            continue;
        c->points[i].compared = true;
        if (out->n_sizes < BL_SPECIAL_SHOWN)
            out->sizes[out->n_sizes] = c->points[i].batch;
        out->n_sizes++;
    }
}

/* Mean over the special sizes of ln(their step time / the curve's); NaN where a figure is missing. */
static int block_difference(curve *c, size_t b, double *out, bl_error *err)
{
    size_t n = 0;
    *out = NAN;
    for (size_t i = 0; i < c->n; i++) {
        const point *p = &c->points[i];
        if (p->special && !p->compared)
            continue;
        if (isnan(p->y[b]))
            return BL_OK;
        if (p->special)
            continue;
        c->x[n] = (double)p->batch;
        c->t[n++] = p->y[b] * (double)p->batch;
    }
    int rc = bl_pchip_slopes(c->x, c->t, n, c->slopes, err);
    double sum = 0;
    double count = 0;
    for (size_t i = 0; rc == BL_OK && i < c->n; i++) {
        const point *p = &c->points[i];
        if (!p->compared)
            continue;
        double batch = (double)p->batch;
        sum += log(p->y[b] * batch) - log(bl_pchip_value(c->x, c->t, c->slopes, n, batch));
        count++;
    }
    if (rc == BL_OK)
        *out = sum / count;
    return rc;
}

static int check(const int64_t *batch, const double *y, size_t n_cases, size_t n_blocks, double level, double margin,
                 bl_error *err)
{
    if (!(margin > 0 && margin < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a margin must lie between 0 and 1 (0.01 = 1 %%), not %g", margin);
    if (!(level > 0 && level < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", level);
    for (size_t i = 0; i < n_cases * n_blocks; i++)
        if (!isnan(y[i]) && !(y[i] > 0 && isfinite(y[i])))
            return BL_FAIL(err, BL_ERR_USAGE, "a figure must be positive, not %g", y[i]);
    for (size_t i = 0; i < n_cases; i++)
        for (size_t k = 0; k < i; k++)
            if (batch[i] == batch[k])
                return BL_FAIL(err, BL_ERR_USAGE, "batch size %lld stands twice in the cases to compare",
                               (long long)batch[i]);
    return BL_OK;
}

int bl_special_compute(bl_special_kind kind, const int64_t *batch, const double *y, size_t n_cases, size_t n_blocks,
                       double level, double margin, bl_special *out, bl_error *err)
{
    *out = (bl_special){.kind = kind, .claim = BL_CLAIM_NONE};
    out->contrast.log_ratio.estimate = NAN;
    int rc = check(batch, y, n_cases, n_blocks, level, margin, err);
    if (rc != BL_OK)
        return rc;
    curve c = {.points = bl_calloc(n_cases + 1, sizeof(point))};
    double *numbers = bl_calloc(3 * (n_cases + 1) + n_blocks + 1, sizeof(*numbers));
    if (c.points == NULL || numbers == NULL) {
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a curve through %zu sizes", n_cases);
    } else {
        double *d = numbers + 3 * (n_cases + 1);
        c.x = numbers;
        c.t = c.x + n_cases + 1;
        c.slopes = c.t + n_cases + 1;
        take_points(&c, kind, batch, y, n_cases, n_blocks);
        choose(&c, out);
        for (size_t b = 0; rc == BL_OK && out->n_sizes > 0 && b < n_blocks; b++)
            rc = block_difference(&c, b, &d[b], err);
        if (rc == BL_OK && out->n_sizes > 0)
            rc = bl_contrast_from_logs(d, n_blocks, level, &out->contrast, err);
    }
    free(numbers);
    free(c.points);
    if (rc != BL_OK || out->contrast.n_pairs == 0) {
        out->n_sizes = 0;
        return rc;
    }
    out->claim = bl_claim_from_interval(&out->contrast.log_ratio, margin);
    if (out->claim == BL_CLAIM_CANNOT_TELL || out->claim == BL_CLAIM_DIFFER_SOME)
        out->more_blocks = bl_more_blocks(&out->contrast, level, margin);
    return BL_OK;
}
