#include "store/import_reader.h"

#include <math.h>

#include "store/import_parts.h"

void bl_import_fail(bl_import_reader *r, const char *name, const char *what)
{
    if (r->code == BL_OK)
        r->code = BL_FAIL(r->err, BL_ERR_FORMAT, "%s: %s\"%s\" %s", r->file->name, r->where, name, what);
}

void *bl_import_take(bl_import_reader *r, size_t count, size_t size)
{
    void *block = bl_arena_alloc(r->arena, count > 0 ? count : 1, size);
    if (!block && r->code == BL_OK)
        r->code = bl_import_no_memory(r->file, r->err);
    return block;
}

const char *bl_import_keep(bl_import_reader *r, const char *text)
{
    char *copy = bl_arena_strdup(r->arena, text);
    if (!copy && r->code == BL_OK)
        r->code = bl_import_no_memory(r->file, r->err);
    return copy ? copy : "";
}

/* NULL for null and for what is missing. */
const char *bl_import_text(bl_import_reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return NULL;
    if (json_is_string(value))
        return bl_import_keep(r, json_string_value(value));
    bl_import_fail(r, name, "is no text");
    return NULL;
}

const char *bl_import_must_text(bl_import_reader *r, const json_t *o, const char *name)
{
    const char *text = bl_import_text(r, o, name);
    if (!text)
        bl_import_fail(r, name, "is missing");
    return text ? text : "";
}

double bl_import_real(bl_import_reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return NAN;
    if (!json_is_number(value))
        bl_import_fail(r, name, "is no number");
    return json_number_value(value);
}

int64_t bl_import_int(bl_import_reader *r, const json_t *o, const char *name, int64_t missing)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return missing;
    if (!json_is_integer(value))
        bl_import_fail(r, name, "is no whole number");
    return json_integer_value(value);
}

int64_t bl_import_int_from(bl_import_reader *r, const json_t *o, const char *name, int64_t least, int64_t most)
{
    int64_t value = bl_import_int(r, o, name, INT64_MIN);
    if (value < least || value > most)
        bl_import_fail(r, name, "is missing or out of range");
    return value;
}

const json_t *bl_import_array(bl_import_reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!json_is_array(value))
        bl_import_fail(r, name, "is no array");
    return value;
}
