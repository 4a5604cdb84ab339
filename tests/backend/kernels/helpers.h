/* What the kernel tests share. Every check runs with each instruction set of this machine, on one thread and on two,
 * and all results that a check hands to kt_same_* are folded into a digest: the digests of one instruction set must be
 * equal, so a result that depends on the threads or on what memory held before fails. */
#ifndef BL_TESTS_BACKEND_KERNELS_HELPERS_H
#define BL_TESTS_BACKEND_KERNELS_HELPERS_H

#include "testing.h"

#include "backend/cpu/kernels/common.h"

/* Runs check(argument) as said above. `name` stands in messages. */
void kt_each(const char *name, void (*check)(const void *argument), const void *argument);

/* All memory below is freed by kt_each after each run of a check. */
void *kt_memory(size_t bytes);  /* at a multiple of 64, every byte 0xff: floats are NaN */
float *kt_floats(size_t count); /* the same */
double *kt_doubles(size_t count);
float *kt_random(size_t count, double low, double high, uint64_t seed);

size_t kt_plain_count(const bl_k_shape *shape);
/* Plain (n, c, h, w) to blocked with zeros as padding, by the definition. */
float *kt_blocked(const bl_k_shape *shape, const float *plain);
/* The plain place of element i of a blocked tensor; false where it is padding. */
bool kt_place(const bl_k_shape *shape, size_t i, size_t *plain);
/* A blocked tensor's sum of products with a plain one. */
double kt_dot(const bl_k_shape *shape, const float *blocked, const float *plain);

/* No element may be off by more than `tolerance` times the largest expected magnitude; padding must be zero. */
void kt_same_blocked(const char *what, const bl_k_shape *shape, const float *got, const double *expected,
                     double tolerance);
void kt_same(const char *what, size_t count, const float *got, const double *expected, double tolerance);

/* Central differences of loss(context) over a few of the elements of x against their gradient. x is blocked as
 * `shape`, or plain where shape is NULL (count elements). */
void kt_differences(const char *what, const bl_k_shape *shape, float *x, size_t count, const float *gradient,
                    double step, double tolerance, double (*loss)(void *context), void *context);

#endif
