/* The null distribution of Wilcoxon's signed-rank statistic. Of use inside this room. */
#ifndef BL_STATS_SIGNED_RANK_H
#define BL_STATS_SIGNED_RANK_H

#include <stddef.h>

/* p[0 .. sum of ranks] becomes P(V = v) where each of the n whole ranks joins V with probability 1/2. */
void bl_signed_rank_pmf(const size_t *ranks, size_t n, double *p);
/* The order statistic of the interval's lower end, k >= 1, for n >= 1 values, and the level it attains, into
 * *level; k = 1 also where even the widest interval falls short. Returns 0 when memory is out. */
size_t bl_signed_rank_k(size_t n, double level_wanted, double *level);

#endif
