/* Experiment files: a study as a file, every step of it one batchlab command (docs/EXPERIMENT-FILES.md).
 *
 * A file is read in two passes. bl_study_parse holds its structure against the keys there are; bl_study_plan fills in
 * the variables of one scale and holds each step's options against its command's own table, so that a file can say
 * what a command line can, and nothing else. Every message names line and column. */
#ifndef BL_STUDY_STUDY_H
#define BL_STUDY_STUDY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/str.h"

#define BL_STUDY_MAX_B (1024 * 1024) /* bytes of a file */

typedef struct bl_study {
    const char *name;  /* the file's, for messages */
    const char *title; /* one line */
    const char *about; /* or NULL */
    const char *const *scales;
    size_t n_scales; /* at least 1; the first is the default */
    size_t n_steps;
    const struct bl_node *root;
} bl_study;

/* All memory is the arena's, also that of the errors' places. BL_ERR_FORMAT, BL_ERR_ENV (no libyaml), BL_ERR_NOMEM. */
int bl_study_parse(const char *text, size_t len, const char *name, bl_arena *arena, bl_study *out, bl_error *err);

/* The option table of a command that a file may use, or NULL. */
typedef const bl_command *bl_study_find(const char *command, void *context);

typedef struct bl_study_commands {
    bl_study_find *find;
    void *context;
    const char *const *names; /* of those commands, for messages and the schema */
    size_t n_names;
} bl_study_commands;

/* A variable from outside the file: of the command line (--set NAME=VALUE), or "here". */
typedef struct bl_study_value {
    const char *name, *value;
} bl_study_value;

typedef struct bl_study_step {
    const char *name, *about, *command; /* about: or NULL */
    bool expect_failures;               /* trials of it may fail: that is part of the answer */
    /* What stands after the command on its line. The id of an earlier step's experiment is left as ${id.STEP}, for
     * it is known only then: bl_study_fill_ids. */
    char **argv;
    size_t argc;
} bl_study_step;

typedef struct bl_study_plan {
    bl_study_step *steps; /* those of the scale, in order */
    size_t n_steps;
} bl_study_plan;

/* scale: one of study->scales. values override the file's variables; one that the file does not know is BL_ERR_USAGE.
 * Errors in the file are BL_ERR_FORMAT. */
int bl_study_plan_make(const bl_study *study, const char *scale, const bl_study_value *values, size_t n_values,
                       const bl_study_commands *commands, bl_arena *arena, bl_study_plan *out, bl_error *err);

/* The experiment that a step made, or 0. */
typedef long long bl_study_id(const char *step, void *context);
/* `word` with each ${id.STEP} filled in; BL_ERR_FAILED where a step has made no experiment. */
int bl_study_fill_ids(const char *word, bl_study_id *id, void *context, bl_str *out, bl_error *err);

/* The JSON Schema (draft 2020-12) of such files, for editors: made from the tables. Appends to out. */
int bl_study_schema(const bl_study_commands *commands, bl_str *out, bl_error *err);

#endif
