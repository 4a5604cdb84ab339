/* What programs print when they fail, and what that means: a table of patterns, which the user can extend
 * (docs/OUTCOMES.md). Means something only where the program failed: some print such words as a warning and go on. */
#ifndef BL_TRIAL_RULES_H
#define BL_TRIAL_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef enum bl_message {
    BL_MESSAGE_NONE,       /* harmless: a line that says so is passed over */
    BL_MESSAGE_SHARED_OOM, /* /dev/shm is too small */
    BL_MESSAGE_DEVICE_OOM, /* the accelerator's memory is out */
    BL_MESSAGE_HOST_OOM,   /* the machine's is */
    BL_MESSAGE_LIMIT,      /* a size that the program cannot take */
    BL_MESSAGE_CRASH,
    BL_MESSAGE_AMBIGUOUS, /* may be memory, may be something else */
    BL_MESSAGE_TIMEOUT    /* the program's own watchdog */
} bl_message;

/* "none", "shm", "device_oom", "host_oom", "limit", "crash", "ambiguous", "timeout": the words of rule files. */
const char *bl_message_name(bl_message message);

/* One row of the table. Earlier rows win over later ones. */
typedef struct bl_builtin_rule {
    bl_message message;
    const char *source; /* who prints it */
    const char *pattern;
} bl_builtin_rule;

extern const bl_builtin_rule bl_builtin_rules[];
extern const size_t bl_n_builtin_rules;

typedef struct bl_rules bl_rules;

/* The built-in ones, or none yet. */
int bl_rules_new(bool builtin, bl_rules **out, bl_error *err);
void bl_rules_free(bl_rules *rules); /* NULL is fine */
/* Rules added stand before the built-in ones, in the order they were added. `where` is named in errors and as the
 * rule's source; it is copied. */
int bl_rules_add(bl_rules *rules, bl_message message, const char *pattern, const char *where, bl_error *err);
/* Rules as text: a line each, a class and a pattern with blanks between; # begins a comment line. */
int bl_rules_add_text(bl_rules *rules, const char *text, const char *where, bl_error *err);

typedef struct bl_rule_match {
    bl_message message;     /* BL_MESSAGE_NONE: nothing was found */
    const char *source;     /* of the rule that matched; borrowed from the rules */
    char line[240];         /* the line it matched in, cleaned and cut */
    const char *gave_up_on; /* the source of a rule whose search was broken off; NULL where none was */
} bl_rule_match;

/* Searches what a program printed (its end). BL_ERR_NOMEM only. */
int bl_rules_match(const bl_rules *rules, const char *output, size_t n, bl_rule_match *out, bl_error *err);

#endif
