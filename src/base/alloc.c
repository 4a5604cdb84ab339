#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks grow with the arena so that many small allocations cost few mallocs. */
enum { ARENA_FIRST_CHUNK_B = 4096, ARENA_MAX_CHUNK_B = 1 << 20 };

typedef struct bl_arena_chunk {
    struct bl_arena_chunk *next;
    size_t size_b; /* of data */
    size_t used_b;
    max_align_t data[];
} bl_arena_chunk;

void *bl_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

void *bl_realloc(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return realloc(block, bytes ? bytes : 1);
}

void *bl_aligned_alloc(size_t align, size_t bytes)
{
    void *block = NULL;
    if (align < sizeof(void *) || (align & (align - 1)) != 0) /* asked for by mistake: no allocator need bear it */
        return NULL;
    return posix_memalign(&block, align, bytes ? bytes : 1) == 0 ? block : NULL;
}

void bl_arena_init(bl_arena *arena)
{
    arena->head = NULL;
    arena->used_b = 0;
}

void bl_arena_clear(bl_arena *arena)
{
    bl_arena_chunk *chunk = arena->head;
    while (chunk) {
        bl_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    bl_arena_init(arena);
}

static bl_arena_chunk *new_chunk(bl_arena *arena, size_t least_b)
{
    size_t size_b = arena->head ? arena->head->size_b * 2 : ARENA_FIRST_CHUNK_B;
    if (size_b > ARENA_MAX_CHUNK_B)
        size_b = ARENA_MAX_CHUNK_B;
    if (size_b < least_b)
        size_b = least_b;
    size_t total_b;
    if (__builtin_add_overflow(size_b, sizeof(bl_arena_chunk), &total_b))
        return NULL;
    bl_arena_chunk *chunk = calloc(1, total_b);
    if (!chunk)
        return NULL;
    chunk->size_b = size_b;
    chunk->next = arena->head;
    arena->head = chunk;
    return chunk;
}

void *bl_arena_alloc(bl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    size_t const align = sizeof(max_align_t);
    if (bytes > SIZE_MAX - align)
        return NULL;
    bytes = bytes ? (bytes + align - 1) / align * align : align;
    bl_arena_chunk *chunk = arena->head;
    if (!chunk || chunk->size_b - chunk->used_b < bytes) {
        chunk = new_chunk(arena, bytes);
        if (!chunk)
            return NULL;
    }
    void *out = (char *)chunk->data + chunk->used_b;
    chunk->used_b += bytes;
    arena->used_b += bytes;
    return out;
}

char *bl_arena_strdup(bl_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *out = bl_arena_alloc(arena, n, 1);
    if (out)
        memcpy(out, text, n);
    return out;
}

char *bl_arena_printf(bl_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *out = n < 0 ? NULL : bl_arena_alloc(arena, (size_t)n + 1, 1);
    if (out)
        vsnprintf(out, (size_t)n + 1, format, again);
    va_end(again);
    return out;
}
