/* Running the steps of a study, one command after another in this process. */
#ifndef BL_LAB_RUN_STUDY_H
#define BL_LAB_RUN_STUDY_H

#include "lab/commands.h"
#include "study/study.h"

/* The tables of the commands that a step may be: all but those in whose way a file would stand. */
typedef struct bl_study_tables {
    bl_command items[64];
    const char *names[64];
    size_t n;
    bl_study_commands commands; /* over these */
} bl_study_tables;

/* Asks every command for its table; the copies are the arena's. */
int bl_study_tables_read(bl_lab *lab, bl_arena *arena, bl_study_tables *out, bl_error *err);

typedef struct bl_study_run {
    bl_lab *lab;
    const bl_study_tables *tables;
    const char *prefix; /* before the steps' names: "FILE/SCALE/" */
    const char *db;
    bool resume; /* finished experiments are left, unfinished ones gone on with */
    bool dry_run;
    bool quiet;
} bl_study_run;

/* Runs the steps for which `wanted` is set. *status: 0, or 1 where a step has failed or was interrupted; a step that
 * cannot be run at all (2, 3) ends the study. */
int bl_study_run_steps(const bl_study_run *run, const bl_study_plan *plan, const bool *wanted, int *status,
                       bl_error *err);

#endif
