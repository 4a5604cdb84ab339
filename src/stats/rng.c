#include "stats/rng.h"

#include <math.h>

uint64_t bl_rng_splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void bl_rng_init(bl_rng *rng, uint64_t seed, uint64_t stream)
{
    /* Mixing the stream before adding keeps (seed, stream) and (seed + 1, stream - 1) apart. */
    uint64_t mixed = stream;
    uint64_t state = seed ^ bl_rng_splitmix(&mixed);
    for (int i = 0; i < 4; i++)
        rng->s[i] = bl_rng_splitmix(&state);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t bl_rng_next(bl_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t bl_rng_below(bl_rng *rng, uint64_t bound)
{
    if (bound == 0)
        return 0;
    /* The high half of a 128-bit product is uniform once the few low halves that would favour some values are
     * drawn again. */
    unsigned __int128 product = (unsigned __int128)bl_rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t threshold = -bound % bound;
        while ((uint64_t)product < threshold)
            product = (unsigned __int128)bl_rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

double bl_rng_uniform(bl_rng *rng)
{
    return (double)(bl_rng_next(rng) >> 11) * 0x1p-53;
}

double bl_rng_normal(bl_rng *rng)
{
    for (;;) {
        double u = 2 * bl_rng_uniform(rng) - 1;
        double v = 2 * bl_rng_uniform(rng) - 1;
        double q = u * u + v * v;
        if (q > 0 && q < 1)
            return u * sqrt(-2 * log(q) / q);
    }
}

void bl_rng_shuffle_sizes(bl_rng *rng, size_t *values, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)bl_rng_below(rng, i);
        size_t held = values[i - 1];
        values[i - 1] = values[j];
        values[j] = held;
    }
}

void bl_rng_shuffle_doubles(bl_rng *rng, double *values, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)bl_rng_below(rng, i);
        double held = values[i - 1];
        values[i - 1] = values[j];
        values[j] = held;
    }
}
