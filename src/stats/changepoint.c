#include "stats/changepoint.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/rng.h"

typedef struct segment {
    size_t start, end; /* [start, end) */
    size_t split;      /* best split, an index into the series; start where the segment is too short */
    double q;          /* divergence at the split */
    bool closed;       /* no split of it stands */
} segment;

void bl_edivisive_options_init(bl_edivisive_options *options)
{
    *options = (bl_edivisive_options){.min_segment = 30, .permutations = 199, .significance = 0.05, .seed = 1};
}

/* Sum over i < n of |x[i] - v|, in four strands so that the additions do not wait for each other. */
static double distance_sum(const double *x, size_t n, double v)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += fabs(x[i] - v);
        s1 += fabs(x[i + 1] - v);
        s2 += fabs(x[i + 2] - v);
        s3 += fabs(x[i + 3] - v);
    }
    for (; i < n; i++)
        s0 += fabs(x[i] - v);
    return (s0 + s1) + (s2 + s3);
}

/* A value with the sum of its distances to all others of the segment: the sum does not change in a shuffle. */
typedef struct weighted {
    double x, total;
} weighted;

/* The largest divergence over all splits that leave min values on each side, 0 and *split = 0 where there is none.
 *
 * Moving the split past value j takes its distances to earlier values into the left sum and its distances to later
 * ones out of the right sum; with the row totals known, only the former need computing.
 * Q = n m / (n + m) * (2 B / (n m) - W_left / C(n, 2) - W_right / C(m, 2)), Matteson & James (5) and (6). */
static double best_split(const weighted *values, size_t len, size_t min, double *x, size_t *split)
{
    *split = 0;
    if (len < 2 * min)
        return 0;
    double pairs = 0;
    for (size_t i = 0; i < len; i++) {
        x[i] = values[i].x;
        pairs += values[i].total;
    }
    pairs *= 0.5;
    double left = 0;
    double right = pairs;
    double best = 0;
    for (size_t j = 0; j + min < len; j++) {
        double earlier = distance_sum(x, j, x[j]);
        left += earlier;
        right -= values[j].total - earlier;
        size_t n = j + 1;
        size_t m = len - n;
        if (n < min)
            continue;
        double dn = (double)n;
        double dm = (double)m;
        double between = pairs - left - right;
        double e = 2 * between / (dn * dm) - 2 * left / (dn * (dn - 1)) - 2 * right / (dm * (dm - 1));
        double q = dn * dm / (dn + dm) * e;
        if (q > best) {
            best = q;
            *split = n;
        }
    }
    return best;
}

typedef struct workspace {
    weighted *values; /* the segment at hand */
    double *x;        /* its plain values in their present order */
} workspace;

static void load_segment(const double *x, const segment *s, workspace *work)
{
    size_t len = s->end - s->start;
    for (size_t i = 0; i < len; i++) {
        work->values[i].x = x[s->start + i];
        work->values[i].total = distance_sum(x + s->start, len, x[s->start + i]);
    }
}

static void find_split(const double *x, segment *s, size_t min, workspace *work)
{
    load_segment(x, s, work);
    size_t split;
    s->q = best_split(work->values, s->end - s->start, min, work->x, &split);
    s->split = s->start + split;
    s->closed = split == 0;
}

/* Whether few enough shuffles of the segment reach its divergence. */
static bool split_stands(const double *x, const segment *s, const bl_edivisive_options *options, bl_rng *rng,
                         workspace *work)
{
    size_t len = s->end - s->start;
    size_t runs = options->permutations;
    size_t reached = 0;
    load_segment(x, s, work);
    for (size_t r = 0; r < runs; r++) {
        for (size_t i = len; i > 1; i--) {
            size_t j = (size_t)bl_rng_below(rng, i);
            weighted held = work->values[i - 1];
            work->values[i - 1] = work->values[j];
            work->values[j] = held;
        }
        size_t ignored;
        /* The slack keeps a shuffle that only swaps equal values from missing by a rounding. */
        if (best_split(work->values, len, options->min_segment, work->x, &ignored) >= s->q * (1 - 1e-12))
            reached++;
        if ((double)(reached + 1) > options->significance * (double)(runs + 1))
            return false; /* no further shuffle can bring p back down */
    }
    return true;
}

static int check_input(const double *x, size_t n, const bl_edivisive_options *options, bl_error *err)
{
    if (n > BL_EDIVISIVE_MAX_N)
        return BL_FAIL(err, BL_ERR_USAGE, "a series of %zu values is longer than the %d searched for changes", n,
                       BL_EDIVISIVE_MAX_N);
    if (options->min_segment < 2 || options->permutations < 1 || !(options->significance > 0))
        return BL_FAIL(err, BL_ERR_USAGE,
                       "a change-point search wants segments of at least 2 values, a shuffle and a significance");
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return BL_FAIL(err, BL_ERR_USAGE, "value %zu of the series is not finite", i);
    return BL_OK;
}

static segment *strongest(segment *segments, size_t n)
{
    segment *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (!segments[i].closed && (best == NULL || segments[i].q > best->q))
            best = &segments[i];
    return best;
}

int bl_edivisive(const double *x, size_t n, const bl_edivisive_options *options, size_t *points, size_t max_points,
                 size_t *n_points, bl_error *err)
{
    *n_points = 0;
    bl_edivisive_options defaults;
    if (options == NULL) {
        bl_edivisive_options_init(&defaults);
        options = &defaults;
    }
    int rc = check_input(x, n, options, err);
    if (rc != BL_OK)
        return rc;
    size_t capacity = n / options->min_segment + 1;
    workspace work = {bl_calloc(n + 1, sizeof(weighted)), bl_calloc(n + 1, sizeof(double))};
    segment *segments = bl_calloc(capacity, sizeof(*segments));
    if (work.values == NULL || work.x == NULL || segments == NULL) {
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to search %zu values for changes", n);
    } else {
        bl_rng rng;
        bl_rng_init(&rng, options->seed, n);
        size_t len = 1;
        segments[0] = (segment){.start = 0, .end = n};
        find_split(x, &segments[0], options->min_segment, &work);
        for (segment *s = strongest(segments, len); s != NULL && *n_points < max_points; s = strongest(segments, len)) {
            if (!split_stands(x, s, options, &rng, &work)) {
                s->closed = true;
                continue;
            }
            points[(*n_points)++] = s->split;
            segment *tail = &segments[len++];
            *tail = (segment){.start = s->split, .end = s->end};
            s->end = s->split;
            find_split(x, s, options->min_segment, &work);
            find_split(x, tail, options->min_segment, &work);
        }
    }
    free(segments);
    free(work.x);
    free(work.values);
    return rc;
}
