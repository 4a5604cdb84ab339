/* Something that runs over and over in steps of 20 ms, each marked for the lab. */
#ifndef BL_TIMING_STEPS_H
#define BL_TIMING_STEPS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "batchlab_marker.h"

typedef struct bl_work {
    void *context;
    int (*run)(void *context, bl_error *err); /* once */
    int64_t samples;                          /* of one run, for the markers */
    double amount;                            /* of one run, what rates are made of: operations, bytes */
} bl_work;

typedef struct bl_rates {
    int64_t steps, runs_a_step;
    double mean, best; /* amounts a nanosecond: 10^9 a second; over all steps, and of the fastest */
} bl_rates;

/* A step is as many runs as fill it, one at least. Ends early, well, where *stop is set. */
int bl_steps_run(const bl_work *work, int64_t steps, const volatile sig_atomic_t *stop, batchlab_marker *marker,
                 bl_rates *out, bl_error *err);

#endif
