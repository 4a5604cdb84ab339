#include "stats/noise_scale.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/dist.h"

/* Standard error of signal over noise; the sums are those of all. */
static double jackknife_error(const bl_noise_parts *parts, size_t n, double signal, double noise)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        /* Welford's update: the ratios without one measurement are close to each other. */
        double without = (signal - parts[i].signal) / (noise - parts[i].noise);
        double off = without - mean;
        mean += off / (double)(i + 1);
        squares += off * (without - mean);
    }
    return sqrt(squares * (double)(n - 1) / (double)n);
}

static void add_interval(const bl_noise_parts *parts, size_t n, double level, bl_noise_scale *out)
{
    double signal = out->signal * (double)n, noise = out->noise * (double)n;
    double half = bl_t_quantile((1 + level) / 2, (double)(n - 1)) * jackknife_error(parts, n, signal, noise);
    double least = signal / noise - half, most = signal / noise + half;
    out->has_interval = isfinite(half);
    if (!out->has_interval)
        return;
    out->low = most > 0 ? 1 / most : INFINITY;
    out->high = least > 0 ? 1 / least : INFINITY;
}

int bl_noise_scale_of(const bl_gradient_norms *norms, size_t n, double level, bl_noise_scale *out, bl_error *err)
{
    *out = (bl_noise_scale){.scale = NAN, .low = NAN, .high = NAN, .signal = NAN, .noise = NAN, .level = level, .n = n};
    if (n == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "no measurement of gradients' norms was given");
    if (!(level > 0 && level < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a level of %g does not lie between 0 and 1", level);
    bl_noise_parts *parts = bl_calloc(n, sizeof *parts);
    int code = parts ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu measurements", n);
    double signal = 0, noise = 0;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        code = bl_noise_parts_of(&norms[i], &parts[i], err);
        signal += parts[i].signal;
        noise += parts[i].noise;
    }
    if (code == BL_OK) {
        out->signal = signal / (double)n;
        out->noise = noise / (double)n;
        out->scale = bl_noise_ratio(parts, n);
        if (n >= 2 && noise > 0)
            add_interval(parts, n, level, out);
    }
    free(parts);
    return code;
}
