/* Counts what is allocated, by any library of this process. */
#ifndef BL_TESTS_TRAIN_COUNTING_ALLOC_H
#define BL_TESTS_TRAIN_COUNTING_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct counted_allocs {
    long calls;     /* on all threads */
    long own;       /* of them, from the program itself and what is linked into it, not from shared libraries */
    size_t largest; /* bytes asked for at once */
    long held_b;    /* by how much what is allocated has grown */
} counted_allocs;

/* Whether calls are counted here: not under a sanitizer, which has its own allocator, nor without glibc. */
bool counting_alloc_works(void);
void counting_alloc_start(void);
counted_allocs counting_alloc_stop(void); /* since the start */

#endif
