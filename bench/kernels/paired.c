#include "paired.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define MIN_REPEATS 3 /* slow layers get no more when they have taken long enough */
#define ENOUGH_NS   (5 * BL_NS_PER_S)

const char *const paired_kind_names[PAIRED_KINDS] = {"forward", "data gradient", "weights gradient"};

float *paired_floats(size_t count, float scale)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (count + 16) * sizeof(float)) != 0) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    float *data = memory;
    uint32_t state = 1;
    for (size_t i = 0; i < count + 16; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = scale * ((float)(state >> 8) / 8388608.0f - 1);
    }
    return data;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest difference between the two results against their largest value. */
static double difference(const paired *pair)
{
    double worst = 0, top = 0;
    for (size_t i = 0; i < pair->out_count; i++) {
        worst = fmax(worst, fabs((double)pair->out[0][i] - (double)pair->out[1][i]));
        top = fmax(top, fabs((double)pair->out[1][i]));
    }
    return worst / top;
}

int paired_measure(const paired *pair, int64_t repeats, double flop, const char *implementation, double median_ms[2],
                   bl_error *err)
{
    static double ms[2][PAIRED_MAX_REPEATS];
    int64_t begin_ns = bl_clock_ns(), n_rounds = 0;
    int code = BL_OK;
    for (int64_t i = -1; code == BL_OK && i < repeats; i++) { /* the first round only warms up */
        if (i >= MIN_REPEATS && bl_clock_ns() - begin_ns > ENOUGH_NS)
            break;
        for (int who = 0; code == BL_OK && who < 2; who++) {
            int64_t start_ns = bl_clock_ns();
            code = pair->run(pair->rig, who, err);
            if (i >= 0)
                ms[who][i] = (double)(bl_clock_ns() - start_ns) / 1e6;
        }
        n_rounds = i + 1;
    }
    if (code == BL_OK && !(difference(pair) < 1e-4))
        code = BL_FAIL(err, BL_ERR_INTERNAL, "the two results differ by %g", difference(pair));
    if (code != BL_OK)
        return code;
    size_t n = (size_t)n_rounds;
    for (int who = 0; who < 2; who++) {
        qsort(ms[who], n, sizeof *ms[who], by_size);
        median_ms[who] = (ms[who][n / 2] + ms[who][(n - 1) / 2]) / 2;
        printf("  %8.3f [%.3f, %.3f] %6.1f", median_ms[who], ms[who][n / 4], ms[who][n - 1 - n / 4],
               flop / median_ms[who] / 1e6);
    }
    printf("  %6.2fx  %s\n", median_ms[PAIRED_ONEDNN] / median_ms[PAIRED_OWN], implementation);
    fflush(stdout);
    return BL_OK;
}
