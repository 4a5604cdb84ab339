#include "study/study.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "study/keys.h"
#include "study/tree.h"

const bl_key bl_study_keys[] = {
    {"batchlab", BL_KEY_VERSION, true, "The version of this format: 1."},
    {"title", BL_KEY_TEXT, true, "What the study is, in one line."},
    {"about", BL_KEY_TEXT, false, "What it asks, and what it can and cannot decide."},
    {"vars", BL_KEY_VARS, false,
     "Variables: ${NAME} in any text stands for its value; a list is joined by commas, or, "
     "as a whole item of a list, put in item by item."},
    {"scales", BL_KEY_SCALES, true,
     "The forms in which the study can be run, each with variables of its own; the "
     "first is the default."},
    {"steps", BL_KEY_STEPS, true, "What is run, in order."},
};
const size_t bl_study_n_keys = BL_ARRAY_LEN(bl_study_keys);

const bl_key bl_step_keys[] = {
    {"name", BL_KEY_WORD, true, "The step's name, by which --resume finds its experiment and ${id.NAME} its number."},
    {"about", BL_KEY_TEXT, false, "What it is for."},
    {"scales", BL_KEY_NAMES, false, "The scales in which it is run (default: all)."},
    {"command", BL_KEY_WORD, true, "The batchlab command."},
    {"options", BL_KEY_OPTIONS, false, "The command's options by their long names, without the dashes."},
    {"operands", BL_KEY_WORDS, false, "What stands on its line without an option, such as an experiment's number."},
    {"run", BL_KEY_WORDS, false, "The training command, word by word: what stands after --."},
    {"expect-failures", BL_KEY_BOOL, false, "Trials may fail, since that is part of the answer (out of memory)."},
};
const size_t bl_step_n_keys = BL_ARRAY_LEN(bl_step_keys);

bool bl_is_word(const char *text)
{
    return text[0] && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

bool bl_node_bool(const bl_node *node, bool *out)
{
    if (node->kind != BL_NODE_TEXT)
        return false;
    *out = strcmp(node->text, "true") == 0;
    return *out || strcmp(node->text, "false") == 0;
}

const char *bl_nearest(const char *text, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    int least = 3; /* farther ones are no help */
    for (size_t i = 0; i < n; i++) {
        int d = bl_str_distance(text, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

const bl_node *bl_node_get(const bl_node *map, const char *key)
{
    for (size_t i = 0; map && i < map->n; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

const bl_node *bl_node_key(const bl_node *map, const char *key)
{
    for (size_t i = 0; map && i < map->n; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->keys[i];
    return NULL;
}

int bl_node_fail(const bl_node *node, const char *name, bl_error *err, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return BL_FAIL(err, BL_ERR_FORMAT, "'%s', line %zu, column %zu: %s", name, node->line, node->column, what);
}

/* ---- the structure ---- */

typedef struct checking {
    const char *name;
    const bl_node *root;
    bl_error *err;
} checking;

static int check_texts(const checking *c, const bl_node *list, const char *key, bool words)
{
    if (list->kind != BL_NODE_LIST) {
        bl_node_fail(list, c->name, c->err, "%s must be a list", key);
        bl_error_remedy(c->err, "%s: [one, two]", key);
        return BL_ERR_FORMAT;
    }
    for (size_t i = 0; i < list->n; i++) {
        const bl_node *item = list->items[i];
        if (item->kind != BL_NODE_TEXT || (words && !bl_is_word(item->text)))
            return bl_node_fail(item, c->name, c->err, "each item of %s must be a %s", key, words ? "word" : "text");
    }
    return BL_OK;
}

static int check_vars(const checking *c, const bl_node *vars, const char *key)
{
    if (vars->kind == BL_NODE_NOTHING)
        return BL_OK;
    if (vars->kind != BL_NODE_MAP)
        return bl_node_fail(vars, c->name, c->err, "%s must be a mapping from names to values", key);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < vars->n; i++) {
        if (!bl_is_word(vars->keys[i]->text))
            code =
                bl_node_fail(vars->keys[i], c->name, c->err, "a variable's name is made of letters, digits, - and _");
        else if (vars->items[i]->kind == BL_NODE_LIST)
            code = check_texts(c, vars->items[i], vars->keys[i]->text, false);
        else if (vars->items[i]->kind != BL_NODE_TEXT)
            code = bl_node_fail(vars->items[i], c->name, c->err, "'%s' must be a text or a list of texts",
                                vars->keys[i]->text);
    }
    return code;
}

static int check_scales(const checking *c, const bl_node *scales)
{
    if (scales->kind != BL_NODE_MAP || scales->n == 0) {
        bl_node_fail(scales, c->name, c->err, "scales must name at least one scale");
        bl_error_remedy(c->err, "scales: {small: {sizes: [15, 16, 17]}}");
        return BL_ERR_FORMAT;
    }
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < scales->n; i++)
        code = bl_is_word(scales->keys[i]->text)
                   ? check_vars(c, scales->items[i], scales->keys[i]->text)
                   : bl_node_fail(scales->keys[i], c->name, c->err, "a scale's name is made of letters and digits");
    return code;
}

static int check_keys(const checking *c, const bl_node *map, const bl_key *keys, size_t n, const char *of);

static int check_steps(const checking *c, const bl_node *steps)
{
    if (steps->kind != BL_NODE_LIST || steps->n == 0)
        return bl_node_fail(steps, c->name, c->err, "steps must be a list of at least one step");
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < steps->n; i++) {
        code = check_keys(c, steps->items[i], bl_step_keys, bl_step_n_keys, "a step");
        for (size_t j = 0; code == BL_OK && j < i; j++)
            if (strcmp(bl_node_get(steps->items[j], "name")->text, bl_node_get(steps->items[i], "name")->text) == 0)
                code = bl_node_fail(bl_node_get(steps->items[i], "name"), c->name, c->err,
                                    "an earlier step has this name");
    }
    return code;
}

static int check_scale_names(const checking *c, const bl_node *names)
{
    const bl_node *scales = bl_node_get(c->root, "scales");
    int code = check_texts(c, names, "scales", true);
    for (size_t i = 0; code == BL_OK && i < names->n; i++)
        if (!bl_node_key(scales, names->items[i]->text))
            code = bl_node_fail(names->items[i], c->name, c->err, "there is no scale '%s'", names->items[i]->text);
    return code;
}

static int check_value(const checking *c, const bl_key *key, const bl_node *value)
{
    bool truth;
    switch (key->kind) {
    case BL_KEY_VERSION:
        if (value->kind != BL_NODE_TEXT || strcmp(value->text, "1") != 0)
            return bl_node_fail(value, c->name, c->err, "this batchlab reads version 1 of experiment files");
        return BL_OK;
    case BL_KEY_TEXT:
        return value->kind == BL_NODE_TEXT ? BL_OK
                                           : bl_node_fail(value, c->name, c->err, "%s must be a text", key->name);
    case BL_KEY_WORD:
        if (value->kind != BL_NODE_TEXT || !bl_is_word(value->text))
            return bl_node_fail(value, c->name, c->err, "%s must be a word of letters, digits, - and _", key->name);
        return BL_OK;
    case BL_KEY_BOOL:
        return bl_node_bool(value, &truth)
                   ? BL_OK
                   : bl_node_fail(value, c->name, c->err, "%s must be true or false", key->name);
    case BL_KEY_WORDS:
        return check_texts(c, value, key->name, false);
    case BL_KEY_NAMES:
        return check_scale_names(c, value);
    case BL_KEY_VARS:
        return check_vars(c, value, key->name);
    case BL_KEY_SCALES:
        return check_scales(c, value);
    case BL_KEY_STEPS:
        return check_steps(c, value);
    case BL_KEY_OPTIONS:
        return value->kind == BL_NODE_MAP ? BL_OK : bl_node_fail(value, c->name, c->err, "options must be a mapping");
    }
    return BL_OK;
}

static int fail_unknown_key(const checking *c, const bl_node *key, const bl_key *keys, size_t n, const char *of)
{
    const char *names[16];
    for (size_t i = 0; i < n && i < BL_ARRAY_LEN(names); i++)
        names[i] = keys[i].name;
    const char *nearest = bl_nearest(key->text, names, n);
    bl_node_fail(key, c->name, c->err, "%s has no key '%s'", of, key->text);
    bl_str all;
    bl_str_init(&all);
    for (size_t i = 0; i < n; i++)
        bl_str_printf(&all, "%s%s", i ? ", " : "", keys[i].name);
    bl_error_remedy(c->err, nearest ? "%s" : "its keys are: %s", nearest ? nearest : bl_str_text(&all));
    bl_str_clear(&all);
    return BL_ERR_FORMAT;
}

static int check_keys(const checking *c, const bl_node *map, const bl_key *keys, size_t n, const char *of)
{
    if (map->kind != BL_NODE_MAP)
        return bl_node_fail(map, c->name, c->err, "%s must be a mapping of keys and values", of);
    for (size_t i = 0; i < map->n; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known = known || strcmp(keys[k].name, map->keys[i]->text) == 0;
        if (!known)
            return fail_unknown_key(c, map->keys[i], keys, n, of);
    }
    int code = BL_OK;
    for (size_t k = 0; code == BL_OK && k < n; k++) {
        const bl_node *value = bl_node_get(map, keys[k].name);
        if (value)
            code = check_value(c, &keys[k], value);
        else if (keys[k].required)
            code = bl_node_fail(map, c->name, c->err, "%s lacks its %s", of, keys[k].name);
    }
    return code;
}

int bl_study_parse(const char *text, size_t len, const char *name, bl_arena *arena, bl_study *out, bl_error *err)
{
    *out = (bl_study){.name = name};
    if (len > BL_STUDY_MAX_B)
        return BL_FAIL(err, BL_ERR_FORMAT, "'%s' is larger than an experiment file may be (1 MiB)", name);
    int code = bl_tree_parse(text, len, name, arena, &out->root, err);
    const checking c = {.name = name, .root = out->root, .err = err};
    if (code == BL_OK)
        code = check_keys(&c, out->root, bl_study_keys, bl_study_n_keys, "the file");
    if (code != BL_OK)
        return code;
    const bl_node *scales = bl_node_get(out->root, "scales"), *about = bl_node_get(out->root, "about");
    const char **names = bl_arena_alloc(arena, scales->n, sizeof *names);
    if (!names)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for '%s'", name);
    for (size_t i = 0; i < scales->n; i++)
        names[i] = scales->keys[i]->text;
    out->title = bl_node_get(out->root, "title")->text;
    out->about = about ? about->text : NULL;
    out->scales = names;
    out->n_scales = scales->n;
    out->n_steps = bl_node_get(out->root, "steps")->n;
    return BL_OK;
}
