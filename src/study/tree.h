/* A YAML text as a tree in which every node knows its line and column. Of use inside this room. */
#ifndef BL_STUDY_TREE_H
#define BL_STUDY_TREE_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

#define BL_TREE_MAX_DEPTH 16
#define BL_TREE_MAX_NODES 20000 /* counted after aliases are followed: a small text must not grow without end */

typedef enum bl_node_kind { BL_NODE_NOTHING, BL_NODE_TEXT, BL_NODE_LIST, BL_NODE_MAP } bl_node_kind;

typedef struct bl_node {
    bl_node_kind kind;
    const char *text; /* BL_NODE_TEXT: the scalar, without blanks around it unless quoted */
    const struct bl_node *const *items;
    const struct bl_node *const *keys; /* BL_NODE_MAP: texts, each there once */
    size_t n;
    size_t line, column; /* from 1 */
} bl_node;

/* All memory is the arena's. `name` is the file's, for messages. BL_ERR_FORMAT: no YAML, or too deep or large, with
 * line and column; BL_ERR_ENV: built without libyaml; BL_ERR_NOMEM. */
int bl_tree_parse(const char *text, size_t len, const char *name, bl_arena *arena, const bl_node **out, bl_error *err);

/* The value of a key, or NULL; and the key's own node. */
const bl_node *bl_node_get(const bl_node *map, const char *key);
const bl_node *bl_node_key(const bl_node *map, const char *key);

/* BL_ERR_FORMAT: "'name', line 3, column 7: ..." */
int bl_node_fail(const bl_node *node, const char *name, bl_error *err, const char *format, ...) BL_PRINTF(4, 5);

#endif
