/* Layers in words, and the products that they take. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "shapes/layer.h"

static bl_layer layer(const char *text)
{
    bl_layer l;
    bl_error err = {0};
    if (bl_layer_parse(text, &l, &err) != BL_OK)
        fail_msg("%s: %s", text, err.message);
    return l;
}

static void same(const char *text, double batch, bl_role role, double m, double n, double k, double flop)
{
    bl_layer l = layer(text);
    bl_product p[BL_LAYER_PRODUCTS];
    assert_int_equal(bl_layer_products(&l, batch, role, p), 1);
    if (p->m != m || p->n != n || p->k != k || p->flop != flop)
        fail_msg("%s, %s: %g x %g x %g, %g operations", text, bl_role_name(role), p->m, p->n, p->k, p->flop);
}

static void test_roles(void **state)
{
    same("linear:1024:o4096", 128, BL_ROLE_FORWARD, 4096, 128, 1024, 2.0 * 4096 * 128 * 1024);
    same("linear:1024:o4096", 128, BL_ROLE_INPUT_GRADIENT, 1024, 128, 4096, 2.0 * 4096 * 128 * 1024);
    same("linear:1024:o4096", 128, BL_ROLE_WEIGHT_GRADIENT, 4096, 1024, 128, 2.0 * 4096 * 128 * 1024);
    same("linear:384:o1536:r197", 4, BL_ROLE_FORWARD, 1536, 788, 384, 2.0 * 1536 * 788 * 384);
    /* 56 x 56 at stride 2 and padding 1 is 28 x 28. */
    double flop = 2.0 * 128 * 64 * 9 * 28 * 28 * 2;
    same("conv:64x56x56:o128:k3:s2", 2, BL_ROLE_FORWARD, 128, 2 * 784, 576, flop);
    same("conv:64x56x56:o128:k3:s2", 2, BL_ROLE_INPUT_GRADIENT, 64, 2 * 3136, 288, flop);
    same("conv:64x56x56:o128:k3:s2", 2, BL_ROLE_WEIGHT_GRADIENT, 128, 576, 2 * 784, flop);
    same("conv:3x224x224:o64:k7:s2:p3:first", 1, BL_ROLE_FORWARD, 64, 112 * 112, 147, 2.0 * 64 * 147 * 112 * 112);
    same("conv:8x5x7:o6:k1x3:p0", 1, BL_ROLE_FORWARD, 6, 25, 24, 2.0 * 6 * 25 * 24);
    same("conv:8x5x5:o8:k3:d2:g2", 1, BL_ROLE_FORWARD, 4, 25, 36, 2 * 2.0 * 4 * 25 * 36);
}

static void test_others(void **state)
{
    bl_product p[BL_LAYER_PRODUCTS];
    bl_layer first = layer("conv:3x8x8:o4:k3:first"), attention = layer("attention:t197:h3:w64");
    assert_int_equal(bl_layer_products(&first, 1, BL_ROLE_INPUT_GRADIENT, p), 0);
    assert_int_equal(bl_layer_products(&attention, 2, BL_ROLE_FORWARD, p), 2);
    assert_true(p[0].count == 6 && p[0].m == 197 && p[0].k == 64 && p[1].m == 64 && p[1].k == 197);
    assert_true(p[0].flop == 6 * 2.0 * 197 * 197 * 64);
    assert_int_equal(bl_layer_products(&attention, 2, BL_ROLE_INPUT_GRADIENT, p), 4);
    assert_int_equal(bl_layer_products(&attention, 2, BL_ROLE_WEIGHT_GRADIENT, p), 0);
    bl_layer depthwise = layer("conv:96x14x14:o96:k5:g96"), grouped = layer("conv:96x14x14:o96:k5:g2");
    bl_layer_products(&depthwise, 1, BL_ROLE_FORWARD, p);
    assert_false(p[0].tiled);
    bl_layer_products(&grouped, 1, BL_ROLE_FORWARD, p);
    assert_true(p[0].tiled);
    assert_true(bl_product_make(2, 3, 5).elements == 10 + 15 + 6);
}

static void test_words_come_back(void **state)
{
    static const char *const texts[] = {"linear:7:o9", "linear:7:o9:r3:bias:first", "conv:3x224x200:o64:k7:s2:p3:first",
                                        "conv:8x9x9:o4:k3x1:s1:p1:d2:g4:bias", "attention:t5:h2:w16"};
    for (size_t i = 0; i < BL_ARRAY_LEN(texts); i++) {
        bl_layer l = layer(texts[i]);
        bl_str text;
        bl_str_init(&text);
        bl_layer_format(&l, &text);
        assert_string_equal(bl_str_text(&text), texts[i]);
        bl_str_clear(&text);
    }
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "pool:3x3x3",
        "linear",
        "linear:3",
        "linear:3:o",
        "linear:3:o0",
        "linear:3:o-4",
        "linear:3:o4:z5",
        "linear:3:o4:r",
        "conv:3x4:o5:k3",
        "conv:3x4x5x6:o5:k3",
        "conv:3x4x5x:o5:k3",
        "conv:3x8x8:o5",
        "conv:3x8x8:o5:k9:p0",
        "conv:3x8x8:o5:k3:g2",
        "conv:3x8x8:o5:k3:s0",
        "conv:3x8x8:o999999999999:k3",
        "attention:t5:h2",
        "linear:1:o1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < BL_ARRAY_LEN(texts); i++) {
        bl_layer l;
        bl_error err = {0};
        if (bl_layer_parse(texts[i], &l, &err) != BL_ERR_USAGE)
            fail_msg("'%s' was taken", texts[i]);
        assert_true(err.remedy[0] != '\0');
    }
    static const char *const products[] = {"", "1x2", "1x2x3x4", "1x2x", "0x1x1", "axbxc", "1 x 2 x 3"};
    for (size_t i = 0; i < BL_ARRAY_LEN(products); i++) {
        bl_product p;
        bl_error err = {0};
        assert_int_equal(bl_product_parse(products[i], &p, &err), BL_ERR_USAGE);
    }
}

static void test_lists(void **state)
{
    bl_layer *layers;
    size_t n;
    bl_error err = {0};
    assert_int_equal(
        bl_layers_parse("linear:3:o4 fc\n\n  \nconv:3x8x8:o4:k1 stem.conv\r\nlinear:4:o2", &layers, &n, &err), BL_OK);
    assert_int_equal(n, 3);
    assert_int_equal(layers[1].kind, BL_LAYER_CONV);
    free(layers);
    assert_int_equal(bl_layers_parse("linear:3:o4\nlinear:3\n", &layers, &n, &err), BL_ERR_USAGE);
    assert_non_null(strstr(err.message, "line 2"));
    free(layers);
    err = (bl_error){0};
    assert_int_equal(bl_layers_parse("\n", &layers, &n, &err), BL_ERR_USAGE);
    free(layers);
}

static void test_walk(void **state)
{
    const bl_layer layers[] = {layer("conv:3x8x8:o4:k3:first"), layer("attention:t5:h2:w16"), layer("linear:7:o9")};
    static const struct {
        int layer;
        bl_role role;
        double k;
    } wanted[] = {
        {0, BL_ROLE_FORWARD, 27},       {0, BL_ROLE_WEIGHT_GRADIENT, 128}, {1, BL_ROLE_FORWARD, 16},
        {1, BL_ROLE_FORWARD, 5},        {1, BL_ROLE_INPUT_GRADIENT, 16},   {1, BL_ROLE_INPUT_GRADIENT, 5},
        {1, BL_ROLE_INPUT_GRADIENT, 5}, {1, BL_ROLE_INPUT_GRADIENT, 5},    {2, BL_ROLE_FORWARD, 7},
        {2, BL_ROLE_INPUT_GRADIENT, 9}, {2, BL_ROLE_WEIGHT_GRADIENT, 2},
    };
    size_t i = 0;
    for (bl_layers_walk w = bl_layers_begin(layers, 3, 2); bl_layers_next(&w); i++) {
        assert_true(i < BL_ARRAY_LEN(wanted));
        assert_ptr_equal(w.layer, &layers[wanted[i].layer]);
        assert_int_equal(w.role, wanted[i].role);
        assert_true(w.product.k == wanted[i].k);
    }
    assert_int_equal(i, BL_ARRAY_LEN(wanted));
    bl_layers_walk none = bl_layers_begin(layers, 0, 2);
    assert_false(bl_layers_next(&none));
}

static void test_roles_of_layers(void **state)
{
    bl_layer l;
    bl_role role;
    bl_error err = {0};
    assert_int_equal(bl_layer_role_parse("linear:7:o9", &l, &role, &err), BL_OK);
    assert_int_equal(role, BL_ROLE_FORWARD);
    assert_int_equal(bl_layer_role_parse("linear:7:o9@weights", &l, &role, &err), BL_OK);
    assert_int_equal(role, BL_ROLE_WEIGHT_GRADIENT);
    assert_int_equal(bl_layer_role_parse("linear:7:o9:first@weights", &l, &role, &err), BL_OK);
    static const char *const refused[] = {"linear:7:o9:first@input", "attention:t5:h2:w16@weights",
                                          "linear:7:o9@sideways", "linear:7@input", "linear:7:o9@"};
    for (size_t i = 0; i < BL_ARRAY_LEN(refused); i++)
        assert_int_equal(bl_layer_role_parse(refused[i], &l, &role, &err), BL_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_roles_of_layers),
                                       cmocka_unit_test(test_walk),
                                       cmocka_unit_test(test_roles),
                                       cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_words_come_back),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
