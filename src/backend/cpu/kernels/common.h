/* The project's own CPU kernels: what all of them share.
 *
 * Tensors are float32 and "blocked": [n][ceil(c / block)][h][w][block], the channels of the last block past c holding
 * zeros. Kernels rely on those zeros in what they read and write them in what they make. block is a multiple of 4, at
 * most BL_K_BLOCK_MAX: 8 or 16, as oneDNN likes it.
 * Vectors with one number a channel (gamma, mean, bias, ...) and weights are plain: c entries, no padding. What has
 * one number an image and channel (gates, pooled means) is a blocked tensor with h = w = 1.
 *
 * Kernels run on OpenMP threads (omp_get_max_threads()) and cannot fail: sizes are the caller's to check, working
 * memory is the caller's to give (`scratch`, as many bytes as the *_scratch_b function beside it says, at a multiple
 * of 64). Sums are taken in an order that depends on the shapes alone, so a run is bit-identical to the last one,
 * whatever the number of threads. */
#ifndef BL_BACKEND_CPU_KERNELS_COMMON_H
#define BL_BACKEND_CPU_KERNELS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

#define BL_K_BLOCK_MAX 16

typedef struct bl_k_shape {
    int n, c, h, w;
    int block; /* channels a block */
} bl_k_shape;

/* Channels with padding, and floats of storage. */
int bl_k_padded_c(const bl_k_shape *shape);
size_t bl_k_count(const bl_k_shape *shape);

/* A normalisation that is applied where its input is read, so that its result need not be stored:
 * act(gamma * (x - mean) / sqrt(var + eps) + beta). */
typedef struct bl_k_norm {
    const float *gamma, *beta; /* (c); NULL: ones, zeros */
    const float *mean, *var;   /* (c); var is the biased one of a batch, or the running one */
    float eps;
    bl_act act;
} bl_k_norm;

/* Which instructions the kernels use. Chosen once from what the processor has; the environment variable
 * BATCHLAB_KERNELS=portable|avx2|avx512 asks for another one (ignored where the processor lacks it). */
typedef enum bl_k_isa { BL_K_PORTABLE, BL_K_AVX2, BL_K_AVX512, BL_K_N_ISA } bl_k_isa;

bl_k_isa bl_k_active(void);
const char *bl_k_isa_name(bl_k_isa isa);
bool bl_k_isa_available(bl_k_isa isa);
/* For tests and benchmarks: from now on use this one; false, and nothing changes, where it is not available. */
bool bl_k_select(bl_k_isa isa);

#endif
