/* Allocation with checked sizes, and an arena for what lives as long as one trial, graph or report.
 * Out of memory is a value here: NULL comes back, nothing aborts. */
#ifndef BL_BASE_ALLOC_H
#define BL_BASE_ALLOC_H

#include <stddef.h>

#include "base/attributes.h"

/* count * size bytes, zeroed; NULL where the product overflows or memory is out. free() releases it. */
void *bl_calloc(size_t count, size_t size) BL_MUST_CHECK;
/* Resizes to count * size bytes; NULL (the old block stays) where the product overflows or memory is out. */
void *bl_realloc(void *block, size_t count, size_t size) BL_MUST_CHECK;
/* `bytes` at an address that is a multiple of `align` (a power of two, at least sizeof(void *)).
 * Not zeroed; free() releases it. */
void *bl_aligned_alloc(size_t align, size_t bytes) BL_MUST_CHECK;

/* A growing region: many small allocations, one release. */
typedef struct bl_arena {
    struct bl_arena_chunk *head;
    size_t used_b; /* bytes handed out, for reports and tests */
} bl_arena;

void bl_arena_init(bl_arena *arena);
void bl_arena_clear(bl_arena *arena);
/* Zeroed, aligned for any type; NULL when memory is out or the product overflows. */
void *bl_arena_alloc(bl_arena *arena, size_t count, size_t size) BL_MUST_CHECK;
char *bl_arena_strdup(bl_arena *arena, const char *text) BL_MUST_CHECK;
char *bl_arena_printf(bl_arena *arena, const char *format, ...) BL_PRINTF(2, 3) BL_MUST_CHECK;

#endif
