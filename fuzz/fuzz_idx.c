/* Bytes as IDX files of images and of labels; packed ones are unpacked first. */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "data/idx.h"

enum { UNPACKED_MAX = 1 << 18 };

static void check_code(int code, const bl_error *err)
{
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_NOMEM || (code == BL_ERR_FORMAT && strstr(err->message, "input")));
}

static void check_images(const bl_blob *blob)
{
    bl_error err = {0};
    bl_idx_images images;
    int code = bl_idx_open_images(blob, &images, &err);
    check_code(code, &err);
    if (code != BL_OK)
        return;
    int64_t pixels = (int64_t)images.rows * images.columns;
    FUZZ_CHECK(images.n > 0 && pixels > 0 && images.start + images.n * pixels == blob->len);
    uint8_t *out = malloc(3 * (size_t)pixels);
    const int64_t last = images.n - 1;
    if (out) {
        FUZZ_CHECK(bl_idx_read_image(blob, &images, last, out, NULL) == BL_OK);
        for (int64_t i = 0; i < 3 * pixels; i++)
            FUZZ_CHECK(out[i] == blob->data[images.start + last * pixels + i / 3]);
        FUZZ_CHECK(bl_idx_read_image(blob, &images, images.n, out, NULL) == BL_ERR_FORMAT);
    }
    free(out);
}

static void check_labels(const bl_blob *blob)
{
    bl_error err = {0};
    bl_idx_labels labels;
    int code = bl_idx_open_labels(blob, &labels, &err);
    check_code(code, &err);
    if (code != BL_OK)
        return;
    FUZZ_CHECK(labels.n > 0 && labels.start + labels.n == blob->len);
    bool there = false;
    for (int64_t i = labels.start; i < blob->len; i++) {
        FUZZ_CHECK(blob->data[i] <= labels.largest);
        there = there || blob->data[i] == labels.largest;
    }
    FUZZ_CHECK(there);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_blob blob;
    bl_error err = {0};
    if (bl_blob_from(data, size, "input", &blob, NULL) != BL_OK)
        return 0;
    if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b) {
        int code = bl_blob_unpack(&blob, UNPACKED_MAX, &err);
        check_code(code, &err);
        FUZZ_CHECK(code != BL_OK || blob.len <= UNPACKED_MAX);
    }
    check_images(&blob);
    check_labels(&blob);
    bl_blob_close(&blob);
    return 0;
}
