/* Reads every tensor and metadata of a safetensors file and writes them anew: I64 and I32 as I64, other numbers as F32.
 * usage: copy_safetensors FROM TO. Exit status 2 where FROM is refused. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "tensor/safetensors.h"

static int take(const bl_safetensors *file, const bl_st_tensor *t, bl_st_item *item, bl_error *err)
{
    bool whole = t->type == BL_ST_I64 || t->type == BL_ST_I32;
    void *data = bl_calloc((size_t)t->count + 1, 8);
    if (!data)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory");
    *item = (bl_st_item){.name = t->name, .type = whole ? BL_ST_I64 : BL_ST_F32, .data = data};
    item->shape.n_dims = t->n_dims;
    for (int i = 0; i < t->n_dims && i < BL_MAX_DIMS; i++)
        item->shape.dim[i] = t->dim[i];
    return whole ? bl_safetensors_read_i64(file, t, data, err) : bl_safetensors_read_f32(file, t, data, err);
}

int main(int argc, char **argv)
{
    bl_error err = {0};
    bl_safetensors *file = NULL;
    bl_log_init("copy_safetensors", BL_LOG_NORMAL);
    if (argc != 3)
        return 3;
    if (bl_safetensors_open(argv[1], &file, &err) != BL_OK)
        return bl_log_error(&err);
    int n = bl_safetensors_count(file), n_texts = bl_safetensors_text_count(file), code = BL_OK;
    bl_st_item *items = bl_calloc((size_t)n + 1, sizeof *items);
    bl_st_text *texts = bl_calloc((size_t)n_texts + 1, sizeof *texts);
    if (!items || !texts)
        code = BL_FAIL(&err, BL_ERR_NOMEM, "no memory");
    for (int i = 0; code == BL_OK && i < n; i++)
        code = take(file, bl_safetensors_at(file, i), &items[i], &err);
    for (int i = 0; code == BL_OK && i < n_texts; i++)
        texts[i] = *bl_safetensors_text_at(file, i);
    if (code == BL_OK)
        code = bl_safetensors_write(argv[2], items, n, texts, n_texts, &err);
    for (int i = 0; items && i < n; i++)
        free((void *)items[i].data);
    free(items);
    free(texts);
    bl_safetensors_close(file);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
