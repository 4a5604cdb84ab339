#include "train/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

#define NAMES_SHOWN 3

/* ---- writing ---- */

void bl_tensor_list_init(bl_tensor_list *list)
{
    *list = (bl_tensor_list){0};
    bl_arena_init(&list->arena);
}

void bl_tensor_list_clear(bl_tensor_list *list)
{
    free(list->items);
    bl_arena_clear(&list->arena);
    *list = (bl_tensor_list){0};
}

/* Counters are floats that hold whole numbers; one past them all could not be cast. */
static const int64_t *as_whole(bl_arena *arena, const float *from, int64_t count)
{
    int64_t *out = bl_arena_alloc(arena, (size_t)count, sizeof *out);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = from[i] > -0x1p63f && from[i] < 0x1p63f ? (int64_t)from[i] : INT64_MAX;
    return out;
}

int bl_tensor_list_add(bl_tensor_list *list, const bl_params *params, const char *prefix, const float *slab,
                       int64_t count, bl_error *err)
{
    int n = bl_params_count(params);
    bl_st_item *items = bl_realloc(list->items, (size_t)(list->n + n), sizeof *items);
    if (!items)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to list %d tensors", n);
    list->items = items;
    for (int i = 0; i < n; i++) {
        const bl_param *p = bl_params_at(params, i);
        const float *values = slab + p->offset;
        if (p->offset + p->count > count)
            continue;
        bl_st_item item = {.name = bl_arena_printf(&list->arena, "%s%s", prefix, p->name), .shape = p->shape};
        item.type = p->integer ? BL_ST_I64 : BL_ST_F32;
        item.data = p->integer ? (const void *)as_whole(&list->arena, values, p->count) : values;
        if (!item.name || !item.data)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory to list %d tensors", n);
        items[list->n++] = item;
    }
    return BL_OK;
}

int bl_weights_save(const char *path, bl_params *params, const char *model, bl_error *err)
{
    const bl_st_text texts[] = {{"format", "pt"}, {"model", model}, {"written_by", "batchlab-train " BATCHLAB_VERSION}};
    bl_tensor_list list;
    bl_tensor_list_init(&list);
    int code = bl_tensor_list_add(&list, params, "", bl_params_value_slab(params), INT64_MAX, err);
    if (code == BL_OK)
        code = bl_safetensors_write(path, list.items, list.n, texts, BL_ARRAY_LEN(texts), err);
    bl_tensor_list_clear(&list);
    return code;
}

/* ---- reading ---- */

int bl_weights_read(const bl_safetensors *file, const bl_st_tensor *tensor, const bl_param *entry, float *out,
                    bl_error *err)
{
    char have[128], want[128];
    if (!bl_st_has_shape(tensor, &entry->shape))
        return BL_FAIL(err, BL_ERR_FORMAT, "tensor '%s' is %s, wanted is %s", tensor->name,
                       bl_st_format(tensor, have, sizeof have), bl_shape_format(&entry->shape, want, sizeof want));
    int code = bl_safetensors_read_f32(file, tensor, out, err);
    for (int64_t i = 0; code == BL_OK && entry->integer && i < entry->count; i++)
        if (!(out[i] >= 0 && out[i] == truncf(out[i])))
            code = BL_FAIL(err, BL_ERR_FORMAT, "tensor '%s' counts something, but is no natural number", tensor->name);
    return code;
}

/* Names of one fault; the first few are told. */
typedef struct faults {
    int n;
    bl_str text;
} faults;

static void add_fault(faults *f, const char *name, const char *detail)
{
    if (f->n++ < NAMES_SHOWN)
        bl_str_printf(&f->text, "%s%.60s%s", f->n > 1 ? ", " : "", name, detail);
    else if (f->n == NAMES_SHOWN + 1)
        bl_str_append(&f->text, ", ...");
}

typedef struct comparison {
    faults missing, unexpected, shapes;
    bool only_head; /* among the shapes */
} comparison;

static bool is_head(const bl_params *other, const bl_param *entry)
{
    int at = bl_params_find(other, entry->name);
    return at < 0 || !bl_shape_equal(&bl_params_at(other, at)->shape, &entry->shape);
}

static int compare(const bl_safetensors *file, const bl_params *params, const bl_params *other, bool new_head,
                   bl_strv *fresh, comparison *c)
{
    c->only_head = true;
    for (int i = 0; i < bl_params_count(params); i++) {
        const bl_param *p = bl_params_at(params, i);
        const bl_st_tensor *t = bl_safetensors_find(file, p->name);
        bool head = is_head(other, p);
        char have[128], want[128], detail[300];
        if (new_head && head) {
            if (bl_strv_push(fresh, p->name) != BL_OK)
                return BL_ERR_NOMEM;
        } else if (!t && !p->integer) {
            add_fault(&c->missing, p->name, "");
        } else if (t && !bl_st_has_shape(t, &p->shape)) {
            snprintf(detail, sizeof detail, " is %s, not %s", bl_st_format(t, have, sizeof have),
                     bl_shape_format(&p->shape, want, sizeof want));
            add_fault(&c->shapes, p->name, detail);
            c->only_head = c->only_head && head;
        }
    }
    for (int i = 0; i < bl_safetensors_count(file); i++) {
        const char *name = bl_safetensors_at(file, i)->name;
        if (bl_params_find(params, name) < 0 && strncmp(name, BL_STATE_PREFIX, strlen(BL_STATE_PREFIX)) != 0)
            add_fault(&c->unexpected, name, "");
    }
    return BL_OK;
}

static int tell(const char *path, const comparison *c, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    if (c->shapes.n > 0)
        bl_str_printf(&text, "; %d of other shapes: %s", c->shapes.n, bl_str_text(&c->shapes.text));
    if (c->missing.n > 0)
        bl_str_printf(&text, "; %d missing: %s", c->missing.n, bl_str_text(&c->missing.text));
    if (c->unexpected.n > 0)
        bl_str_printf(&text, "; %d that the model has not: %s", c->unexpected.n, bl_str_text(&c->unexpected.text));
    if (text.len == 0)
        return BL_OK;
    BL_FAIL(err, BL_ERR_FORMAT, "the tensors of '%s' are not the model's%s", path, bl_str_text(&text));
    if (c->missing.n == 0 && c->unexpected.n == 0 && c->only_head)
        bl_error_remedy(err,
                        "--new-head draws the classifier anew for your classes, or --classes as many as the file's");
    else
        bl_error_remedy(err, "weights of the same model are wanted, under the names of its public state dict");
    bl_str_clear(&text);
    return BL_ERR_FORMAT;
}

static int load_all(const bl_safetensors *file, bl_params *params, const bl_params *other, bool new_head, bl_error *err)
{
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < bl_params_count(params); i++) {
        const bl_param *p = bl_params_at(params, i);
        const bl_st_tensor *t = bl_safetensors_find(file, p->name);
        if (t && !(new_head && is_head(other, p)))
            code = bl_weights_read(file, t, p, bl_params_value(params, i), err);
    }
    bl_params_touch(params);
    return code;
}

int bl_weights_load(const char *path, bl_params *params, const bl_params *other, bool new_head, bl_strv *fresh,
                    bl_error *err)
{
    bl_safetensors *file;
    comparison c = {0};
    int code = bl_safetensors_open(path, &file, err);
    if (code != BL_OK)
        return code;
    if (compare(file, params, other, new_head, fresh, &c) != BL_OK)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory to compare '%s' with the model", path);
    if (code == BL_OK)
        code = tell(path, &c, err);
    if (code == BL_OK)
        code = load_all(file, params, other, new_head, err);
    bl_str_clear(&c.missing.text);
    bl_str_clear(&c.unexpected.text);
    bl_str_clear(&c.shapes.text);
    bl_safetensors_close(file);
    return code;
}
