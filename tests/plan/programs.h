/* Simulated programs of many kinds of memory, searched for their largest batch, and by doubling and bisecting. */
#ifndef BL_TESTS_PLAN_PROGRAMS_H
#define BL_TESTS_PLAN_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/largest.h"

#define MIB 1048576.0

typedef struct program {
    const char *name;
    double fixed, per_sample; /* MiB */
    double budget;            /* MiB */
    bool budget_known;
    int64_t max, multiple;
    double stair;     /* samples that memory is taken for at once */
    double growth;    /* MiB a step */
    double noise;     /* of the measured memory */
    int64_t hole;     /* a size that fails for want of workspace */
    int64_t data_set; /* samples that there are; 0: enough */
    bool no_one;      /* batch 1 breaks it */
    double slow_from; /* memory beyond which a sample takes 20 times as long, instead of failing; MiB */
    double bend;      /* MiB a sample squared */
    double headroom;
    double hidden; /* MiB that are needed and not measured */
} program;

extern const program programs[];
extern const size_t n_programs;

int64_t max_of(const program *p);
int64_t multiple_of(const program *p);
/* Every size tried: 0 where none does. */
int64_t truth(const program *p);

typedef struct cost {
    int64_t answer;
    int probes, failed;
    bl_largest_step end;
} cost;

/* By the search under test. */
cost search_for(const program *p);
/* What people do: double until it fails, then halve the gap. Nothing is run again. */
cost double_and_bisect(const program *p);

#endif
