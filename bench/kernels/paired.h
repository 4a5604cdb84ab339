/* Two kernels that do the same work, run in turn, so that what disturbs the machine disturbs both: the project's own
 * and oneDNN's. */
#ifndef BL_BENCH_KERNELS_PAIRED_H
#define BL_BENCH_KERNELS_PAIRED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PAIRED_MAX_REPEATS 1000

enum { PAIRED_OWN, PAIRED_ONEDNN };
/* The passes of a convolution, as bl_dnnl_conv_kind and bl_k_wino_kind number them. */
enum { PAIRED_FORWARD, PAIRED_GRAD_DATA, PAIRED_GRAD_WEIGHTS, PAIRED_KINDS };
extern const char *const paired_kind_names[PAIRED_KINDS];

typedef struct paired {
    int (*run)(void *rig, int who, bl_error *err);
    void *rig;
    const float *out[2]; /* what each gives, out_count floats */
    size_t out_count;
} paired;

/* count random floats in [-scale, scale) at a multiple of 64; ends the program where there is no memory. */
float *paired_floats(size_t count, float scale);
/* At most `repeats` rounds after one that only warms up, fewer of slow work. Prints both medians with quartiles in ms,
 * and GFLOP/s of `flop`. Fails where the two results differ by more than 1e-4 of the largest: a benchmark of wrong
 * results is none. */
int paired_measure(const paired *pair, int64_t repeats, double flop, const char *implementation, double median_ms[2],
                   bl_error *err);

#endif
