/* Several processes that train one network together: each is a rank with batches of its own, and sums go over all.
 * MPI carries them where the program was built with it and started by its launcher; else there is one rank, and all
 * sums are what they were. */
#ifndef BL_DIST_DIST_H
#define BL_DIST_DIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct bl_dist bl_dist;

/* To be closed by bl_dist_close or bl_dist_abort; one a process. BL_ERR_ENV: the program was started as several ranks
 * but built without MPI, or MPI does not start. */
int bl_dist_open(bl_dist **out, bl_error *err);
/* Waits for all ranks. NULL is nothing. */
void bl_dist_close(bl_dist *dist);
/* Ends all ranks at once with this exit status: for a rank that failed while others wait for it. Does not return where
 * there are others; with one rank it closes. */
void bl_dist_abort(bl_dist *dist, int status);

int bl_dist_rank(const bl_dist *dist);
int bl_dist_ranks(const bl_dist *dist);
const char *bl_dist_describe(const bl_dist *dist); /* "Open MPI 4.1.4", or "one rank" */

/* Sums over the ranks, in place; all ranks get the same bits, and must make the same calls in the same order. They do
 * not return before all ranks called. */
int bl_dist_sum(bl_dist *dist, double *data, int64_t count, bl_error *err);
/* The smallest over the ranks. */
int bl_dist_min(bl_dist *dist, int64_t *value, bl_error *err);
/* Gives all what rank 0 has. */
int bl_dist_broadcast(bl_dist *dist, float *data, int64_t count, bl_error *err);

/* A sum that goes on beside other work: `data` must not be touched until bl_dist_poll or bl_dist_wait says that it is
 * done. Up to BL_DIST_SUMS at a time; the numbers 0, 1, ... are the caller's. */
#define BL_DIST_SUMS 64
/* All ranks start the same sums in the same order, but for that at any moment between their other calls. */
int bl_dist_start(bl_dist *dist, int number, float *data, int64_t count, bl_error *err);
/* Lets the sums that were started go on, which nothing else does meanwhile. */
int bl_dist_poll(bl_dist *dist, bl_error *err);
/* Whether the sum is done, as of the last call of poll or wait; one that never started is. */
bool bl_dist_done(const bl_dist *dist, int number);
int bl_dist_wait(bl_dist *dist, bl_error *err); /* for all that were started */

#endif
