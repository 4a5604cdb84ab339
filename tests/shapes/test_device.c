/* The devices' rates, which follow from units and clocks, against those that their makers print. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "shapes/device.h"

static void near(const char *name, bl_number type, double tera, double within)
{
    const bl_device *d = bl_device_find(name);
    assert_non_null(d);
    double got = bl_device_flops(d, type) / 1e12;
    if (!(fabs(got / tera - 1) < within))
        fail_msg("%s, %s: %g TFLOP/s, printed are %g", name, bl_number_name(type), got, tera);
}

static void test_printed_rates(void **state)
{
    near("p40", BL_FLOAT32, 12, 0.03);
    near("p40", BL_INT8, 47, 0.01);
    near("p100", BL_FLOAT32, 10.6, 0.01);
    near("p100", BL_HALF, 21.2, 0.01);
    near("p100", BL_DOUBLE, 5.3, 0.01);
    near("v100", BL_FLOAT32, 15.7, 0.01);
    near("v100", BL_HALF, 125, 0.01);
    near("t4", BL_FLOAT32, 8.1, 0.01);
    near("t4", BL_HALF, 65, 0.01);
    near("t4", BL_INT8, 130, 0.01);
    near("a4000", BL_FLOAT32, 19.2, 0.01);
    near("a4000", BL_HALF, 153.4 / 2, 0.01);
    near("a100", BL_FLOAT32, 19.5, 0.01);
    near("a100", BL_DOUBLE, 19.5, 0.01);
    near("a100", BL_TF32, 156, 0.01);
    near("a100", BL_HALF, 312, 0.01);
    near("a100", BL_INT8, 624, 0.01);
    near("h100", BL_FLOAT32, 67, 0.01);
    near("h100", BL_TF32, 494.7, 0.001);
    near("h100", BL_HALF, 989.4, 0.001);
    near("h200", BL_HALF, 989.4, 0.001);
    near("b200", BL_FLOAT32, 75, 0.01);
    near("b200", BL_HALF, 2250, 0.01);
    near("b200", BL_INT8, 4500, 0.01);
}

static void test_ratios(void **state)
{
    /* NVIDIA's guide has 138.9 for V100: 125 TFLOP/s and 900 GB/s. */
    double ratio = bl_device_ops_per_byte(bl_device_find("v100"), BL_HALF);
    assert_true(fabs(ratio / 138.9 - 1) < 0.005);
    assert_int_equal(bl_device_alignment(bl_device_find("v100"), BL_HALF), 8);
    assert_int_equal(bl_device_alignment(bl_device_find("v100"), BL_INT8), 16);
    assert_int_equal(bl_device_alignment(bl_device_find("a100"), BL_HALF), 64);
    assert_int_equal(bl_device_alignment(bl_device_find("a100"), BL_TF32), 32);
    assert_int_equal(bl_device_alignment(bl_device_find("a100"), BL_DOUBLE), 16);
    static const struct {
        const char *name;
        int units;
    } units[] = {{"p40", 30}, {"v100", 80}, {"a100", 108}, {"h100", 132}, {"h200", 132}, {"b200", 148}};
    for (size_t i = 0; i < BL_ARRAY_LEN(units); i++)
        assert_int_equal(bl_device_find(units[i].name)->units, units[i].units);
}

static void test_names(void **state)
{
    bl_number type;
    assert_null(bl_device_find("abacus"));
    assert_true(bl_number_from_name("bfloat16", &type) && type == BL_HALF);
    assert_true(bl_number_from_name("tf32", &type) && type == BL_TF32);
    assert_false(bl_number_from_name("float8", &type));
    for (int i = 0; i < bl_n_devices; i++) {
        assert_ptr_equal(bl_device_find(bl_devices[i].name), &bl_devices[i]);
        assert_true(strlen(bl_devices[i].source) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_printed_rates), cmocka_unit_test(test_ratios),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
