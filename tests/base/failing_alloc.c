/* Linked with --wrap for each of these functions: the linker sends the calls of our own code here. */
#include <stdbool.h>
#include <stdlib.h>

#include "testing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);

static int calls_left = -1; /* negative: never fail */
static int n_failed;

static bool must_fail(void)
{
    if (calls_left < 0)
        return false;
    if (calls_left > 0) {
        calls_left--;
        return false;
    }
    n_failed++;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return must_fail() ? NULL : __real_realloc(block, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    return must_fail() ? 12 /* ENOMEM */ : __real_posix_memalign(out, align, size);
}

void test_alloc_fail_after(int n)
{
    calls_left = n;
    n_failed = 0;
}

int test_alloc_restore(void)
{
    calls_left = -1;
    return n_failed;
}
