#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void test_calloc_zeroes_and_checks(void **state)
{
    unsigned char *p = bl_calloc(100, 3);
    assert_non_null(p);
    for (int i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
    free(p);
    p = bl_calloc(0, 8);
    assert_non_null(p); /* nothing is not a failure */
    free(p);
    assert_null(bl_calloc(SIZE_MAX / 2, 3));
    test_alloc_fail_after(0);
    p = bl_calloc(1, 1);
    test_alloc_restore();
    assert_null(p);
}

static void test_realloc_keeps_the_old_block(void **state)
{
    int *p = bl_realloc(NULL, 4, sizeof *p);
    assert_non_null(p);
    p[3] = 42;
    assert_null(bl_realloc(p, SIZE_MAX / 4 + 1, 4));
    test_alloc_fail_after(0);
    int *failed = bl_realloc(p, 8, sizeof *p);
    test_alloc_restore();
    assert_null(failed);
    assert_int_equal(p[3], 42);
    int *larger = bl_realloc(p, 4096, sizeof *p);
    assert_non_null(larger);
    assert_int_equal(larger[3], 42);
    int *smallest = bl_realloc(larger, 0, sizeof *p);
    assert_non_null(smallest); /* realloc(p, 0) would have freed it */
    free(smallest);
}

static void test_aligned_alloc(void **state)
{
    for (size_t align = sizeof(void *); align <= 4096; align *= 2) {
        char *p = bl_aligned_alloc(align, 100);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, 1, 100);
        free(p);
    }
    void *empty = bl_aligned_alloc(64, 0);
    assert_non_null(empty);
    free(empty);
    assert_null(bl_aligned_alloc(3, 8)); /* no power of two */
    test_alloc_fail_after(0);
    void *p = bl_aligned_alloc(64, 64);
    test_alloc_restore();
    assert_null(p);
}

static void test_arena_hands_out_disjoint_zeroed_blocks(void **state)
{
    enum { N = 1000 };
    bl_arena arena;
    bl_arena_init(&arena);
    unsigned char *blocks[N];
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)(i * 37 % 700); /* some larger than what is left of a chunk */
        blocks[i] = bl_arena_alloc(&arena, size, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], i % 251 + 1, size);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < (size_t)(i * 37 % 700); k++)
            assert_int_equal(blocks[i][k], i % 251 + 1);
    assert_true(arena.used_b >= (size_t)N * 300);
    bl_arena_clear(&arena);
    assert_int_equal(arena.used_b, 0);
    assert_null(arena.head);
}

static void test_arena_failures(void **state)
{
    bl_arena arena;
    bl_arena_init(&arena);
    assert_null(bl_arena_alloc(&arena, SIZE_MAX / 2, 4));
    assert_null(bl_arena_alloc(&arena, SIZE_MAX, 1));
    assert_null(bl_arena_alloc(&arena, SIZE_MAX - 64, 1));
    test_alloc_fail_after(0);
    assert_null(bl_arena_alloc(&arena, 1, 1));
    assert_null(bl_arena_strdup(&arena, "text"));
    assert_null(bl_arena_printf(&arena, "%d", 5));
    assert_int_equal(test_alloc_restore(), 3);
    assert_int_equal(arena.used_b, 0);
    assert_non_null(bl_arena_alloc(&arena, 1, 1)); /* it is usable again */
    bl_arena_clear(&arena);
}

static void test_arena_text(void **state)
{
    bl_arena arena;
    bl_arena_init(&arena);
    char *copy = bl_arena_strdup(&arena, "");
    assert_string_equal(copy, "");
    assert_string_equal(bl_arena_strdup(&arena, "batch"), "batch");
    assert_string_equal(bl_arena_printf(&arena, "%s-%03d", "b", 7), "b-007");
    char *longer = bl_arena_printf(&arena, "%5000d", 1);
    assert_int_equal(strlen(longer), 5000);
    bl_arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calloc_zeroes_and_checks),
        cmocka_unit_test(test_realloc_keeps_the_old_block),
        cmocka_unit_test(test_aligned_alloc),
        cmocka_unit_test(test_arena_hands_out_disjoint_zeroed_blocks),
        cmocka_unit_test(test_arena_failures),
        cmocka_unit_test(test_arena_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
