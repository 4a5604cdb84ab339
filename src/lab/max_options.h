/* What the user typed after `batchlab max`. */
#ifndef BL_LAB_MAX_OPTIONS_H
#define BL_LAB_MAX_OPTIONS_H

#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"

#define BL_MAX_STEPS 20
#define BL_MAX_MAX   65536

typedef struct bl_max_options {
    bl_sweep_options sweep; /* where it runs as sweep does */
    int64_t min, max, multiple;
    const char *headroom_text;
    bool to_end;
    char first[32]; /* the first size, as text */
    bool help;
} bl_max_options;

/* `options` is initialised here, and must be cleared also after an error. */
int bl_max_options_parse(int argc, char **argv, bl_max_options *options, bl_error *err);
void bl_max_options_clear(bl_max_options *options);
void bl_max_options_print_help(FILE *out);
/* What is to be run; spec as of bl_sweep_spec_from_options, with the search's limits in its driving. */
int bl_max_spec(const bl_max_options *options, const char *program, bl_sweep_spec *spec, bl_error *err);

#endif
