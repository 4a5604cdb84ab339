#include "testing.h"

#include <string.h>

#include "tensor/layout.h"

static void test_sizes(void **state)
{
    assert_int_equal(bl_dtype_size(BL_F32), 4);
    assert_int_equal(bl_dtype_size(BL_I32), 4);
    assert_int_equal(bl_dtype_size(BL_U8), 1);
    size_t out;
    assert_true(bl_size_mul(1u << 31, 2, &out) && out == (size_t)1 << 32);
    assert_false(bl_size_mul(SIZE_MAX / 2, 3, &out));
    assert_true(bl_size_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    assert_false(bl_size_add(SIZE_MAX, 1, &out));
}

static void test_shapes(void **state)
{
    bl_error err = {0};
    char text[64];
    bl_shape image = BL_SHAPE4(16, 3, 224, 224), scalar = BL_SHAPE0();
    assert_int_equal(bl_shape_check(&image, &err), BL_OK);
    assert_int_equal(bl_shape_count(&image), 16 * 3 * 224 * 224);
    assert_int_equal(bl_shape_count(&scalar), 1);
    assert_string_equal(bl_shape_format(&image, text, sizeof text), "(16, 3, 224, 224)");
    assert_true(bl_shape_equal(&image, &BL_SHAPE4(16, 3, 224, 224)));
    assert_false(bl_shape_equal(&image, &BL_SHAPE4(16, 3, 224, 223)));
    assert_false(bl_shape_equal(&BL_SHAPE1(4), &BL_SHAPE2(4, 1)));
    assert_int_equal(bl_shape_check(&BL_SHAPE2(4, 0), NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_shape_check(&BL_SHAPE2(-1, 4), NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_shape_check(&BL_SHAPE2(INT64_MAX / 2, 4), NULL), BL_ERR_NOMEM);
}

static void test_bytes_of_layouts(void **state)
{
    bl_error err = {0};
    size_t bytes;
    bl_shape shape = BL_SHAPE4(2, 5, 3, 3);
    bl_layout plain = BL_PLAIN, blocked = BL_BLOCKED(8), opaque = {.kind = BL_LAYOUT_OPAQUE, .opaque_b = 77};
    assert_int_equal(bl_layout_bytes(&plain, &shape, BL_F32, &bytes, &err), BL_OK);
    assert_int_equal(bytes, 2 * 5 * 9 * 4);
    assert_int_equal(bl_layout_bytes(&blocked, &shape, BL_F32, &bytes, &err), BL_OK);
    assert_int_equal(bytes, 2 * 8 * 9 * 4);
    assert_int_equal(bl_layout_bytes(&opaque, &shape, BL_F32, &bytes, &err), BL_OK);
    assert_int_equal(bytes, 77);
    assert_int_equal(bl_layout_bytes(&blocked, &BL_SHAPE2(2, 5), BL_F32, &bytes, NULL), BL_ERR_INTERNAL);
    assert_int_equal(bl_layout_bytes(&plain, &BL_SHAPE2(INT64_MAX / 4, 4), BL_F32, &bytes, NULL), BL_ERR_NOMEM);
    assert_int_equal(bl_layout_padded_c(&blocked, 16), 16);
    assert_int_equal(bl_layout_padded_c(&blocked, 17), 24);
    assert_int_equal(bl_layout_padded_c(&plain, 17), 17);
}

static void test_copies_between_layouts(void **state)
{
    bl_error err = {0};
    enum { N = 2, C = 5, P = 6, BLOCK = 4, BLOCKS = 2 };
    bl_shape shape = BL_SHAPE4(N, C, 2, 3);
    bl_layout plain = BL_PLAIN, blocked = BL_BLOCKED(BLOCK);
    float data[N * C * P], there[N * BLOCKS * P * BLOCK], back[N * C * P];
    for (int i = 0; i < N * C * P; i++)
        data[i] = (float)(i + 1);
    memset(there, 0x7f, sizeof there);
    assert_int_equal(bl_layout_copy_f32(&shape, &plain, data, &blocked, there, &err), BL_OK);
    for (int n = 0; n < N; n++)
        for (int c = 0; c < BLOCKS * BLOCK; c++)
            for (int p = 0; p < P; p++) {
                float got = there[((n * BLOCKS + c / BLOCK) * P + p) * BLOCK + c % BLOCK];
                float expected = c < C ? data[(n * C + c) * P + p] : 0.0f;
                assert_memory_equal(&got, &expected, sizeof got);
            }
    assert_int_equal(bl_layout_copy_f32(&shape, &blocked, there, &plain, back, &err), BL_OK);
    assert_memory_equal(back, data, sizeof data);
    bl_layout opaque = {.kind = BL_LAYOUT_OPAQUE, .opaque_b = 8};
    assert_int_equal(bl_layout_copy_f32(&shape, &plain, data, &opaque, back, NULL), BL_ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_bytes_of_layouts),
        cmocka_unit_test(test_copies_between_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
