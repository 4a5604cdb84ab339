/* Rounding float32 to bfloat16, which is float32's upper half: to nearest, ties to even, as IEEE 754 rounds and as the
 * processors' own conversions do. Infinities stay, NaNs stay NaNs, what lies beyond the largest bfloat16 by half of its
 * last place or more becomes infinite. Subnormal numbers are rounded like the others. */
#ifndef BL_BACKEND_CPU_KERNELS_BFLOAT16_H
#define BL_BACKEND_CPU_KERNELS_BFLOAT16_H

#include <stddef.h>
#include <stdint.h>

void bl_k_bfloat16(size_t n, const float *x, uint16_t *y);
/* The rounded numbers as floats. y may be x. */
void bl_k_round_to_bfloat16(size_t n, const float *x, float *y);

#endif
