/* The allocator's functions, defined in the program itself: the dynamic linker gives these to every library. */
#include "counting_alloc.h"

#include <errno.h>
#include <features.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

static atomic_bool counting;
static atomic_long calls, own, held_b;
static atomic_size_t largest;

extern const char __executable_start[], etext[]; /* the linker's: from where to where the program's code lies */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *block);

static void note(const void *caller, size_t size)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed))
        return;
    atomic_fetch_add(&calls, 1);
    if ((const char *)caller >= __executable_start && (const char *)caller < etext)
        atomic_fetch_add(&own, 1);
    size_t before = atomic_load(&largest);
    while (size > before && !atomic_compare_exchange_weak(&largest, &before, size))
        ;
}

/* Takes a block in (sign 1) or out (-1) of what is held. */
static void *hold(void *block, int sign)
{
    if (block && atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add(&held_b, sign * (long)malloc_usable_size(block));
    return block;
}

void *malloc(size_t size)
{
    note(__builtin_return_address(0), size);
    return hold(__libc_malloc(size), 1);
}

void *calloc(size_t count, size_t size)
{
    note(__builtin_return_address(0), count * size);
    return hold(__libc_calloc(count, size), 1);
}

void *realloc(void *block, size_t size)
{
    note(__builtin_return_address(0), size);
    hold(block, -1);
    return hold(__libc_realloc(block, size), 1);
}

void *aligned_alloc(size_t align, size_t size)
{
    note(__builtin_return_address(0), size);
    return hold(__libc_memalign(align, size), 1);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    note(__builtin_return_address(0), size);
    void *block = hold(__libc_memalign(align, size), 1);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void free(void *block)
{
    hold(block, -1);
    __libc_free(block);
}

bool counting_alloc_works(void)
{
    return true;
}

void counting_alloc_start(void)
{
    atomic_store(&calls, 0);
    atomic_store(&own, 0);
    atomic_store(&largest, 0);
    atomic_store(&held_b, 0);
    atomic_store(&counting, true);
}

counted_allocs counting_alloc_stop(void)
{
    atomic_store(&counting, false);
    return (counted_allocs){.calls = atomic_load(&calls),
                            .own = atomic_load(&own),
                            .largest = atomic_load(&largest),
                            .held_b = atomic_load(&held_b)};
}

#else

bool counting_alloc_works(void)
{
    return false;
}

void counting_alloc_start(void)
{
}

counted_allocs counting_alloc_stop(void)
{
    return (counted_allocs){0};
}

#endif
