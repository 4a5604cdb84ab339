/* Sums over long arrays of floats, the same for every number of threads. */
#ifndef BL_OPTIM_SUMS_H
#define BL_OPTIM_SUMS_H

#include <stdbool.h>
#include <stddef.h>

/* sum = weight * g, or sum += weight * g. */
void bl_update_sum(size_t count, bool fresh, float weight, const float *g, float *sum);
/* The sum of squares, in doubles. `partial` has bl_update_partials(count) elements of room. */
size_t bl_update_partials(size_t count);
double bl_update_squares(size_t count, const float *g, double *partial);
/* The sum of scale * g^2. */
double bl_update_scaled_squares(size_t count, const float *g, const float *scale, double *partial);

#endif
