#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "shapes/predict.h"

/* Lists of layers: whatever is taken can be written down, read again as the same, and predicted. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    bl_layer *layers;
    size_t n;
    bl_error err = {0};
    int rc = bl_layers_parse(text, &layers, &n, &err);
    FUZZ_CHECK(rc == BL_OK || (rc == BL_ERR_USAGE && err.message[0] != '\0'));
    for (size_t i = 0; rc == BL_OK && i < n && i < 64; i++) {
        bl_str words;
        bl_layer again;
        bl_str_init(&words);
        bl_layer_format(&layers[i], &words);
        FUZZ_CHECK(bl_layer_parse(bl_str_text(&words), &again, NULL) == BL_OK);
        FUZZ_CHECK(again.kind == layers[i].kind && again.in == layers[i].in && again.out == layers[i].out &&
                   again.pad == layers[i].pad);
        bl_str_clear(&words);
        double seconds = bl_predict_layers(&bl_devices[0], BL_FLOAT32, &layers[i], 1, 3);
        FUZZ_CHECK(isfinite(seconds) && seconds > 0);
    }
    free(layers);
    bl_layer one;
    bl_role role;
    bl_product products[BL_LAYER_PRODUCTS];
    rc = bl_layer_role_parse(text, &one, &role, &err);
    FUZZ_CHECK(rc == BL_ERR_USAGE || (rc == BL_OK && bl_layer_products(&one, 1, role, products) > 0));
    free(text);
    return 0;
}
