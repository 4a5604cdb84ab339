#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "tensor/safetensors_types.h"

/* JSON of one tensor; NULL when memory is out. The reference moves on. */
static json_t *describe(const bl_st_item *item, uint64_t begin_b, uint64_t end_b)
{
    json_t *shape = json_array();
    int failed = 0;
    for (int i = 0; i < item->shape.n_dims; i++)
        failed |= json_array_append_new(shape, json_integer(item->shape.dim[i]));
    if (failed) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", bl_st_type_name(item->type), "shape", shape, "data_offsets",
                     (json_int_t)begin_b, (json_int_t)end_b);
}

static int add_texts(json_t *header, const bl_st_text *texts, int n_texts, bl_error *err)
{
    json_t *object = n_texts > 0 ? json_object() : NULL;
    if (n_texts > 0 && json_object_set_new(header, BL_ST_METADATA, object) != 0)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for metadata");
    for (int i = 0; i < n_texts; i++) {
        bool twice = json_object_get(object, texts[i].key) != NULL;
        json_t *value = twice ? NULL : json_string(texts[i].value); /* NULL for what is no UTF-8, too */
        if (json_object_set_new(object, texts[i].key, value) != 0)
            return BL_FAIL(err, BL_ERR_INTERNAL, "the metadata '%s' cannot be written", texts[i].key);
    }
    return BL_OK;
}

/* Adds the tensor to the header and its bytes to the pieces. */
static int add_item(json_t *header, const bl_st_item *item, uint64_t *at_b, bl_fs_piece *piece, bl_error *err)
{
    const char *fault = bl_st_name_fault(item->name);
    int code = fault ? BL_FAIL(err, BL_ERR_INTERNAL, "the tensor name '%.100s' %s", item->name, fault)
                     : bl_shape_check(&item->shape, err);
    if (code == BL_OK && json_object_get(header, item->name))
        code = BL_FAIL(err, BL_ERR_INTERNAL, "two tensors to write are named '%s'", item->name);
    if (code != BL_OK)
        return code;
    *piece = (bl_fs_piece){item->data, (size_t)bl_shape_count(&item->shape) * bl_st_type_size(item->type)};
    json_t *entry = describe(item, *at_b, *at_b + piece->len);
    *at_b += piece->len;
    if (json_object_set_new(header, item->name, entry) != 0)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to describe tensor '%s'", item->name);
    return BL_OK;
}

/* The header's text behind its length, padded with blanks to whole eight bytes, so that the data are aligned. */
static char *print_header(const json_t *header, size_t *out_len)
{
    size_t len = json_dumpb(header, NULL, 0, JSON_COMPACT), padded = (len + 7) / 8 * 8;
    char *text = len > 0 ? bl_calloc(8 + padded, 1) : NULL;
    if (!text)
        return NULL;
    memset(text + 8, ' ', padded);
    for (int i = 0; i < 8; i++)
        text[i] = (char)(uint8_t)((uint64_t)padded >> (8 * i));
    if (json_dumpb(header, text + 8, len, JSON_COMPACT) != len) {
        free(text);
        return NULL;
    }
    *out_len = 8 + padded;
    return text;
}

static int write_pieces(const char *path, const json_t *header, bl_fs_piece *pieces, size_t n, bl_error *err)
{
    size_t len;
    char *text = print_header(header, &len);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the header of '%s'", path);
    pieces[0] = (bl_fs_piece){text, len};
    int code = len - 8 > BL_SAFETENSORS_HEADER_MAX_B
                   ? BL_FAIL(err, BL_ERR_INTERNAL, "'%s' would have a header that nobody reads", path)
                   : bl_fs_replace_pieces(path, pieces, n, err);
    free(text);
    return code;
}

int bl_safetensors_write(const char *path, const bl_st_item *items, int n_items, const bl_st_text *texts, int n_texts,
                         bl_error *err)
{
    bl_fs_piece *pieces = bl_calloc((size_t)n_items + 1, sizeof *pieces);
    json_t *header = json_object();
    int code = pieces && header ? add_texts(header, texts, n_texts, err)
                                : BL_FAIL(err, BL_ERR_NOMEM, "no memory to write '%s'", path);
    uint64_t at_b = 0;
    size_t n = 1;
    for (size_t size = 8; code == BL_OK && size > 0; size /= 2)
        for (int i = 0; code == BL_OK && i < n_items; i++)
            if (bl_st_type_size(items[i].type) == size)
                code = add_item(header, &items[i], &at_b, &pieces[n++], err);
    if (code == BL_OK)
        code = write_pieces(path, header, pieces, n, err);
    json_decref(header);
    free(pieces);
    return code;
}
