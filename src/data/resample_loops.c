/* The inner loops of resampling; compiled once for each instruction set, with BL_RESAMPLE_NAME what the table is called
 * and BL_RESAMPLE_ISA its name for people. */
#include "data/resample.h"

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

/* Four floats, at any address. */
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

static float down_one(const uint8_t *from, size_t stride, const float *weight, int n_taps)
{
    float sum = 0;
    for (int k = 0; k < n_taps; k++)
        sum += weight[k] * (float)from[(size_t)k * stride];
    return sum;
}

#ifdef __AVX2__
static inline __m256 load_bytes(const uint8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

static size_t down_wide(const uint8_t *from, size_t stride, const float *weight, int n_taps, size_t n, float *out)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
        for (int k = 0; k < n_taps; k++) {
            const uint8_t *p = from + (size_t)k * stride + i;
            __m256 w = _mm256_broadcast_ss(weight + k);
            a = _mm256_fmadd_ps(w, load_bytes(p), a);
            b = _mm256_fmadd_ps(w, load_bytes(p + 8), b);
            c = _mm256_fmadd_ps(w, load_bytes(p + 16), c);
            d = _mm256_fmadd_ps(w, load_bytes(p + 24), d);
        }
        _mm256_storeu_ps(out + i, a);
        _mm256_storeu_ps(out + i + 8, b);
        _mm256_storeu_ps(out + i + 16, c);
        _mm256_storeu_ps(out + i + 24, d);
    }
    return i;
}
#else
static size_t down_wide(const uint8_t *from, size_t stride, const float *weight, int n_taps, size_t n, float *out)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        float sum[16] = {0};
        for (int k = 0; k < n_taps; k++) {
            const uint8_t *p = from + (size_t)k * stride + i;
            for (int j = 0; j < 16; j++)
                sum[j] += weight[k] * (float)p[j];
        }
        for (int j = 0; j < 16; j++)
            out[i + (size_t)j] = sum[j];
    }
    return i;
}
#endif

static void down(const uint8_t *from, size_t stride, const float *weight, int n_taps, size_t n, float *out)
{
    for (size_t i = down_wide(from, stride, weight, n_taps, n, out); i < n; i++)
        out[i] = down_one(from + i, stride, weight, n_taps);
}

/* Red, green and blue of `n` output pixels; the fourth is what follows. Taps beyond a pixel's own weigh nothing: a
 * number of them that never changes costs less than one that cannot be foretold. */
static inline __attribute__((always_inline)) void some_pixels(const float *row, const bl_axis *a, int i, int n,
                                                              int n_taps, quad *sum)
{
    const float *weight = a->weight + (size_t)i * (size_t)a->n, *from[4];
    for (int j = 0; j < n; j++) {
        from[j] = row + 3 * (size_t)(a->first[i + j] - a->begin);
        sum[j] = (quad){0, 0, 0, 0};
    }
    for (int k = 0; k < n_taps; k++)
        for (int j = 0; j < n; j++) {
            float w = weight[(size_t)j * (size_t)a->n + (size_t)k];
            sum[j] += (quad){w, w, w, w} * *(const quad *)(from[j] + 3 * k);
        }
}

static inline void four_pixels(const float *row, const bl_axis *a, int i, quad *sum)
{
    switch (a->taps) {
    case 2:
        some_pixels(row, a, i, 4, 2, sum);
        break;
    case 3:
        some_pixels(row, a, i, 4, 3, sum);
        break;
    case 4:
        some_pixels(row, a, i, 4, 4, sum);
        break;
    case 5:
        some_pixels(row, a, i, 4, 5, sum);
        break;
    default:
        some_pixels(row, a, i, 4, a->taps, sum);
    }
}

/* Where output pixel i is written. */
static inline size_t place(const bl_axis *a, const bl_planes *out, int i)
{
    int x = a->from + i;
    return (size_t)(out->mirror ? out->mirror - 1 - x : x);
}

/* Four pixels of one plane; of a mirrored line they lie the other way round. */
static inline void put_quad(float *at, quad v, int mirrored)
{
    quad turned = {v[3], v[2], v[1], v[0]};
    *(quad *)at = mirrored ? turned : v;
}

/* From four pixels to the channels of four. */
static inline void transpose(const quad p[4], quad out[3])
{
#ifdef __SSE2__
    __m128 a = (__m128)p[0], b = (__m128)p[1], c = (__m128)p[2], d = (__m128)p[3];
    _MM_TRANSPOSE4_PS(a, b, c, d);
    out[0] = (quad)a;
    out[1] = (quad)b;
    out[2] = (quad)c;
#else
    for (int c = 0; c < 3; c++)
        out[c] = (quad){p[0][c], p[1][c], p[2][c], p[3][c]};
#endif
}

static void across(const float *row, const bl_axis *a, const bl_planes *out, float *line)
{
    int i = 0;
    for (; i + 4 <= a->len; i += 4) {
        quad p[4], v[3];
        four_pixels(row, a, i, p);
        transpose(p, v);
        size_t x = place(a, out, out->mirror ? i + 3 : i);
        for (int c = 0; c < 3; c++)
            put_quad(line + (size_t)c * out->plane + x, v[c] * out->scale[c] + out->bias[c], out->mirror);
    }
    for (; i < a->len; i++) {
        quad p;
        some_pixels(row, a, i, 1, a->taps, &p);
        for (int c = 0; c < 3; c++)
            line[(size_t)c * out->plane + place(a, out, i)] = p[c] * out->scale[c] + out->bias[c];
    }
}

/* Two taps are the rule. */
static void blend_two(const float *restrict a, const float *restrict b, float wa, float wb, size_t n, float bias,
                      float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = wa * a[i] + (wb * b[i] + bias);
}

static void blend(const float *const *rows, const float *weight, int n_taps, size_t n, float scale, float bias,
                  float *out)
{
    float first = weight[0] * scale, second = n_taps > 1 ? weight[1] * scale : 0;
    blend_two(rows[0], rows[n_taps > 1 ? 1 : 0], first, second, n, bias, out);
    for (int k = 2; k < n_taps; k++)
        for (size_t i = 0; i < n; i++)
            out[i] += weight[k] * scale * rows[k][i];
}

const bl_resample_loops BL_RESAMPLE_NAME = {.name = BL_RESAMPLE_ISA, .down = down, .across = across, .blend = blend};
