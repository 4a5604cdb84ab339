/* The CPU backend: oneDNN for convolutions and matrix products, the project's kernels for the rest. */
#ifndef BL_BACKEND_CPU_CPU_H
#define BL_BACKEND_CPU_CPU_H

#include "graph/backend.h"

extern const bl_backend bl_backend_cpu;

/* "oneDNN 2.6.3, avx512, nChw16c": for run headers. Static storage. */
const char *bl_cpu_describe(void);
/* Processors that this process may use, at least 1: how many threads an executor has where its options do not say. */
int bl_cpu_allowed_threads(void);

#endif
