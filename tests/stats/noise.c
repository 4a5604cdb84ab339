#include "noise.h"

#include <math.h>

const char *const scenario_names[N_SCENARIOS] = {"iid",          "2 % drift",    "1 % step",    "AR(1) 0.8",
                                                 "5 % outliers", "t(2.5) tails", "3 % warm-up", "drift+AR+outliers"};

/* Student's t with 2.5 degrees of freedom from normals: z / sqrt(chi2 / df), with the chi-square of 2.5 degrees
 * made of two normals and a gamma(1/4) variate (Marsaglia & Tsang 2000, with the boost for shapes below 1). */
static double gamma_quarter(bl_rng *rng)
{
    double const shape = 1.25, d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = bl_rng_normal(rng), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = 1 - bl_rng_uniform(rng);
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * pow(1 - bl_rng_uniform(rng), 1 / 0.25);
    }
}

static double heavy_tailed(bl_rng *rng)
{
    double a = bl_rng_normal(rng), b = bl_rng_normal(rng);
    double chi2 = a * a + b * b + 2 * gamma_quarter(rng);
    return bl_rng_normal(rng) / sqrt(chi2 / 2.5);
}

void draw_noise(scenario s, bl_rng *rng, size_t n, double *out)
{
    double state = bl_rng_normal(rng);
    for (size_t t = 0; t < n; t++) {
        double at = n > 1 ? (double)t / (double)(n - 1) : 0;
        double own = SIGMA * bl_rng_normal(rng);
        state = 0.8 * state + 0.6 * bl_rng_normal(rng); /* variance 1 */
        double outlier = bl_rng_uniform(rng) < 0.05 ? 0.05 * bl_rng_uniform(rng) : 0;
        switch (s) {
        case IID:
            out[t] = own;
            break;
        case DRIFT:
            out[t] = own + 0.02 * at;
            break;
        case JUMP:
            out[t] = own + (at > 0.5 ? 0.01 : 0);
            break;
        case AR1:
            out[t] = SIGMA * state;
            break;
        case OUTLIERS:
            out[t] = own + outlier;
            break;
        case HEAVY_TAILS:
            out[t] = SIGMA / sqrt(5.0) * heavy_tailed(rng); /* the variance of t(2.5) is 5 */
            break;
        case WARM_UP:
            out[t] = own + 0.03 * exp(-8 * at);
            break;
        default:
            out[t] = SIGMA * state + 0.02 * at + outlier;
            break;
        }
    }
}

void draw_experiment(scenario s, bl_rng *rng, size_t n_cases, size_t n_blocks, const double *effects, double *y)
{
    double noise[NOISE_CASES_MAX * NOISE_BLOCKS_MAX];
    size_t order[NOISE_CASES_MAX];
    draw_noise(s, rng, n_cases * n_blocks, noise);
    for (size_t block = 0; block < n_blocks; block++) {
        for (size_t c = 0; c < n_cases; c++)
            order[c] = c;
        bl_rng_shuffle_sizes(rng, order, n_cases);
        for (size_t at = 0; at < n_cases; at++)
            y[order[at] * n_blocks + block] = 0.01 * exp(effects[order[at]] + noise[block * n_cases + at]);
    }
}
