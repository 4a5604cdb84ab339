/* A program's man page and its completion for shells, made of the tables that also parse its options: `PROGRAM help
 * --man`, `PROGRAM help --completion bash|zsh|fish`. */
#ifndef BL_BASE_HELP_PAGES_H
#define BL_BASE_HELP_PAGES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"

typedef struct bl_help_entry {
    const char *name;    /* "sweep"; NULL: what the program does without a subcommand's name */
    const char *summary; /* one line */
} bl_help_entry;

typedef struct bl_help_program {
    const char *name, *version;
    const char *summary;  /* half a sentence, for the page's first line */
    const char *details;  /* paragraphs, may be NULL */
    const char *see_also; /* man pages, "batchlab-train(1)" */
    const char *words; /* shell command that prints what may stand first besides subcommands, a word a line; or NULL */
    const bl_help_entry *entries;
    size_t n_entries;
    /* Has entry i give its table to bl_options_print_help. Returns 0, or another exit status. */
    int (*print)(void *context, size_t i);
    void *context;
} bl_help_program;

/* argv[1..]: "--man", or "--completion" with a shell. BL_ERR_USAGE for anything else. */
int bl_help_pages_print(const bl_help_program *program, int argc, char **argv, FILE *out, bl_error *err);

/* For bl_options_print_with: an entry's part of each. */
void bl_help_man_command(const bl_command *command, FILE *out);
void bl_help_bash_command(const bl_command *command, FILE *out);
void bl_help_zsh_command(const bl_command *command, FILE *out);
void bl_help_fish_command(const bl_command *command, FILE *out);
/* What stands around the entries' parts. */
void bl_help_man_begin(const bl_help_program *program, FILE *out);
void bl_help_man_end(const bl_help_program *program, FILE *out);
void bl_help_bash_begin(const bl_help_program *program, FILE *out);
void bl_help_bash_end(const bl_help_program *program, FILE *out);
void bl_help_zsh_begin(const bl_help_program *program, FILE *out);
void bl_help_zsh_end(const bl_help_program *program, FILE *out);
void bl_help_fish_begin(const bl_help_program *program, FILE *out);
void bl_help_fish_end(const bl_help_program *program, FILE *out);

/* What an option's value is, for completion, by its name in the table. */
typedef enum bl_help_value { BL_HELP_NO_VALUE, BL_HELP_FILE, BL_HELP_FOLDER, BL_HELP_OTHER } bl_help_value;
bl_help_value bl_help_value_of(const bl_option *option);
/* The first sentence, without its full stop: its length. */
int bl_help_first_sentence(const char *help);

#endif
