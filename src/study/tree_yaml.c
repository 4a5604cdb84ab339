#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#include "study/tree.h"

typedef struct parsing {
    const char *name;
    yaml_document_t document;
    bl_arena *arena;
    size_t n_nodes;
    bl_error *err;
} parsing;

static int no_memory(parsing *p)
{
    return BL_FAIL(p->err, BL_ERR_NOMEM, "no memory for '%s'", p->name);
}

static int refuse(parsing *p, const yaml_mark_t *mark, const char *what)
{
    return BL_FAIL(p->err, BL_ERR_FORMAT, "'%s', line %zu, column %zu: %s", p->name, mark->line + 1, mark->column + 1,
                   what);
}

static int copy(parsing *p, int index, int depth, const bl_node **out);

static bool is_nothing(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!text[0] || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static int copy_text(parsing *p, const yaml_node_t *node, bl_node *to)
{
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length)
        return refuse(p, &node->start_mark, "a text must not hold a NUL");
    if (is_nothing(node))
        return BL_OK;
    to->kind = BL_NODE_TEXT;
    to->text = bl_arena_strdup(p->arena, text);
    return to->text ? BL_OK : no_memory(p);
}

static int copy_list(parsing *p, const yaml_node_t *node, int depth, bl_node *to)
{
    const yaml_node_item_t *start = node->data.sequence.items.start;
    size_t n = (size_t)(node->data.sequence.items.top - start);
    const bl_node **items = bl_arena_alloc(p->arena, n + 1, sizeof *items);
    if (!items)
        return no_memory(p);
    to->kind = BL_NODE_LIST;
    to->items = items;
    to->n = n;
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++)
        code = copy(p, start[i], depth + 1, &items[i]);
    return code;
}

static int copy_map(parsing *p, const yaml_node_t *node, int depth, bl_node *to)
{
    const yaml_node_pair_t *start = node->data.mapping.pairs.start;
    size_t n = (size_t)(node->data.mapping.pairs.top - start);
    const bl_node **items = bl_arena_alloc(p->arena, n + 1, sizeof *items);
    const bl_node **keys = bl_arena_alloc(p->arena, n + 1, sizeof *keys);
    if (!items || !keys)
        return no_memory(p);
    to->kind = BL_NODE_MAP;
    to->items = items;
    to->keys = keys;
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        code = copy(p, start[i].key, depth + 1, &keys[i]);
        if (code == BL_OK && keys[i]->kind != BL_NODE_TEXT)
            code = bl_node_fail(keys[i], p->name, p->err, "a key must be a plain word");
        if (code == BL_OK && bl_node_get(to, keys[i]->text))
            code = bl_node_fail(keys[i], p->name, p->err, "'%s' was there before", keys[i]->text);
        if (code == BL_OK)
            code = copy(p, start[i].value, depth + 1, &items[i]);
        if (code == BL_OK)
            to->n = i + 1;
    }
    return code;
}

static int copy(parsing *p, int index, int depth, const bl_node **out)
{
    const yaml_node_t *node = yaml_document_get_node(&p->document, index);
    if (depth > BL_TREE_MAX_DEPTH)
        return refuse(p, &node->start_mark, "this is nested too deeply");
    if (++p->n_nodes > BL_TREE_MAX_NODES)
        return refuse(p, &node->start_mark, "this is too much for an experiment file");
    bl_node *to = bl_arena_alloc(p->arena, 1, sizeof *to);
    if (!to)
        return no_memory(p);
    to->line = node->start_mark.line + 1;
    to->column = node->start_mark.column + 1;
    *out = to;
    if (node->type == YAML_SCALAR_NODE)
        return copy_text(p, node, to);
    return node->type == YAML_SEQUENCE_NODE ? copy_list(p, node, depth, to) : copy_map(p, node, depth, to);
}

static int copy_document(parsing *p, const bl_node **out)
{
    static const yaml_mark_t beginning;
    return yaml_document_get_root_node(&p->document) ? copy(p, 1, 0, out) : refuse(p, &beginning, "it is empty");
}

int bl_tree_parse(const char *text, size_t len, const char *name, bl_arena *arena, const bl_node **out, bl_error *err)
{
    yaml_parser_t parser;
    parsing p = {.name = name, .arena = arena, .err = err};
    if (!yaml_parser_initialize(&parser))
        return no_memory(&p);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int code = BL_OK;
    if (yaml_parser_load(&parser, &p.document)) {
        code = copy_document(&p, out);
        yaml_document_delete(&p.document);
    } else if (parser.error == YAML_MEMORY_ERROR) {
        code = no_memory(&p);
    } else {
        code = refuse(&p, &parser.problem_mark, parser.problem ? parser.problem : "this is no YAML");
    }
    yaml_parser_delete(&parser);
    return code;
}
