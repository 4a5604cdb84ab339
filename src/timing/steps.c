#include "timing/steps.h"

#include <math.h>

#include "base/clock.h"

#define STEP_S 0.02 /* far above a clock's or a marker's cost */

/* Runs a step, by the fastest of a few. */
static int calibrate(const bl_work *work, const volatile sig_atomic_t *stop, int64_t *runs, bl_error *err)
{
    double best_s = INFINITY;
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < 3 && !*stop; i++) {
        int64_t start_ns = bl_clock_ns();
        code = work->run(work->context, err);
        best_s = fmin(best_s, (double)(bl_clock_ns() - start_ns) / BL_NS_PER_S);
    }
    *runs = best_s < STEP_S ? (int64_t)ceil(STEP_S / fmax(best_s, 1e-7)) : 1;
    return code;
}

int bl_steps_run(const bl_work *work, int64_t steps, const volatile sig_atomic_t *stop, batchlab_marker *marker,
                 bl_rates *out, bl_error *err)
{
    int64_t best_ns = INT64_MAX, total_ns = 0;
    *out = (bl_rates){0};
    int code = calibrate(work, stop, &out->runs_a_step, err);
    batchlab_marker_ready(marker);
    for (; code == BL_OK && out->steps < steps && !*stop; out->steps++) {
        int64_t start_ns = bl_clock_ns();
        for (int64_t i = 0; code == BL_OK && i < out->runs_a_step; i++)
            code = work->run(work->context, err);
        int64_t took_ns = bl_clock_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        total_ns += took_ns;
        batchlab_marker_step(marker, work->samples * out->runs_a_step, NAN, -1);
    }
    if (out->steps > 0) {
        out->mean = work->amount * (double)(out->runs_a_step * out->steps) / (double)total_ns;
        out->best = work->amount * (double)out->runs_a_step / (double)best_ns;
    }
    return code;
}
