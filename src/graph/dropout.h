/* Which elements a dropout keeps: a pure function, so that the backward pass and every backend agree. */
#ifndef BL_GRAPH_DROPOUT_H
#define BL_GRAPH_DROPOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): counter -> out. */
void bl_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* Element i of the plain (N, C, H, W) tensor, in row-major order: word i % 4 of the block of counter
 * (i / 4, step, stream); kept with probability 1 - p. */
bool bl_dropout_keeps(float p, uint64_t seed, uint64_t step, uint32_t stream, uint64_t element);
/* A word at or above this is kept. */
uint32_t bl_dropout_threshold(float p);

#endif
