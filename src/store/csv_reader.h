/* Comma-separated values as a grid (RFC 4180, line feeds alone are line ends too, blank lines are skipped). */
#ifndef BL_STORE_CSV_READER_H
#define BL_STORE_CSV_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct bl_csv {
    const char *file;
    size_t n_columns, n_rows;
    const char **names;  /* of the columns; blanks around them are left out, in fields too */
    const char **fields; /* (row, column) */
    size_t *lines;       /* where each row begins, from 1 */
} bl_csv;

/* The first line names the columns. BL_ERR_FORMAT: a line with another number of fields, a quote that does not end. */
int bl_csv_parse(const char *file, const char *text, bl_arena *arena, bl_csv *out, bl_error *err);
/* The column of that name, or n_columns. */
size_t bl_csv_find(const bl_csv *csv, const char *name);
/* "" where the column is n_columns. */
const char *bl_csv_at(const bl_csv *csv, size_t row, size_t column);
/* NaN where the field is empty, or says nan. BL_ERR_FORMAT where it is no number. */
int bl_csv_real(const bl_csv *csv, size_t row, size_t column, double *out, bl_error *err);
/* `missing` where the field is empty. */
int bl_csv_int(const bl_csv *csv, size_t row, size_t column, int64_t least, int64_t most, int64_t missing, int64_t *out,
               bl_error *err);

#endif
