/* Batch lists as people type them: parts joined by commas, each one of
 *   128            one size
 *   1..64          every size from 1 to 64
 *   8..64:8        every 8th from 8 (64 included)
 *   pow2:1..512    the powers of two from 1 to 512
 *   x1.25:8..256   8, 8 * 1.25, 8 * 1.25^2 and so on up to 256, each rounded (8, 10, 13, 16, ...)
 * Blanks around commas are allowed. Doubles are dropped; the list comes back in ascending order (trials run
 * shuffled, and tables read by size). */
#ifndef BL_PLAN_BATCH_LIST_H
#define BL_PLAN_BATCH_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_BATCH_MAX      1000000000 /* largest size accepted */
#define BL_BATCH_LIST_MAX 4096       /* most sizes in a list  */

typedef struct bl_batch_list {
    int64_t *items;
    size_t len;
} bl_batch_list;

/* out is initialised here, and left empty on an error. Errors are BL_ERR_USAGE with the part at fault and a
 * remedy (or BL_ERR_NOMEM). */
int bl_batch_list_parse(const char *text, bl_batch_list *out, bl_error *err);
void bl_batch_list_clear(bl_batch_list *list);

#endif
