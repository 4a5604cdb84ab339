/* Reading batchlab's own JSON: the first failure is kept in `code`, and what is read after it is harmless. */
#ifndef BL_STORE_IMPORT_READER_H
#define BL_STORE_IMPORT_READER_H

#include <jansson.h>

#include "store/import.h"

typedef struct bl_import_reader {
    const bl_import_file *file;
    bl_arena *arena;
    bl_error *err;
    int code;
    int64_t version; /* of the format */
    char where[64];  /* "trial 7: " */
} bl_import_reader;

void bl_import_fail(bl_import_reader *r, const char *name, const char *what);
/* Zeroed; NULL when memory is out. */
void *bl_import_take(bl_import_reader *r, size_t count, size_t size);
/* A copy; "" when memory is out. */
const char *bl_import_keep(bl_import_reader *r, const char *text);
/* Members of o: NULL, NaN or `missing` for null and for what is not there; another type is a failure. */
const char *bl_import_text(bl_import_reader *r, const json_t *o, const char *name);
double bl_import_real(bl_import_reader *r, const json_t *o, const char *name);
int64_t bl_import_int(bl_import_reader *r, const json_t *o, const char *name, int64_t missing);
/* These must be there. */
const char *bl_import_must_text(bl_import_reader *r, const json_t *o, const char *name);
int64_t bl_import_int_from(bl_import_reader *r, const json_t *o, const char *name, int64_t least, int64_t most);
const json_t *bl_import_array(bl_import_reader *r, const json_t *o, const char *name);

/* One of the array "trials"; its experiment's factors and blocks are known. */
void bl_import_read_trial(bl_import_reader *r, const bl_experiment *e, const json_t *o, bl_trial_record *t);

#endif
