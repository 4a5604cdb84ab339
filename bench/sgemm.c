/* Prints the GFLOP/s of oneDNN's product of two float32 matrices of 2048 x 2048, the best of ten: with
 * bench/pytorch_sgemm.py, the peak that bench/compare's shares are of. usage: sgemm THREADS */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_adapter.h"
#include "base/alloc.h"
#include "base/clock.h"

enum { SIZE = 2048, TIMES = 10 };

int main(int argc, char **argv)
{
    size_t count = (size_t)SIZE * SIZE;
    float *a = bl_calloc(count, sizeof *a), *b = bl_calloc(count, sizeof *b), *c = bl_calloc(count, sizeof *c);
    int threads = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    bl_error err = {0};
    double best_ns = 0;
    int code = a && b && c && threads > 0 ? BL_OK : BL_FAIL(&err, BL_ERR_USAGE, "usage: sgemm THREADS");
    for (size_t i = 0; code == BL_OK && i < count; i++) {
        a[i] = (float)(i * 2654435761u % 1000) / 1000 - 0.5f;
        b[i] = (float)(i * 40503u % 1000) / 1000 - 0.5f;
    }
    if (code == BL_OK)
        omp_set_num_threads(threads);
    for (int i = 0; code == BL_OK && i < TIMES; i++) {
        int64_t start = bl_clock_ns();
        code = bl_dnnl_gemm(false, false, SIZE, SIZE, SIZE, a, b, c, &err);
        double took_ns = (double)(bl_clock_ns() - start);
        best_ns = i == 0 || took_ns < best_ns ? took_ns : best_ns;
    }
    if (code == BL_OK)
        printf("%.2f\n", 2.0 * (double)count * SIZE / best_ns);
    else
        fprintf(stderr, "%s\n", err.message);
    free(a);
    free(b);
    free(c);
    return code == BL_OK ? 0 : 2;
}
