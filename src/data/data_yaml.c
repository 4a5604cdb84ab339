#include "data/data_yaml.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "data/dataset.h"

typedef struct parsing {
    yaml_document_t document;
    const char *name;
    bl_data_yaml *out;
    bl_error *err;
} parsing;

static int refuse(const parsing *p, const yaml_node_t *node, const char *what)
{
    return BL_FAIL(p->err, BL_ERR_FORMAT, "'%s', line %zu: %s", p->name, node ? node->start_mark.line + 1 : 1, what);
}

static int no_memory(const parsing *p)
{
    return BL_FAIL(p->err, BL_ERR_NOMEM, "no memory to read '%s'", p->name);
}

static yaml_node_t *node_at(parsing *p, int index)
{
    return yaml_document_get_node(&p->document, index);
}

/* NULL where it is no text, or one with a zero byte in it. */
static const char *text_of(const yaml_node_t *node)
{
    if (!node || node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* "key:" with nothing behind it. */
static bool is_nothing(const yaml_node_t *node)
{
    const char *text = text_of(node);
    return text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!text[0] || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static int push(parsing *p, bl_strv *list, const yaml_node_t *node)
{
    const char *text = text_of(node);
    if (!text)
        return refuse(p, node, "this is no text");
    return bl_strv_push(list, text) == BL_OK ? BL_OK : no_memory(p);
}

static int take_list(parsing *p, const yaml_node_t *node, bl_strv *out)
{
    int code = BL_OK;
    for (const yaml_node_item_t *i = node->data.sequence.items.start;
         code == BL_OK && i < node->data.sequence.items.top; i++)
        code = push(p, out, node_at(p, *i));
    return code;
}

static int take_places(parsing *p, const yaml_node_t *node, bl_strv *out)
{
    if (is_nothing(node))
        return BL_OK;
    return node->type == YAML_SEQUENCE_NODE ? take_list(p, node, out) : push(p, out, node);
}

/* Names by number: each from 0 to one before their number must be there once. */
static int take_numbered(parsing *p, const yaml_node_t *node)
{
    const yaml_node_pair_t *start = node->data.mapping.pairs.start, *top = node->data.mapping.pairs.top;
    size_t n = (size_t)(top - start);
    const yaml_node_t **by_number = n <= BL_CLASSES_MAX ? bl_calloc(n, sizeof *by_number) : NULL;
    if (n > BL_CLASSES_MAX)
        return refuse(p, node, "too many names");
    if (n > 0 && !by_number)
        return no_memory(p);
    int code = BL_OK;
    for (const yaml_node_pair_t *pair = start; code == BL_OK && pair < top; pair++) {
        const yaml_node_t *key = node_at(p, pair->key);
        const char *text = text_of(key);
        int64_t number;
        if (!text || bl_parse_i64(text, "a class", 0, (int64_t)n - 1, &number, NULL) != BL_OK)
            code = refuse(p, key, "the names' numbers are not 0, 1 and so on");
        else if (by_number[number])
            code = refuse(p, key, "this class was named before");
        else
            by_number[number] = node_at(p, pair->value);
    }
    for (size_t i = 0; code == BL_OK && i < n; i++)
        code = push(p, &p->out->names, by_number[i]);
    free(by_number);
    return code;
}

static int take_names(parsing *p, const yaml_node_t *node)
{
    if (is_nothing(node))
        return BL_OK;
    if (node->type == YAML_MAPPING_NODE)
        return take_numbered(p, node);
    return node->type == YAML_SEQUENCE_NODE ? take_list(p, node, &p->out->names)
                                            : refuse(p, node, "names must be a list, or a mapping from numbers");
}

static int take_count(parsing *p, const yaml_node_t *node)
{
    const char *text = text_of(node);
    if (!text || bl_parse_i64(text, "nc", 1, BL_CLASSES_MAX, &p->out->nc, NULL) != BL_OK)
        return refuse(p, node, "nc must be a number of classes, at most 10000");
    return BL_OK;
}

static int take_path(parsing *p, const yaml_node_t *node)
{
    const char *text = text_of(node);
    if (is_nothing(node))
        return BL_OK;
    if (!text)
        return refuse(p, node, "path must be a folder's name");
    p->out->path = bl_strdup(text);
    return p->out->path ? BL_OK : no_memory(p);
}

static int take(parsing *p, int key, const yaml_node_t *value)
{
    switch (key) {
    case 0:
        return take_path(p, value);
    case 1:
        return take_places(p, value, &p->out->train);
    case 2:
        return take_places(p, value, &p->out->val);
    case 3:
        return take_places(p, value, &p->out->test);
    case 4:
        return take_count(p, value);
    default:
        return take_names(p, value);
    }
}

static int read_root(parsing *p)
{
    static const char *const keys[] = {"path", "train", "val", "test", "nc", "names"};
    enum { KEYS = sizeof keys / sizeof *keys };
    bool seen[KEYS] = {false};
    const yaml_node_t *root = yaml_document_get_root_node(&p->document);
    if (!root || root->type != YAML_MAPPING_NODE)
        return refuse(p, root, "there are no keys and values");
    int code = BL_OK;
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         code == BL_OK && pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = node_at(p, pair->key);
        const char *text = text_of(key);
        for (int k = 0; text && code == BL_OK && k < KEYS; k++) {
            if (strcmp(text, keys[k]) != 0)
                continue;
            code = seen[k] ? refuse(p, key, "this key was there before") : take(p, k, node_at(p, pair->value));
            seen[k] = true;
        }
    }
    const bl_data_yaml *out = p->out;
    if (code == BL_OK && out->train.len == 0)
        code = refuse(p, root, "it does not say where the images to train on are ('train:')");
    if (code == BL_OK && out->names.len > BL_CLASSES_MAX)
        code = refuse(p, root, "too many names");
    if (code == BL_OK && out->nc > 0 && out->names.len > 0 && (size_t)out->nc != out->names.len)
        code = BL_FAIL(p->err, BL_ERR_FORMAT, "'%s' says nc: %lld, and names %zu classes", p->name, (long long)out->nc,
                       out->names.len);
    return code;
}

int bl_data_yaml_parse(const char *text, size_t len, const char *name, bl_data_yaml *out, bl_error *err)
{
    yaml_parser_t parser;
    parsing p = {.name = name, .out = out, .err = err};
    *out = (bl_data_yaml){0};
    if (!yaml_parser_initialize(&parser))
        return no_memory(&p);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int code = BL_OK;
    if (yaml_parser_load(&parser, &p.document)) {
        code = read_root(&p);
        yaml_document_delete(&p.document);
    } else if (parser.error == YAML_MEMORY_ERROR) {
        code = no_memory(&p);
    } else {
        code = BL_FAIL(err, BL_ERR_FORMAT, "'%s', line %zu: %s", name, parser.problem_mark.line + 1,
                       parser.problem ? parser.problem : "this is no YAML");
    }
    yaml_parser_delete(&parser);
    if (code == BL_ERR_FORMAT)
        bl_error_remedy(err, "such as: train: images/train, val: images/val, nc: 80");
    return code;
}

void bl_data_yaml_clear(bl_data_yaml *yaml)
{
    free(yaml->path);
    bl_strv_clear(&yaml->train);
    bl_strv_clear(&yaml->val);
    bl_strv_clear(&yaml->test);
    bl_strv_clear(&yaml->names);
    *yaml = (bl_data_yaml){0};
}
