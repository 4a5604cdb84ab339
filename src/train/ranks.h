/* One rank's part in a training that several processes share: the sums of gradients, which go on while the backward
 * pass does, and what all must agree on. Also where a trace is taken, by one rank too. */
#ifndef BL_TRAIN_RANKS_H
#define BL_TRAIN_RANKS_H

#include "dist/dist.h"
#include "graph/exec.h"
#include "train/trace.h"

typedef struct bl_ranks bl_ranks;

/* What a bl_joint of several ranks needs: its context. */
typedef struct bl_ranks_joint {
    bl_dist *dist;
    int64_t waited_ns; /* in all */
} bl_ranks_joint;

/* How it goes with the ranks, over the batches so far. */
typedef struct bl_ranks_load {
    double sums_share; /* of the time of all: beginning, driving and waiting for sums, which computing did not hide */
    double slowest_share; /* the longest computing time of a rank, against the mean of all: 1 where all are as fast */
    double bytes;         /* of gradients that each rank gave into sums */
    int n;                /* ranks: */
    const double *peak_b; /* the most memory that each had */
} bl_ranks_load;

/* Watches the executor, which must outlive it, as must the table. dist NULL or of one rank: nothing is summed. joint:
 * NULL, or the executor's. traced: keep a timeline. */
int bl_ranks_new(bl_dist *dist, bl_exec *exec, bl_params *params, const bl_ranks_joint *joint, bool traced,
                 bl_ranks **out, bl_error *err);
void bl_ranks_free(bl_ranks *ranks); /* NULL is fine; the executor runs no more */

/* Once all ranks are made: they agree on the order of their sums. BL_ERR_USAGE where they train other networks. */
int bl_ranks_align(bl_ranks *ranks, bl_error *err);

/* What the graph's input "loss_gradient" is to be bound to: this rank's share of the whole batch's samples, so that the
 * sum over the ranks is the gradient of the whole's mean loss however unequal the shares are. */
const float *bl_ranks_loss_gradient(const bl_ranks *ranks);
/* Before a batch of which this rank has n samples of n_whole; and after its run: the gradients are then the sums. */
void bl_ranks_begin(bl_ranks *ranks, int n, int n_whole);
int bl_ranks_finish(bl_ranks *ranks, bl_error *err);
/* For bl_joint: sums that the pass waits for. `context` is a bl_ranks_joint. */
int bl_ranks_joint_sum(void *context, double *data, int64_t n, bl_error *err);
/* Adds up n <= BL_RANKS_JOINED numbers over the ranks; what bl_ranks_load_of tells goes along. */
#define BL_RANKS_JOINED 8
int bl_ranks_join(bl_ranks *ranks, double *numbers, int n, bl_error *err);

bl_ranks_load bl_ranks_load_of(const bl_ranks *ranks); /* as of the last bl_ranks_join */
const bl_trace *bl_ranks_trace(const bl_ranks *ranks); /* NULL: none was kept */

#endif
