#include "graph/act.h"

#include <math.h>

#define LEAK 0.1

double bl_act_value(bl_act act, double x)
{
    switch (act) {
    case BL_ACT_RELU:
        return x > 0 ? x : 0;
    case BL_ACT_RELU6:
        return fmin(fmax(x, 0), 6);
    case BL_ACT_HARDSWISH:
        return x * fmin(fmax(x + 3, 0), 6) / 6;
    case BL_ACT_HARDSIGMOID:
        return fmin(fmax(x + 3, 0), 6) / 6;
    case BL_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case BL_ACT_SILU:
        return x / (1 + exp(-x));
    case BL_ACT_GELU:
        return 0.5 * x * (1 + erf(x * M_SQRT1_2));
    case BL_ACT_LEAKY:
        return x < 0 ? LEAK * x : x;
    default:
        return x;
    }
}

double bl_act_slope(bl_act act, double x)
{
    double s;
    switch (act) {
    case BL_ACT_RELU:
        return x > 0;
    case BL_ACT_RELU6:
        return x > 0 && x < 6;
    case BL_ACT_HARDSWISH:
        return x < -3 ? 0 : x <= 3 ? x / 3 + 0.5 : 1;
    case BL_ACT_HARDSIGMOID:
        return x > -3 && x < 3 ? 1.0 / 6 : 0;
    case BL_ACT_SIGMOID:
        s = 1 / (1 + exp(-x));
        return s * (1 - s);
    case BL_ACT_SILU:
        s = 1 / (1 + exp(-x));
        return s * (1 + x * (1 - s));
    case BL_ACT_GELU:
        return 0.5 * (1 + erf(x * M_SQRT1_2)) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
    case BL_ACT_LEAKY:
        return x > 0 ? 1 : LEAK;
    default:
        return 1;
    }
}
