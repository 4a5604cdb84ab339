#include "backend/cpu/kernels/bfloat16.h"

#include <string.h>

enum { PIECE = 4096 };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The upper half of the rounded number. Adding just under half of the last place that stays, and one more where that
 * place is odd, carries into it exactly where rounding goes up. */
static uint32_t upper_half(uint32_t bits)
{
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16, quiet_nan = bits >> 16 | 0x40;
    return (bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded;
}

void bl_k_bfloat16(size_t n, const float *x, uint16_t *y)
{
#pragma omp parallel for schedule(static)
    for (size_t from = 0; from < n; from += PIECE)
        for (size_t i = from; i < n && i < from + PIECE; i++)
            y[i] = (uint16_t)upper_half(bits_of(x[i]));
}

void bl_k_round_to_bfloat16(size_t n, const float *x, float *y)
{
#pragma omp parallel for schedule(static)
    for (size_t from = 0; from < n; from += PIECE)
        for (size_t i = from; i < n && i < from + PIECE; i++) {
            uint32_t bits = upper_half(bits_of(x[i])) << 16;
            memcpy(&y[i], &bits, sizeof bits);
        }
}
