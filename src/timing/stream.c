#include "timing/stream.h"

#include <omp.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "timing/samples.h"

int bl_stream_make(size_t numbers, int threads, bl_stream *out, bl_error *err)
{
    *out = (bl_stream){.n = numbers};
    out->a = bl_aligned_alloc(64, numbers * sizeof(float));
    out->b = bl_aligned_alloc(64, numbers * sizeof(float));
    out->c = bl_aligned_alloc(64, numbers * sizeof(float));
    if (!out->a || !out->b || !out->c)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for three arrays of %zu MiB", numbers * sizeof(float) >> 20);
    omp_set_num_threads(threads);
    bl_samples_fill(out->a, numbers);
    bl_samples_fill(out->b, numbers);
    bl_samples_fill(out->c, numbers);
    return BL_OK;
}

int bl_stream_run(void *stream, bl_error *err)
{
    const bl_stream *s = stream;
    float *restrict a = s->a;
    const float *restrict b = s->b, *restrict c = s->c;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < s->n; i++)
        a[i] = b[i] + 0.5f * c[i];
    return BL_OK;
}

void bl_stream_clear(bl_stream *s)
{
    free(s->a);
    free(s->b);
    free(s->c);
    *s = (bl_stream){0};
}
