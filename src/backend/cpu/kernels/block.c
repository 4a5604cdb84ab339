#include "backend/cpu/kernels/block.h"

#include <math.h>

void bl_k_take_channels(const float *v, int c, int block, int cb, float *out)
{
    int channels = bl_k_channels_in(c, block, cb);
    for (int i = 0; i < block; i++)
        out[i] = v && i < channels ? v[cb * block + i] : 0;
}

void bl_k_make_affine(const bl_k_norm *norm, int c, int block, int cb, bl_k_affine *out)
{
    int channels = bl_k_channels_in(c, block, cb);
    out->act = norm->act;
    for (int i = 0; i < block; i++) {
        int at = cb * block + i;
        if (i >= channels) {
            out->scale[i] = out->shift[i] = 0;
            continue;
        }
        /* In doubles: a large mean would cost the shift its digits. */
        double scale = (norm->gamma ? (double)norm->gamma[at] : 1) / sqrt((double)norm->var[at] + (double)norm->eps);
        out->scale[i] = (float)scale;
        out->shift[i] = (float)((norm->beta ? (double)norm->beta[at] : 0) - (double)norm->mean[at] * scale);
    }
}

bool bl_k_act_keeps_zero(bl_act act)
{
    return act != BL_ACT_HARDSIGMOID && act != BL_ACT_SIGMOID;
}

void bl_k_clear_padding(float *tile, size_t pixels, int block, int channels)
{
    for (size_t p = 0; channels < block && p < pixels; p++)
        for (int i = channels; i < block; i++)
            tile[p * (size_t)block + (size_t)i] = 0;
}
