#include "base/gradient_noise.h"

#include <math.h>
#include <stdbool.h>

int bl_noise_parts_of(const bl_gradient_norms *norms, bl_noise_parts *out, bl_error *err)
{
    *out = (bl_noise_parts){NAN, NAN};
    double b = norms->small_n, big = norms->big_n;
    if (!(b > 0 && b < big && isfinite(big)))
        return BL_FAIL(err, BL_ERR_USAGE, "the small gradient is of %g samples, the big one of %g", b, big);
    bool possible = norms->small_sq >= 0 && norms->big_sq >= 0 && isfinite(norms->small_sq) && isfinite(norms->big_sq);
    if (!possible)
        return BL_FAIL(err, BL_ERR_USAGE, "%g and %g are no squared norms", norms->small_sq, norms->big_sq);
    out->signal = (big * norms->big_sq - b * norms->small_sq) / (big - b);
    out->noise = (norms->small_sq - norms->big_sq) / (1 / b - 1 / big);
    return BL_OK;
}

double bl_noise_ratio(const bl_noise_parts *parts, size_t n)
{
    double signal = 0, noise = 0;
    for (size_t i = 0; i < n; i++) {
        signal += parts[i].signal;
        noise += parts[i].noise;
    }
    if (n == 0 || !(noise >= 0))
        return NAN;
    return signal > 0 ? noise / signal : INFINITY;
}
