#include "report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bl_format_number(double value, char *out, size_t size)
{
    double magnitude = fabs(value);
    if (isnan(value)) {
        snprintf(out, size, "-");
        return;
    }
    int decimals = magnitude >= 999.95 ? 0 : magnitude >= 99.995 ? 1 : magnitude >= 9.9995 ? 2 : 3;
    if (magnitude < 0.9995 && magnitude > 0)
        decimals = 3 - (int)floor(log10(magnitude));
    snprintf(out, size, "%.*f", decimals > 9 ? 9 : decimals, value);
}

void bl_format_bytes(double bytes, char *out, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    if (isnan(bytes)) {
        snprintf(out, size, "-");
        return;
    }
    for (; bytes >= 1000 && unit + 1 < BL_ARRAY_LEN(units); unit++)
        bytes /= 1024;
    snprintf(out, size, "%.*f %s", unit == 0 || bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2, bytes, units[unit]);
}

void bl_format_percent(double ratio, char *out, size_t size)
{
    if (isnan(ratio))
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%+.*f %%", fabs(ratio - 1) < 0.0995 ? 2 : 1, 100 * (ratio - 1));
}

size_t bl_format_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

void bl_format_clean(const char *text, size_t width, bl_str *out)
{
    bool cut = bl_format_width(text) > width;
    size_t room = cut && width > 3 ? width - 3 : width, used = 0;
    for (; *text; text++) {
        bool starts = ((unsigned char)*text & 0xC0) != 0x80;
        if (starts && used == room)
            break;
        used += starts;
        bl_str_append_c(out, (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
    }
    if (cut)
        bl_str_append(out, "...");
}

void bl_grid_init(bl_grid *grid, size_t n_columns, const char *align)
{
    *grid = (bl_grid){.n_columns = n_columns, .align = align};
    bl_strv_init(&grid->cells);
}

void bl_grid_clear(bl_grid *grid)
{
    bl_strv_clear(&grid->cells);
}

void bl_grid_add(bl_grid *grid, const char *text)
{
    if (bl_strv_push(&grid->cells, text) != BL_OK)
        grid->n_columns = 0; /* what is incomplete is not printed */
}

static size_t column_width(const bl_grid *grid, size_t column)
{
    size_t widest = 0, n_rows = grid->cells.len / grid->n_columns;
    bool any = false; /* below the heading */
    for (size_t row = 0; row < n_rows; row++) {
        const char *cell = grid->cells.items[row * grid->n_columns + column];
        size_t width = bl_format_width(cell);
        any = any || (row > 0 && width > 0);
        widest = width > widest ? width : widest;
    }
    return any ? widest : 0;
}

static void pad(bl_str *out, size_t n)
{
    while (n-- > 0)
        bl_str_append_c(out, ' ');
}

static void print_row(const bl_grid *grid, size_t row, bl_str *out)
{
    size_t blanks = 2; /* those due before the next cell: none may end a line */
    for (size_t column = 0; column < grid->n_columns; column++) {
        size_t width = column_width(grid, column);
        if (width == 0)
            continue;
        const char *cell = grid->cells.items[row * grid->n_columns + column];
        size_t fill = width - bl_format_width(cell);
        if (grid->align[column] == 'r')
            blanks += fill;
        if (cell[0]) {
            pad(out, blanks);
            bl_str_append(out, cell);
            blanks = 0;
        } else if (grid->align[column] == 'r') {
            fill = 0;
        }
        blanks += 2 + (grid->align[column] == 'r' ? 0 : fill);
    }
}

void bl_grid_print(const bl_grid *grid, const bl_report_style *style, size_t mark_row, bl_str *out)
{
    if (grid->n_columns == 0)
        return;
    for (size_t row = 0; row < grid->cells.len / grid->n_columns; row++) {
        const char *before = !style->color ? "" : row == 0 ? "\x1b[2m" : row == mark_row ? "\x1b[1m" : "";
        bl_str_append(out, before);
        print_row(grid, row, out);
        bl_str_append(out, before[0] ? "\x1b[0m\n" : "\n");
    }
}

void bl_format_paragraph(const char *text, const bl_report_style *style, bl_str *out)
{
    size_t width = style->width > 20 ? (size_t)style->width : 80, column = 2;
    bl_str_append(out, "  ");
    for (const char *word = text; *word;) {
        size_t n = strcspn(word, " ");
        char piece[512];
        snprintf(piece, sizeof piece, "%.*s", (int)(n < sizeof piece ? n : sizeof piece - 1), word);
        size_t w = bl_format_width(piece);
        if (column > 2 && column + 1 + w > width) {
            bl_str_append(out, "\n  ");
            column = 2;
        } else if (column > 2) {
            bl_str_append_c(out, ' ');
            column++;
        }
        bl_str_append(out, piece);
        column += w;
        word += n;
        word += *word == ' ';
    }
    bl_str_append_c(out, '\n');
}

void bl_format_markdown(const char *text, bl_str *out)
{
    bool first = true;
    for (; *text; first = false, text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&')
            bl_str_append(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
        else if (strchr("\\`*_[]|~$!", c) || (first && strchr("#+-=", c)))
            bl_str_printf(out, "\\%c", c);
        else
            bl_str_append_c(out, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
}

void bl_grid_print_markdown(const bl_grid *grid, bl_str *out)
{
    if (grid->n_columns == 0)
        return;
    for (size_t row = 0; row < grid->cells.len / grid->n_columns; row++) {
        bl_str_append_c(out, '|');
        for (size_t column = 0; column < grid->n_columns; column++) {
            const char *cell = grid->cells.items[row * grid->n_columns + column];
            if (column_width(grid, column) == 0)
                continue;
            bl_str_append_c(out, ' ');
            size_t signs = strspn(cell, "+-"); /* they begin no list inside a cell */
            bl_str_append_n(out, cell, signs);
            bl_format_markdown(cell + signs, out);
            bl_str_append(out, " |");
        }
        bl_str_append_c(out, '\n');
        if (row > 0)
            continue;
        bl_str_append_c(out, '|');
        for (size_t column = 0; column < grid->n_columns; column++)
            if (column_width(grid, column) > 0)
                bl_str_append(out, grid->align[column] == 'r' ? "---:|" : "---|");
        bl_str_append_c(out, '\n');
    }
}
