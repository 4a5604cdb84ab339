/* A look at bytes as an image file. What it calls too large, decoding refuses before it asks for memory. */
#include "fuzz.h"

#include "data/image.h"
#include "data/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_blob blob;
    if (bl_blob_from(data, size, "input", &blob, NULL) != BL_OK)
        return 0;
    bl_probe state = BL_PROBE_STATES, again = BL_PROBE_STATES;
    FUZZ_CHECK(bl_probe_image(&blob, &state, NULL) == BL_OK && state < BL_PROBE_STATES);
    FUZZ_CHECK(bl_probe_image(&blob, &again, NULL) == BL_OK && again == state);
    FUZZ_CHECK(bl_probe_words(state) != NULL);
    FUZZ_CHECK((state == BL_PROBE_EMPTY) == (size == 0));
    bl_image image;
    if (state == BL_PROBE_TOO_LARGE) { /* is refused there too, before memory is asked for */
        FUZZ_CHECK(bl_image_decode(data, size, 0, "input", &image, NULL) != BL_OK);
        bl_image_clear(&image);
    }
    bl_blob_close(&blob);
    return 0;
}
