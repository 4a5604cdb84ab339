/* Random numbers in [-1, 1) for what is timed: zeros would be multiplied at a lower power, and on some processors
 * faster. The same each time, whatever the number of threads. */
#ifndef BL_TIMING_SAMPLES_H
#define BL_TIMING_SAMPLES_H

#include <stddef.h>

void bl_samples_fill(float *at, size_t n);

#endif
