/* The exponential and the normal distribution on vectors. Of use inside this folder. */
#ifndef BL_BACKEND_CPU_KERNELS_EXP_SIMD_H
#define BL_BACKEND_CPU_KERNELS_EXP_SIMD_H

#include "backend/cpu/kernels/simd.h"

/* e^x to about 2 units in the last place, for x in [-87, 88], else of the nearer end: x = n ln 2 + r, and the
 * polynomial of e^r is the one of the Cephes library (Moshier, expf). NaN stays NaN: v_max and v_min give their second
 * argument then. */
static inline vfloat v_exp(vfloat x)
{
    x = v_min(v_set(88.0f), v_max(v_set(-87.0f), x));
    vfloat n = v_round(v_mul(x, v_set(1.44269504088896341f)));
    vfloat r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vfloat p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    return v_ldexp(v_add(v_fma(p, v_mul(r, r), r), v_set(1)), n);
}

/* 1 / (1 + e^-x) */
static inline vfloat v_sigmoid(vfloat x)
{
    return v_div(v_set(1), v_add(v_set(1), v_exp(v_sub(v_set(0), x))));
}

/* Phi(x), and e^(-x^2 / 2), which the density wants: Abramowitz and Stegun, 7.1.26, off by 8e-8 at most. */
static inline vfloat v_normal(vfloat x, vfloat *bell)
{
    vfloat size = v_max(v_sub(v_set(0), x), x);
    vfloat t = v_div(v_set(1), v_fma(size, v_set(0.3275911f * 0.70710678f), v_set(1)));
    vfloat p = v_set(1.061405429f);
    p = v_fma(p, t, v_set(-1.453152027f));
    p = v_fma(p, t, v_set(1.421413741f));
    p = v_fma(p, t, v_set(-0.284496736f));
    p = v_fma(p, t, v_set(0.254829592f));
    *bell = v_exp(v_mul(v_mul(x, x), v_set(-0.5f)));
    vfloat tail = v_mul(v_mul(v_mul(p, t), *bell), v_set(0.5f)); /* Phi(-|x|) */
    return v_add(tail, v_if_gt(x, v_set(0), v_fma(tail, v_set(-2), v_set(1))));
}

#endif
