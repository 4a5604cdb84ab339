/* The matrices of a product that is timed over and over: in memory of their own pages, filled with random numbers
 * (zeros would be multiplied at a lower power, and on some processors faster), as many sets of them as it takes for
 * none to be in a cache when its turn comes. */
#ifndef BL_TIMING_OPERANDS_H
#define BL_TIMING_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/cpu/dnnl_adapter.h"

typedef enum bl_page_kind { BL_PAGES_SYSTEM, BL_PAGES_SMALL, BL_PAGES_HUGE } bl_page_kind;

typedef struct bl_operands_options {
    int m, n, k;
    bool turn_a, turn_b;
    int apart;          /* rows begin at least so many floats apart; 0: no gaps */
    bool cold;          /* enough sets that their sum is several times the last cache */
    bl_page_kind pages; /* what the kernel is asked for (madvise) */
} bl_operands_options;

typedef struct bl_operands {
    bl_dnnl_product *products;
    size_t n_products;
    void *memory;
    size_t mapped_b;
    bool huge; /* the kernel granted huge pages for some of it */
} bl_operands;

#define BL_COLD_B ((size_t)512 << 20) /* bytes of all sets together, where cold */

/* BL_ERR_USAGE where a matrix is too large for the libraries' ints, BL_ERR_NOMEM where memory is out. */
int bl_operands_make(const bl_operands_options *options, bl_operands *out, bl_error *err);
void bl_operands_clear(bl_operands *operands);

#endif
