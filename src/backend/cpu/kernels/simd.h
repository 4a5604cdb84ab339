/* A vector of floats as wide as the instruction set of the translation unit: BL_V floats, operations named v_*. Of use
 * inside this folder; each unit is compiled for one instruction set. */
#ifndef BL_BACKEND_CPU_KERNELS_SIMD_H
#define BL_BACKEND_CPU_KERNELS_SIMD_H

#include <math.h>
#include <stddef.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define BL_V 16
typedef __m512 vfloat;
static inline vfloat v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void v_store(float *p, vfloat a)
{
    _mm512_storeu_ps(p, a);
}
static inline vfloat v_set(float a)
{
    return _mm512_set1_ps(a);
}
static inline vfloat v_add(vfloat a, vfloat b)
{
    return _mm512_add_ps(a, b);
}
static inline vfloat v_sub(vfloat a, vfloat b)
{
    return _mm512_sub_ps(a, b);
}
static inline vfloat v_mul(vfloat a, vfloat b)
{
    return _mm512_mul_ps(a, b);
}
static inline vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vfloat v_max(vfloat a, vfloat b)
{
    return _mm512_max_ps(a, b);
}
static inline vfloat v_min(vfloat a, vfloat b)
{
    return _mm512_min_ps(a, b);
}
static inline vfloat v_div(vfloat a, vfloat b)
{
    return _mm512_div_ps(a, b);
}
static inline vfloat v_round(vfloat a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT);
}
/* a * 2^n; n is whole, in [-126, 127] */
static inline vfloat v_ldexp(vfloat a, vfloat n)
{
    return _mm512_scalef_ps(a, n);
}
/* a > b ? c : 0 */
static inline vfloat v_if_gt(vfloat a, vfloat b, vfloat c)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), c);
}
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define BL_V 8
typedef __m256 vfloat;
static inline vfloat v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void v_store(float *p, vfloat a)
{
    _mm256_storeu_ps(p, a);
}
static inline vfloat v_set(float a)
{
    return _mm256_set1_ps(a);
}
static inline vfloat v_add(vfloat a, vfloat b)
{
    return _mm256_add_ps(a, b);
}
static inline vfloat v_sub(vfloat a, vfloat b)
{
    return _mm256_sub_ps(a, b);
}
static inline vfloat v_mul(vfloat a, vfloat b)
{
    return _mm256_mul_ps(a, b);
}
static inline vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline vfloat v_max(vfloat a, vfloat b)
{
    return _mm256_max_ps(a, b);
}
static inline vfloat v_min(vfloat a, vfloat b)
{
    return _mm256_min_ps(a, b);
}
static inline vfloat v_div(vfloat a, vfloat b)
{
    return _mm256_div_ps(a, b);
}
static inline vfloat v_round(vfloat a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vfloat v_ldexp(vfloat a, vfloat n)
{
    __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
static inline vfloat v_if_gt(vfloat a, vfloat b, vfloat c)
{
    return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ), c);
}
#else
/* Plain C; compilers make of it what their machine has. */
#define BL_V 4
typedef struct vfloat {
    float f[BL_V];
} vfloat;
#define BL_V_EACH(expression)                                                                                          \
    vfloat r;                                                                                                          \
    for (int i = 0; i < BL_V; i++)                                                                                     \
        r.f[i] = (expression);                                                                                         \
    return r
static inline vfloat v_load(const float *p)
{
    BL_V_EACH(p[i]);
}
static inline void v_store(float *p, vfloat a)
{
    for (int i = 0; i < BL_V; i++)
        p[i] = a.f[i];
}
static inline vfloat v_set(float a)
{
    BL_V_EACH(a);
}
static inline vfloat v_add(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] + b.f[i]);
}
static inline vfloat v_sub(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] - b.f[i]);
}
static inline vfloat v_mul(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] * b.f[i]);
}
static inline vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
    BL_V_EACH(a.f[i] * b.f[i] + c.f[i]);
}
static inline vfloat v_div(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] / b.f[i]);
}
static inline vfloat v_round(vfloat a)
{
    BL_V_EACH(rintf(a.f[i]));
}
static inline vfloat v_ldexp(vfloat a, vfloat n)
{
    BL_V_EACH(ldexpf(a.f[i], (int)n.f[i]));
}
static inline vfloat v_max(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] > b.f[i] ? a.f[i] : b.f[i]);
}
static inline vfloat v_min(vfloat a, vfloat b)
{
    BL_V_EACH(a.f[i] < b.f[i] ? a.f[i] : b.f[i]);
}
static inline vfloat v_if_gt(vfloat a, vfloat b, vfloat c)
{
    BL_V_EACH(a.f[i] > b.f[i] ? c.f[i] : 0);
}
#endif

#endif
