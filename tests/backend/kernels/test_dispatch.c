/* Which instructions are chosen. Run with BATCHLAB_KERNELS unset, and set to each name and to nonsense. */
#include "helpers.h"

#include <stdlib.h>
#include <string.h>

static void test_choice(void **state)
{
    const char *wanted = getenv("BATCHLAB_KERNELS");
    bl_k_isa best = BL_K_PORTABLE, expected;
    for (int isa = 0; isa < BL_K_N_ISA; isa++)
        if (bl_k_isa_available((bl_k_isa)isa))
            best = (bl_k_isa)isa;
    expected = best;
    for (int isa = 0; wanted && isa < BL_K_N_ISA; isa++)
        if (strcmp(wanted, bl_k_isa_name((bl_k_isa)isa)) == 0 && bl_k_isa_available((bl_k_isa)isa))
            expected = (bl_k_isa)isa;
    assert_string_equal(bl_k_isa_name(bl_k_active()), bl_k_isa_name(expected));
}

static void test_availability(void **state)
{
    assert_true(bl_k_isa_available(BL_K_PORTABLE));
#ifdef __x86_64__
    __builtin_cpu_init();
    assert_int_equal(bl_k_isa_available(BL_K_AVX2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
    assert_false(bl_k_isa_available(BL_K_AVX2));
    assert_false(bl_k_isa_available(BL_K_AVX512));
#endif
}

static void test_select(void **state)
{
    for (int isa = 0; isa < BL_K_N_ISA; isa++) {
        bl_k_isa before = bl_k_active();
        bool there = bl_k_isa_available((bl_k_isa)isa);
        assert_int_equal(bl_k_select((bl_k_isa)isa), there);
        assert_int_equal(bl_k_active(), there ? (bl_k_isa)isa : before);
    }
}

static void test_sizes(void **state)
{
    bl_k_shape shape = {.n = 2, .c = 17, .h = 3, .w = 5, .block = 8};
    assert_int_equal(bl_k_padded_c(&shape), 24);
    assert_int_equal(bl_k_count(&shape), 2 * 24 * 3 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice), /* first: others change it */
        cmocka_unit_test(test_availability),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
