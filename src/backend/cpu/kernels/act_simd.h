/* Activation functions on vectors. `act` is a constant where these are inlined, so that the switch costs nothing.
 * Of use inside this folder. */
#ifndef BL_BACKEND_CPU_KERNELS_ACT_SIMD_H
#define BL_BACKEND_CPU_KERNELS_ACT_SIMD_H

#include "backend/cpu/kernels/exp_simd.h"
#include "backend/cpu/kernels/simd.h"
#include "graph/act.h"

#define BL_INLINE static inline __attribute__((always_inline))

/* The rarer ones, lane by lane. */
static inline vfloat act_by_lane(bl_act act, vfloat x, double (*function)(bl_act, double))
{
    float lanes[BL_V];
    v_store(lanes, x);
    for (int i = 0; i < BL_V; i++)
        lanes[i] = (float)function(act, (double)lanes[i]);
    return v_load(lanes);
}

BL_INLINE vfloat act_value(bl_act act, vfloat x)
{
    vfloat zero = v_set(0), six = v_set(6), three = v_set(3), sixth = v_set(1.0f / 6);
    switch (act) {
    case BL_ACT_NONE:
        return x;
    case BL_ACT_RELU:
        return v_max(zero, x); /* in this order NaN stays NaN */
    case BL_ACT_RELU6:
        return v_min(six, v_max(zero, x));
    case BL_ACT_HARDSWISH:
        return v_mul(x, v_mul(v_min(v_max(v_add(x, three), zero), six), sixth));
    case BL_ACT_HARDSIGMOID:
        return v_mul(v_min(v_max(v_add(x, three), zero), six), sixth);
    case BL_ACT_SIGMOID:
        return v_sigmoid(x);
    case BL_ACT_SILU:
        return v_mul(x, v_sigmoid(x));
    case BL_ACT_GELU: {
        vfloat bell;
        return v_mul(x, v_normal(x, &bell));
    }
    case BL_ACT_LEAKY:
        return v_max(v_mul(x, v_set(0.1f)), x);
    default:
        return act_by_lane(act, x, bl_act_value);
    }
}

/* g * act'(x) */
BL_INLINE vfloat act_chain(bl_act act, vfloat x, vfloat g)
{
    vfloat zero = v_set(0), three = v_set(3), minus_three = v_set(-3);
    switch (act) {
    case BL_ACT_NONE:
        return g;
    case BL_ACT_RELU:
        return v_if_gt(x, zero, g);
    case BL_ACT_RELU6:
        return v_if_gt(v_set(6), x, v_if_gt(x, zero, g));
    case BL_ACT_HARDSWISH: {
        /* x / 3 + 1/2 within +-3, 1 above, 0 below (at -3 it is -1/2, as in PyTorch) */
        vfloat slope = v_fma(x, v_set(1.0f / 3), v_set(0.5f));
        vfloat above = v_if_gt(x, three, v_sub(v_set(1), slope));
        vfloat below = v_if_gt(minus_three, x, slope);
        return v_mul(g, v_sub(v_add(slope, above), below));
    }
    case BL_ACT_HARDSIGMOID:
        return v_if_gt(three, x, v_if_gt(x, minus_three, v_mul(g, v_set(1.0f / 6))));
    case BL_ACT_SIGMOID: {
        vfloat s = v_sigmoid(x);
        return v_mul(g, v_mul(s, v_sub(v_set(1), s)));
    }
    case BL_ACT_SILU: {
        vfloat s = v_sigmoid(x); /* s (1 + x (1 - s)) */
        return v_mul(g, v_mul(s, v_fma(x, v_sub(v_set(1), s), v_set(1))));
    }
    case BL_ACT_GELU: {
        vfloat bell, phi = v_normal(x, &bell); /* Phi(x) + x times the density */
        return v_mul(g, v_fma(v_mul(x, v_set(0.39894228f)), bell, phi));
    }
    case BL_ACT_LEAKY: {
        vfloat tenth = v_mul(g, v_set(0.1f)); /* at 0 too, as in PyTorch */
        return v_add(v_if_gt(x, zero, g), v_sub(tenth, v_if_gt(x, zero, tenth)));
    }
    default:
        return v_mul(g, act_by_lane(act, x, bl_act_slope));
    }
}

/* Calls CALL with ACT a constant for the common ones: inlined, each becomes a loop of its own. */
#define BL_WITH_ACT(act, ACT, CALL)                                                                                    \
    do {                                                                                                               \
        const bl_act wanted_act = (act);                                                                               \
        if (wanted_act == BL_ACT_NONE) {                                                                               \
            const bl_act ACT = BL_ACT_NONE;                                                                            \
            CALL;                                                                                                      \
        } else if (wanted_act == BL_ACT_RELU) {                                                                        \
            const bl_act ACT = BL_ACT_RELU;                                                                            \
            CALL;                                                                                                      \
        } else if (wanted_act == BL_ACT_HARDSWISH) {                                                                   \
            const bl_act ACT = BL_ACT_HARDSWISH;                                                                       \
            CALL;                                                                                                      \
        } else if (wanted_act == BL_ACT_SILU) {                                                                        \
            const bl_act ACT = BL_ACT_SILU;                                                                            \
            CALL;                                                                                                      \
        } else if (wanted_act == BL_ACT_LEAKY) {                                                                       \
            const bl_act ACT = BL_ACT_LEAKY;                                                                           \
            CALL;                                                                                                      \
        } else {                                                                                                       \
            const bl_act ACT = wanted_act;                                                                             \
            CALL;                                                                                                      \
        }                                                                                                              \
    } while (0)

#endif
