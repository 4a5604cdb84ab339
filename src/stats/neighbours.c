#include "stats/neighbours.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/dist.h"
#include "stats/neighbours_text.h"

#define MORE_BLOCKS_MAX 10000

/* Everything one computation looks at. */
typedef struct sweep {
    const int64_t *batch;
    const double *y;
    size_t n_cases, n_blocks;
} sweep;

static bool is_power_of_two(int64_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

bl_claim bl_claim_from_interval(const bl_interval *log_ratio, double margin)
{
    if (!log_ratio->has_interval || log_ratio->level < BL_NEIGHBOURS_MIN_LEVEL)
        return BL_CLAIM_CANNOT_TELL;
    /* As in the equivalence test on logarithms: +-ln(1 + m), so that a against b and b against a agree. */
    double delta = log1p(margin);
    bool excludes_zero = log_ratio->low > 0 || log_ratio->high < 0;
    if (log_ratio->low > delta || log_ratio->high < -delta)
        return BL_CLAIM_DIFFER;
    if (log_ratio->low > -delta && log_ratio->high < delta)
        return excludes_zero ? BL_CLAIM_SMALL : BL_CLAIM_NO_DIFFERENCE;
    return excludes_zero ? BL_CLAIM_DIFFER_SOME : BL_CLAIM_CANNOT_TELL;
}

size_t bl_more_blocks(const bl_contrast *contrast, double level, double margin)
{
    size_t had = contrast->n_pairs;
    if (had < 2 || isnan(contrast->sd) || !(level > 0 && level < 1))
        return 0;
    double room = fabs(fabs(contrast->log_ratio.estimate) - log1p(margin));
    size_t fewest = bl_signed_rank_min_n(level);
    for (size_t n = had + 1 > fewest ? had + 1 : fewest; n <= had + MORE_BLOCKS_MAX; n += 1 + n / 64) {
        double half = bl_t_quantile(0.5 + 0.5 * level, (double)(n - 1)) * contrast->sd / sqrt((double)n);
        if (half < room)
            return n - had;
    }
    return 0;
}

static const double *row(const sweep *s, size_t c)
{
    return s->y + c * s->n_blocks;
}

static bool has_figure(const sweep *s, size_t c)
{
    for (size_t b = 0; b < s->n_blocks; b++)
        if (!isnan(row(s, c)[b]))
            return true;
    return false;
}

static int64_t reach_of(int64_t power)
{
    int64_t reach = power / 32;
    if (reach < 1)
        return 1;
    return reach < BL_NEIGHBOURS_REACH_MAX ? reach : BL_NEIGHBOURS_REACH_MAX;
}

/* Cases next to case p into at[]; ascending by batch size. */
static size_t find_neighbours(const sweep *s, size_t p, size_t *at)
{
    size_t n = 0;
    int64_t reach = reach_of(s->batch[p]);
    for (size_t c = 0; c < s->n_cases; c++) {
        int64_t off = s->batch[c] - s->batch[p];
        if (off == 0 || off < -reach || off > reach || is_power_of_two(s->batch[c]) || !has_figure(s, c))
            continue;
        size_t i = n++;
        for (; i > 0 && s->batch[at[i - 1]] > s->batch[c]; i--)
            at[i] = at[i - 1];
        at[i] = c;
    }
    return n;
}

/* ln of (what the neighbours take at the power's place) - ln of (what the power takes) in block b; NaN where that
 * cannot be had. Two-sided: the least-squares line through the neighbours' step times, T = y * batch, read at the
 * power. */
static double block_difference(const sweep *s, size_t p, const size_t *at, size_t n, bool two_sided, size_t b)
{
    double here = row(s, p)[b];
    if (isnan(here))
        return NAN;
    double count = 0, sum_x = 0, sum_t = 0, sum_log = 0;
    bool below = false;
    bool above = false;
    for (size_t i = 0; i < n; i++) {
        double y = row(s, at[i])[b];
        if (isnan(y))
            continue;
        double x = (double)(s->batch[at[i]] - s->batch[p]);
        below = below || x < 0;
        above = above || x > 0;
        count++;
        sum_x += x;
        sum_t += y * (double)s->batch[at[i]];
        sum_log += log(y);
    }
    if (!two_sided)
        return count > 0 ? sum_log / count - log(here) : NAN;
    if (!below || !above)
        return NAN; /* another contrast than in the other blocks */
    double mean_x = sum_x / count;
    double mean_t = sum_t / count;
    double sxx = 0;
    double sxt = 0;
    for (size_t i = 0; i < n; i++) {
        double y = row(s, at[i])[b];
        if (isnan(y))
            continue;
        double x = (double)(s->batch[at[i]] - s->batch[p]);
        sxx += (x - mean_x) * (x - mean_x);
        sxt += (x - mean_x) * (y * (double)s->batch[at[i]] - mean_t);
    }
    double at_power = mean_t - sxt / sxx * mean_x;
    return at_power > 0 ? log(at_power / (double)s->batch[p]) - log(here) : NAN;
}

static void fill_item(const sweep *s, size_t p, const size_t *at, size_t n, bl_neighbour_contrast *item, double *d)
{
    bool below = false;
    bool above = false;
    item->n_neighbours = n;
    for (size_t i = 0; i < n; i++) {
        item->neighbours[i] = s->batch[at[i]];
        below = below || s->batch[at[i]] < s->batch[p];
        above = above || s->batch[at[i]] > s->batch[p];
    }
    item->two_sided = below && above;
    for (size_t b = 0; b < s->n_blocks; b++)
        d[b] = block_difference(s, p, at, n, item->two_sided, b);
}

static int compare_powers(const void *a, const void *b)
{
    int64_t x = ((const bl_neighbour_contrast *)a)->power;
    int64_t y = ((const bl_neighbour_contrast *)b)->power;
    return (x > y) - (x < y);
}

/* Mean over the powers, block by block; a block counts where all those taken in have a figure. d: len rows. */
static void mean_over_powers(bl_neighbours *out, const double *d, size_t n_blocks, double *mean)
{
    size_t most = 0;
    for (size_t i = 0; i < out->len; i++)
        most = out->items[i].contrast.n_pairs > most ? out->items[i].contrast.n_pairs : most;
    for (size_t i = 0; i < out->len; i++)
        out->items[i].in_overall = most > 0 && 2 * out->items[i].contrast.n_pairs >= most;
    for (size_t b = 0; b < n_blocks; b++) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < out->len; i++) {
            if (!out->items[i].in_overall)
                continue;
            sum += d[i * n_blocks + b]; /* NaN takes the block away */
            count++;
        }
        mean[b] = count > 0 ? sum / (double)count : NAN;
    }
}

static int check_sweep(const sweep *s, double level, double margin, bl_error *err)
{
    if (!(margin > 0 && margin < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a margin must lie between 0 and 1 (0.01 = 1 %%), not %g", margin);
    if (!(level > 0 && level < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", level);
    for (size_t c = 0; c < s->n_cases; c++) {
        for (size_t other = 0; other < c; other++)
            if (s->batch[other] == s->batch[c])
                return BL_FAIL(err, BL_ERR_USAGE, "batch size %lld stands twice in the cases to compare",
                               (long long)s->batch[c]);
        for (size_t b = 0; b < s->n_blocks; b++)
            if (!isnan(row(s, c)[b]) && !(row(s, c)[b] > 0 && isfinite(row(s, c)[b])))
                return BL_FAIL(err, BL_ERR_USAGE, "a figure must be positive, not %g", row(s, c)[b]);
    }
    return BL_OK;
}

static int compute(const sweep *s, double level, double margin, double *d, double *mean, bl_neighbours *out,
                   bl_error *err)
{
    size_t at[2 * BL_NEIGHBOURS_REACH_MAX];
    for (size_t p = 0; p < s->n_cases; p++) {
        if (!is_power_of_two(s->batch[p]) || !has_figure(s, p))
            continue;
        if (find_neighbours(s, p, at) > 0)
            out->items[out->len++].power = s->batch[p];
    }
    if (out->len == 0)
        return BL_OK;
    qsort(out->items, out->len, sizeof(*out->items), compare_powers);
    for (size_t i = 0; i < out->len; i++) {
        size_t p = 0;
        while (s->batch[p] != out->items[i].power)
            p++;
        size_t n = find_neighbours(s, p, at);
        fill_item(s, p, at, n, &out->items[i], d + i * s->n_blocks);
        int rc = bl_contrast_from_logs(d + i * s->n_blocks, s->n_blocks, level, &out->items[i].contrast, err);
        if (rc != BL_OK)
            return rc;
        out->items[i].claim = bl_claim_from_interval(&out->items[i].contrast.log_ratio, margin);
    }
    mean_over_powers(out, d, s->n_blocks, mean);
    int rc = bl_contrast_from_logs(mean, s->n_blocks, level, &out->overall, err);
    if (rc != BL_OK)
        return rc;
    if (out->overall.n_pairs == 0)
        return BL_OK;
    out->claim = bl_claim_from_interval(&out->overall.log_ratio, margin);
    if (out->claim == BL_CLAIM_CANNOT_TELL || out->claim == BL_CLAIM_DIFFER_SOME)
        out->more_blocks = bl_more_blocks(&out->overall, level, margin);
    return BL_OK;
}

int bl_neighbours_compute(const int64_t *batch, const double *y, size_t n_cases, size_t n_blocks, double level,
                          double margin, bl_neighbours *out, bl_error *err)
{
    *out = (bl_neighbours){.claim = BL_CLAIM_NONE};
    out->overall.log_ratio.estimate = NAN;
    const sweep s = {batch, y, n_cases, n_blocks};
    int rc = check_sweep(&s, level, margin, err);
    if (rc != BL_OK)
        return rc;
    size_t powers = 0;
    for (size_t c = 0; c < n_cases; c++)
        powers += is_power_of_two(batch[c]);
    out->items = bl_calloc(powers + 1, sizeof(*out->items));
    double *d = bl_calloc(powers + 1, (n_blocks + 1) * sizeof(*d));
    double *mean = bl_calloc(n_blocks + 1, sizeof(*mean));
    if (out->items == NULL || d == NULL || mean == NULL)
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to compare %zu powers of two", powers);
    else
        rc = compute(&s, level, margin, d, mean, out, err);
    free(mean);
    free(d);
    if (rc != BL_OK) {
        bl_neighbours_clear(out);
        return rc;
    }
    bl_neighbours_write_sentence(out, level, margin);
    return BL_OK;
}

void bl_neighbours_clear(bl_neighbours *neighbours)
{
    free(neighbours->items);
    *neighbours = (bl_neighbours){.claim = BL_CLAIM_NONE};
}
