/* Option tables: one table a command drives parsing, --help, the man page and shell completion. */
#ifndef BL_BASE_OPTIONS_H
#define BL_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"

typedef enum bl_option_kind {
    BL_OPT_GROUP,    /* a heading in --help; only `help` is used                      */
    BL_OPT_FLAG,     /* target bool *:      --x sets true, --no-x sets false          */
    BL_OPT_STRING,   /* target const char **: borrowed from argv                      */
    BL_OPT_STRINGS,  /* target bl_strv *:   may be given several times                */
    BL_OPT_INT,      /* target int64_t *:   within [min, max]                         */
    BL_OPT_FLOAT,    /* target double *                                               */
    BL_OPT_DURATION, /* target double *:    seconds ("90s", "2m")                     */
    BL_OPT_SIZE      /* target uint64_t *:  bytes ("8G")                              */
} bl_option_kind;

typedef struct bl_option {
    bl_option_kind kind;
    char short_name;       /* 0 = none */
    const char *long_name; /* without the dashes */
    const char *value;     /* name of the value in --help, NULL for a flag */
    const char *help;      /* one sentence; give the default as "(default: 5)" */
    void *target;          /* filled with the default by the caller beforehand */
    int64_t min, max;      /* BL_OPT_INT only; both 0 = no limits */
} bl_option;

typedef struct bl_command {
    const char *program;      /* "batchlab" */
    const char *name;         /* "sweep", or NULL for a program without subcommands */
    const char *summary;      /* one line */
    const char *usage;        /* after the name: "[options] -- COMMAND..." */
    const char *details;      /* paragraphs under the summary, may be NULL */
    const char *examples;     /* lines "command  # what it does", may be NULL */
    const bl_option *options; /* n_options long; -h/--help is always there by itself */
    int n_options;
} bl_command;

typedef struct bl_options_result {
    bl_strv operands; /* what is no option and stands before "--" */
    char **rest;      /* argv after "--" (borrowed, NULL-terminated), or NULL where there is no "--" */
    int n_rest;
    bool help; /* -h or --help was given: print help and leave with 0 */
} bl_options_result;

/* Parses argv[1..]. Accepts -b 8, -b8, --batch 8, --batch=8 and unambiguous long names in full only;
 * an unknown option is BL_ERR_USAGE with the nearest known one as remedy. */
int bl_options_parse(const bl_command *command, int argc, char **argv, bl_options_result *out, bl_error *err);
void bl_options_result_clear(bl_options_result *result);
/* Prints the help, or hands the table to the reader, where one is set. */
void bl_options_print_help(const bl_command *command, FILE *out);
/* What bl_options_print_help does from now on, instead of printing the text for people (NULL: that again). Every
 * command gives its table to that one function, so this is how pages are made of all of them. */
void bl_options_print_with(void (*print)(const bl_command *command, FILE *out));

/* A command's table belongs to the command, which shows it only where its help is asked for. Whoever wants the table
 * itself (manual pages, completion, experiment files) sets a reader, asks for the help, and sets NULL again. The table
 * and its targets live no longer than the call. */
typedef void bl_help_reader(const bl_command *command, void *context);
void bl_options_read_help(bl_help_reader *reader, void *context);

#endif
