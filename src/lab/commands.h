/* The subcommands of the lab: one file each (cmd_NAME.c) and one line in the table of commands.c. */
#ifndef BL_LAB_COMMANDS_H
#define BL_LAB_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

struct bl_launcher;

/* What main sets up and every subcommand is given. */
typedef struct bl_lab {
    const char *program;          /* argv[0], to find what lies beside the executable */
    struct bl_launcher *launcher; /* NULL unless the command's `runs_trials` is set   */
} bl_lab;

typedef struct bl_lab_command {
    const char *name;
    const char *summary; /* for `batchlab --help`: one line, no full stop */
    bool runs_trials;    /* the launcher is forked before anything else   */
    /* argv[0] is the command's name. Prints its own errors (bl_log_error); returns the exit status.
     * With --help among the arguments it prints its help on stdout and returns 0. */
    int (*run)(bl_lab *lab, int argc, char **argv);
} bl_lab_command;

extern const bl_lab_command bl_lab_commands[];
extern const size_t bl_lab_n_commands;

int bl_cmd_sweep(bl_lab *lab, int argc, char **argv);
int bl_cmd_compare(bl_lab *lab, int argc, char **argv);
int bl_cmd_selftest(bl_lab *lab, int argc, char **argv);
int bl_cmd_max(bl_lab *lab, int argc, char **argv);
int bl_cmd_list(bl_lab *lab, int argc, char **argv);
int bl_cmd_show(bl_lab *lab, int argc, char **argv);
int bl_cmd_report(bl_lab *lab, int argc, char **argv);
int bl_cmd_run(bl_lab *lab, int argc, char **argv);
int bl_cmd_export(bl_lab *lab, int argc, char **argv);
int bl_cmd_explain(bl_lab *lab, int argc, char **argv);
int bl_cmd_tune(bl_lab *lab, int argc, char **argv);
int bl_cmd_doctor(bl_lab *lab, int argc, char **argv);
int bl_cmd_gemm(bl_lab *lab, int argc, char **argv);
int bl_cmd_import(bl_lab *lab, int argc, char **argv);
int bl_cmd_merge(bl_lab *lab, int argc, char **argv);
int bl_cmd_delete(bl_lab *lab, int argc, char **argv);

#endif
