/* Which of several processes that work together failed first, as far as what was printed tells. Pure. */
#ifndef BL_TRIAL_FAILED_RANK_H
#define BL_TRIAL_FAILED_RANK_H

#include <stddef.h>

/* Looks through the n bytes of output for the words of Open MPI's mpirun, of srun, of torchrun and of batchlab-train,
 * and takes what comes first. Returns the rank, and the line in `line` (cut to size); -1 where there is none. */
long bl_failed_rank(const char *output, size_t n, char *line, size_t size);

#endif
