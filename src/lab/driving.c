#include "lab/driving.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

#define RULES_MAX_B (1 << 20)

void bl_driving_clear(bl_driving *driving)
{
    bl_str_clear(&driving->rules_text);
    bl_rules_free(driving->rules);
    driving->rules = NULL;
}

static int begin(bl_driving *driving, bl_error *err)
{
    *driving = (bl_driving){0};
    bl_str_init(&driving->rules_text);
    return bl_rules_new(&driving->rules, err);
}

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the settings");
}

/* ---- rules ---- */

static int add_oom_pattern(const char *pattern, bl_driving *driving, bl_error *err)
{
    if (strchr(pattern, '\n'))
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--oom-pattern: a pattern is one line; write \\n for the end of a line in it");
    bl_str_printf(&driving->rules_text, "device_oom %s\n", pattern);
    return bl_rules_add(driving->rules, BL_MESSAGE_DEVICE_OOM, pattern, "--oom-pattern", err);
}

static int read_rules(const char *path, bl_driving *driving, bl_error *err)
{
    char *text = NULL;
    size_t n = 0;
    int code = bl_fs_read(path, RULES_MAX_B, &text, &n, err);
    if (code != BL_OK) {
        bl_error_context(err, "--rules");
        return code;
    }
    if (strlen(text) != n)
        code = BL_FAIL(err, BL_ERR_FORMAT, "--rules '%s' is no text: it holds zero bytes", path);
    else
        code = bl_rules_add_text(driving->rules, text, path, err);
    bl_str_printf(&driving->rules_text, "%s%s", text, n > 0 && text[n - 1] != '\n' ? "\n" : "");
    free(text);
    return code;
}

int bl_driving_from_options(const bl_driving_options *o, bl_driving *driving, bl_error *err)
{
    int code = begin(driving, err);
    for (size_t i = 0; code == BL_OK && i < o->oom_patterns.len; i++)
        code = add_oom_pattern(o->oom_patterns.items[i], driving, err);
    if (code == BL_OK && o->rules_file)
        code = read_rules(o->rules_file, driving, err);
    return code == BL_OK && driving->rules_text.failed ? no_memory(err) : code;
}

/* ---- to and from the store ---- */

static int take_rules(const json_t *value, bl_driving *driving, bl_error *err)
{
    bl_str_append(&driving->rules_text, json_string_value(value));
    if (driving->rules_text.failed)
        return no_memory(err);
    return bl_rules_add_text(driving->rules, bl_str_text(&driving->rules_text), "the experiment's rules", err);
}

static const struct {
    const char *name;
    json_type type;
    int (*take)(const json_t *, bl_driving *, bl_error *);
} members[] = {
    {"rules", JSON_STRING, take_rules},
};

int bl_driving_from_json(const char *json, bl_driving *driving, bl_error *err)
{
    int code = begin(driving, err);
    json_t *object = json ? json_loads(json, JSON_REJECT_DUPLICATES, NULL) : json_object();
    if (code == BL_OK && !json_is_object(object))
        code = BL_FAIL(err, BL_ERR_FORMAT, "the experiment's settings cannot be read");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        size_t i = 0;
        while (i < BL_ARRAY_LEN(members) && strcmp(members[i].name, name) != 0)
            i++;
        if (code == BL_OK && (i == BL_ARRAY_LEN(members) || json_typeof(value) != members[i].type))
            code = BL_FAIL(err, BL_ERR_FORMAT, "the experiment was begun with '%s', which this batchlab does not know",
                           name);
        if (code == BL_OK)
            code = members[i].take(value, driving, err);
    }
    json_decref(object);
    return code;
}

int bl_driving_to_json(const bl_driving *driving, bl_str *out, bl_error *err)
{
    json_t *object = json_object();
    if (driving->rules_text.len > 0 &&
        json_object_set_new(object, "rules", json_string(driving->rules_text.data)) != 0) {
        json_decref(object);
        return BL_FAIL(err, BL_ERR_USAGE, "--oom-pattern and --rules must be UTF-8, since they are stored as JSON");
    }
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    if (!text)
        return no_memory(err);
    bl_str_append(out, text);
    free(text);
    return out->failed ? no_memory(err) : BL_OK;
}
