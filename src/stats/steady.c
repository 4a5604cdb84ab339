#include "stats/steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/changepoint.h"
#include "stats/gather.h"

#define MIN_STRETCH   4
#define STRETCHES_MAX 10 /* a stretch holds at least a tenth of the series */
#define STEADY_SHARE  4  /* the steady stretches hold at least one 4th of the rest */

void bl_steady_options_init(bl_steady_options *options)
{
    *options = (bl_steady_options){.drop_first = 3, .tolerance = 0.01, .significance = 0.01, .seed = 1};
}

const char *bl_steady_quality_name(bl_steady_quality quality)
{
    switch (quality) {
    case BL_STEADY_NONE:
        return "none";
    case BL_STEADY_SHORT:
        return "short";
    case BL_STEADY_OK:
        return "ok";
    case BL_STEADY_UNSTEADY:
        return "unsteady";
    }
    return "unknown";
}

static int check_steps(const double *dt_s, const double *samples, size_t n, bl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!(isfinite(dt_s[i]) && dt_s[i] > 0))
            return BL_FAIL(err, BL_ERR_USAGE, "step %zu lasted %g s; a step's time must be positive", i, dt_s[i]);
        if (!(isfinite(samples[i]) && samples[i] > 0))
            return BL_FAIL(err, BL_ERR_USAGE, "step %zu has %g samples; it must have at least one", i, samples[i]);
    }
    return BL_OK;
}

/* x[0 .. n) condensed to medians of `group` neighbours (the last group may be larger), in place of out[0 .. n / group).
 * scratch holds 2 * group values. */
static size_t condense(const double *x, size_t n, size_t group, double *out, double *scratch)
{
    size_t len = n / group;
    for (size_t g = 0; g < len; g++) {
        size_t from = g * group;
        size_t count = g + 1 == len ? n - from : group;
        memcpy(scratch, x + from, count * sizeof(*x));
        out[g] = bl_median_in_place(scratch, count);
    }
    return len;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Splits x[0 .. n) at bounds[0] = 0 < bounds[1] < ... < bounds[*len] = n. bounds has room for STRETCHES_MAX + 2,
 * scratch for 2 n values. */
static int find_stretches(const double *x, size_t n, const bl_steady_options *options, double *scratch, size_t *bounds,
                          size_t *len, bl_error *err)
{
    size_t group = (n + BL_STEADY_SEARCH_MAX - 1) / BL_STEADY_SEARCH_MAX;
    size_t m = condense(x, n, group, scratch, scratch + n);
    bl_edivisive_options search;
    bl_edivisive_options_init(&search);
    search.min_segment = m / STRETCHES_MAX > MIN_STRETCH ? m / STRETCHES_MAX : MIN_STRETCH;
    search.significance = options->significance;
    search.seed = options->seed;
    size_t n_points = 0;
    int rc = bl_edivisive(scratch, m, &search, bounds + 1, STRETCHES_MAX, &n_points, err);
    if (rc != BL_OK)
        return rc;
    qsort(bounds + 1, n_points, sizeof(*bounds), compare_sizes);
    bounds[0] = 0;
    for (size_t i = 1; i <= n_points; i++)
        bounds[i] *= group;
    bounds[n_points + 1] = n;
    *len = n_points + 1;
    return BL_OK;
}

/* The first step of the first stretch at the last one's level, into *first; *share = steps in stretches at it. */
static void find_level(const double *x, const size_t *bounds, size_t len, double tolerance, double *scratch,
                       size_t *first, size_t *share)
{
    double last = 0;
    *share = 0;
    for (size_t i = len; i-- > 0;) {
        size_t count = bounds[i + 1] - bounds[i];
        memcpy(scratch, x + bounds[i], count * sizeof(*x));
        double median = bl_median_in_place(scratch, count);
        if (i + 1 == len)
            last = median;
        if (fabs(median - last) <= tolerance) {
            *first = bounds[i];
            *share += count;
        }
    }
}

static void sum_from(const double *dt_s, const double *samples, size_t from, size_t n, double *seconds, double *count)
{
    *seconds = 0;
    *count = 0;
    for (size_t i = from; i < n; i++) {
        *seconds += dt_s[i];
        *count += samples[i];
    }
}

/* Searches the steps behind the fixed cut; sets quality and first_steady. scratch: 3 n values. */
static int search_warm_up(const double *dt_s, const double *samples, size_t n, const bl_steady_options *options,
                          double *scratch, bl_steady *out, bl_error *err)
{
    size_t cut = out->first_steady;
    size_t rest = n - cut;
    double *rate = scratch;
    for (size_t i = 0; i < rest; i++)
        rate[i] = log(dt_s[cut + i] / samples[cut + i]);
    size_t bounds[STRETCHES_MAX + 2];
    size_t len = 0;
    int rc = find_stretches(rate, rest, options, scratch + rest, bounds, &len, err);
    if (rc != BL_OK)
        return rc;
    size_t first = 0;
    size_t share = 0;
    find_level(rate, bounds, len, options->tolerance, scratch + rest, &first, &share);
    out->quality = share * STEADY_SHARE >= rest ? BL_STEADY_OK : BL_STEADY_UNSTEADY;
    out->first_steady = cut + first;
    return BL_OK;
}

static void write_note(bl_steady *out, size_t cut)
{
    const char *plural = out->n_steps == 1 ? "" : "s";
    if (out->quality == BL_STEADY_UNSTEADY)
        snprintf(out->note, sizeof(out->note), "no steady stretch in %zu step%s", out->n_steps, plural);
    else if (out->quality == BL_STEADY_SHORT && cut == 0)
        snprintf(out->note, sizeof(out->note), "one step only, warm-up included");
    else if (out->quality == BL_STEADY_SHORT)
        snprintf(out->note, sizeof(out->note),
                 "first %zu of %zu step%s dropped, too few to search for the warm-up's end", cut, out->n_steps, plural);
    else
        snprintf(out->note, sizeof(out->note), "warm after %zu of %zu step%s", out->first_steady, out->n_steps, plural);
}

int bl_steady_from_steps(const double *dt_s, const double *samples, size_t n, const bl_steady_options *options,
                         bl_steady *out, bl_error *err)
{
    *out = (bl_steady){.quality = BL_STEADY_NONE,
                       .seconds_per_sample = NAN,
                       .overall_seconds_per_sample = NAN,
                       .step_seconds = NAN,
                       .n_steps = n,
                       .first_steady = n};
    bl_steady_options defaults;
    bl_steady_options_init(&defaults);
    if (options == NULL)
        options = &defaults;
    if (n == 0) {
        snprintf(out->note, sizeof(out->note), "no steps");
        return BL_OK;
    }
    int rc = check_steps(dt_s, samples, n, err);
    if (rc != BL_OK)
        return rc;
    double *scratch = bl_calloc(n, 3 * sizeof(*scratch));
    if (scratch == NULL)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu steps", n);
    size_t cut = options->drop_first < n / 2 ? options->drop_first : n / 2;
    out->first_steady = cut;
    out->quality = BL_STEADY_SHORT;
    if (n - cut >= BL_STEADY_SEARCH_MIN)
        rc = search_warm_up(dt_s, samples, n, options, scratch, out, err);
    if (rc == BL_OK) {
        write_note(out, cut);
        sum_from(dt_s, samples, cut, n, &out->seconds, &out->samples);
        out->overall_seconds_per_sample = out->seconds / out->samples;
        if (out->quality == BL_STEADY_UNSTEADY) {
            out->first_steady = n;
            out->seconds = 0;
            out->samples = 0;
        } else {
            sum_from(dt_s, samples, out->first_steady, n, &out->seconds, &out->samples);
            out->seconds_per_sample = out->seconds / out->samples;
        }
        out->n_steady = n - out->first_steady;
        memcpy(scratch, dt_s + out->first_steady, out->n_steady * sizeof(*dt_s));
        out->step_seconds = bl_median_in_place(scratch, out->n_steady);
    }
    free(scratch);
    return rc;
}
