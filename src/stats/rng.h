/* The project's random numbers: xoshiro256** (Blackman & Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 47:4, 2021), its state filled by splitmix64. The same seed gives the same numbers on
 * every machine; nothing here is fit for cryptography. */
#ifndef BL_STATS_RNG_H
#define BL_STATS_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct bl_rng {
    uint64_t s[4];
} bl_rng;

/* One step of splitmix64: advances *state and returns 64 mixed bits. */
uint64_t bl_rng_splitmix(uint64_t *state);
/* `stream` picks one of 2^64 sequences under one seed: a block's number, say. */
void bl_rng_init(bl_rng *rng, uint64_t seed, uint64_t stream);
uint64_t bl_rng_next(bl_rng *rng);
/* Uniform in [0, bound), without bias (Lemire, "Fast random integer generation in an interval", ACM TOMACS
 * 29:1, 2019); 0 where bound is 0. */
uint64_t bl_rng_below(bl_rng *rng, uint64_t bound);
/* Uniform in [0, 1), 53 bits. */
double bl_rng_uniform(bl_rng *rng);
/* Standard normal (Marsaglia's polar method, one value a call). */
double bl_rng_normal(bl_rng *rng);
/* Fisher-Yates over n values, in place. */
void bl_rng_shuffle_sizes(bl_rng *rng, size_t *values, size_t n);
void bl_rng_shuffle_doubles(bl_rng *rng, double *values, size_t n);

#endif
