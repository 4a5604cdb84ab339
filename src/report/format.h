/* Numbers and cells as the texts of this room show them. */
#ifndef BL_REPORT_FORMAT_H
#define BL_REPORT_FORMAT_H

#include <stddef.h>

#include "base/str.h"
#include "report/report.h"

/* Four digits that matter, no exponent for what people meet: 0.01234, 1.234, 12.34, 123.4, 1234. "-" for NaN. */
void bl_format_number(double value, char *out, size_t size);
/* "1.23 GiB", "-" for NaN. */
void bl_format_bytes(double bytes, char *out, size_t size);
/* "+1.2 %", "-0.4 %". */
void bl_format_percent(double ratio, char *out, size_t size);

/* Columns that a text takes on a terminal, for UTF-8 without wide or combining characters. */
size_t bl_format_width(const char *text);
/* Text with control characters made harmless, cut to `width` columns. */
void bl_format_clean(const char *text, size_t width, bl_str *out);

/* Appends text as indented lines of the style's width, broken at blanks. */
void bl_format_paragraph(const char *text, const bl_report_style *style, bl_str *out);

/* A grid of cells that becomes aligned columns. */
typedef struct bl_grid {
    bl_strv cells;
    size_t n_columns;
    const char *align; /* one letter a column: 'l' or 'r' */
} bl_grid;

void bl_grid_init(bl_grid *grid, size_t n_columns, const char *align);
void bl_grid_clear(bl_grid *grid);
void bl_grid_add(bl_grid *grid, const char *text); /* the next cell, row by row */
/* The first row is the heading. Columns whose cells are all empty are left out. `mark_row` (0 = none) stands out. */
void bl_grid_print(const bl_grid *grid, const bl_report_style *style, size_t mark_row, bl_str *out);
/* The same columns as a table of Markdown (GitHub's), everything in cells escaped. */
void bl_grid_print_markdown(const bl_grid *grid, bl_str *out);
/* Text that Markdown takes for nothing but text: its marks escaped, control characters and line ends made blanks. */
void bl_format_markdown(const char *text, bl_str *out);

#endif
