/* Bytes as a safetensors file: what is accepted covers the data exactly, and can be read. */
#include "fuzz.h"

#include <string.h>

#include "tensor/safetensors.h"

static void check_tensor(const bl_safetensors *file, const bl_st_tensor *t, size_t size)
{
    bl_error err = {0};
    char text[256];
    FUZZ_CHECK(t->size_b <= size && t->begin_b <= size - t->size_b && t->count >= 0);
    FUZZ_CHECK(t->n_dims >= 0 && t->n_dims <= BL_SAFETENSORS_DIMS_MAX);
    FUZZ_CHECK((uint64_t)t->count <= t->size_b);
    FUZZ_CHECK(bl_safetensors_find(file, t->name) == t);
    FUZZ_CHECK(strchr(bl_st_format(t, text, sizeof text), '('));
    for (const char *c = t->name; *c; c++)
        FUZZ_CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
    /* Exactly the size, so that a sanitizer sees one element too many. */
    size_t count = (size_t)t->count;
    float *floats = malloc((count + (count == 0)) * sizeof *floats);
    int64_t *numbers = malloc((count + (count == 0)) * sizeof *numbers);
    if (!floats || !numbers)
        abort();
    int code = bl_safetensors_read_f32(file, t, floats, &err);
    FUZZ_CHECK(code == BL_OK || (code == BL_ERR_FORMAT && err.message[0]));
    bool whole = bl_safetensors_read_i64(file, t, numbers, NULL) == BL_OK;
    FUZZ_CHECK(whole == (t->type == BL_ST_I64 || t->type == BL_ST_I32));
    FUZZ_CHECK(!whole || code == BL_OK);
    free(floats);
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bl_error err = {0};
    bl_safetensors *file = NULL;
    int code = bl_safetensors_open_memory(data, size, "input", &file, &err);
    if (code != BL_OK) {
        FUZZ_CHECK(!file && (code == BL_ERR_FORMAT || code == BL_ERR_NOMEM));
        FUZZ_CHECK(strstr(err.message, "input") && (code == BL_ERR_NOMEM || err.remedy[0]));
        for (const char *c = err.message; *c; c++)
            FUZZ_CHECK((unsigned char)*c >= 0x20);
        return 0;
    }
    uint64_t at_b = 0;
    for (int i = 0; i < bl_safetensors_count(file); i++) {
        const bl_st_tensor *t = bl_safetensors_at(file, i);
        FUZZ_CHECK(t->begin_b == at_b);
        at_b += t->size_b;
        check_tensor(file, t, size);
    }
    FUZZ_CHECK(at_b <= size);
    for (int i = 0; i < bl_safetensors_text_count(file); i++) {
        const bl_st_text *text = bl_safetensors_text_at(file, i);
        FUZZ_CHECK(text->value == bl_safetensors_text(file, text->key));
    }
    bl_safetensors_close(file);
    return 0;
}
