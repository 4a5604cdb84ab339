/* The keys of an experiment file, of which messages, checks and the schema are made. Of use inside this room. */
#ifndef BL_STUDY_KEYS_H
#define BL_STUDY_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "study/tree.h"

typedef enum bl_key_kind {
    BL_KEY_VERSION, /* the number 1 */
    BL_KEY_TEXT,
    BL_KEY_WORD,  /* letters, digits, - and _ */
    BL_KEY_BOOL,  /* true or false */
    BL_KEY_WORDS, /* a list of texts */
    BL_KEY_NAMES, /* a list of words */
    BL_KEY_VARS,  /* a mapping from words to texts or lists of texts */
    BL_KEY_SCALES,
    BL_KEY_STEPS,
    BL_KEY_OPTIONS
} bl_key_kind;

typedef struct bl_key {
    const char *name;
    bl_key_kind kind;
    bool required;
    const char *help;
} bl_key;

extern const bl_key bl_study_keys[]; /* of the file */
extern const size_t bl_study_n_keys;
extern const bl_key bl_step_keys[]; /* of a step */
extern const size_t bl_step_n_keys;

bool bl_is_word(const char *text);
/* true or false into *out, else false comes back. */
bool bl_node_bool(const bl_node *node, bool *out);
/* Not the nearest of names, but near enough to be meant; or NULL. */
const char *bl_nearest(const char *text, const char *const *names, size_t n);

#endif
