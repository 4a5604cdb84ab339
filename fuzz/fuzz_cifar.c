/* Bytes as a file of CIFAR-10's, and as one of CIFAR-100's. */
#include "fuzz.h"

#include <string.h>

#include "data/cifar.h"

static void check(const bl_blob *blob, const bl_cifar_format *format)
{
    bl_error err = {0};
    int64_t n = -1, record_b = format->n_labels + 3 * BL_CIFAR_PIXELS;
    int code = bl_cifar_check(blob, format, &n, &err);
    FUZZ_CHECK(code == BL_OK || (code == BL_ERR_FORMAT && strstr(err.message, "input") && err.remedy[0]));
    if (code == BL_OK)
        FUZZ_CHECK(n > 0 && n * record_b == blob->len);
    for (int64_t i = 0; i <= n && n < 1000; i++) {
        uint8_t pixels[3 * BL_CIFAR_PIXELS];
        int32_t label = -1;
        int one = bl_cifar_read(blob, format, i, pixels, &label, NULL);
        FUZZ_CHECK(one == BL_OK || one == BL_ERR_FORMAT);
        FUZZ_CHECK(one != BL_OK || (label >= 0 && label < format->n_values[format->n_labels - 1]));
        FUZZ_CHECK(code != BL_OK || (one == BL_OK) == (i < n));
        const uint8_t *planes = blob->data + i * record_b + format->n_labels;
        if (one == BL_OK)
            FUZZ_CHECK(pixels[0] == planes[0] && pixels[3 * BL_CIFAR_PIXELS - 1] == planes[3 * BL_CIFAR_PIXELS - 1]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_blob blob;
    if (bl_blob_from(data, size, "input", &blob, NULL) != BL_OK)
        return 0;
    check(&blob, &bl_cifar10);
    check(&blob, &bl_cifar100);
    bl_blob_close(&blob);
    return 0;
}
