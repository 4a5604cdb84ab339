/* What the importers share. */
#ifndef BL_STORE_IMPORT_PARTS_H
#define BL_STORE_IMPORT_PARTS_H

#include "store/import.h"

/* An experiment with the defaults of what no foreign file tells: no seed, margin 1 %. what: "hyperfine's JSON"; note:
 * what its blocks are not. */
int bl_import_begin(const bl_import_file *file, const bl_import_options *options, const char *what, const char *note,
                    bl_arena *arena, bl_experiment *out, bl_error *err);
/* A trial of which nothing is known. */
bl_trial_record bl_import_trial(void);
/* Number of the case with these values, one a factor; SIZE_MAX where there is none. */
size_t bl_import_find_case(const bl_experiment *e, const char *const *values);
/* Adds the value to the factor's where it is new. `room` values fit. */
void bl_import_add_value(bl_stored_factor *factor, const char *value);
/* What every imported experiment must hold before it is stored. */
int bl_import_check(const bl_import_file *file, const bl_experiment *e, bl_error *err);
/* "2024-05-17T08:09:10Z" -> nanoseconds since 1970; false where it is none. */
bool bl_import_parse_utc(const char *text, int64_t *ns);

int bl_import_no_memory(const bl_import_file *file, bl_error *err);

#endif
