#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/format.h"

enum { LABEL_MAX = 40, BAR_MIN = 20, NUMBER_WIDTH = 9, COLUMNS_MAX = 200 };

typedef struct axis {
    double low, high;
    size_t columns;
} axis;

static bl_interval shown_interval(const bl_analysis *a, size_t c)
{
    return a->per_run ? a->cases[c].seconds : bl_interval_reciprocal(&a->cases[c].seconds);
}

static bool find_range(const bl_analysis *a, axis *x)
{
    x->low = INFINITY;
    x->high = -INFINITY;
    for (size_t c = 0; c < a->n_cases; c++) {
        bl_interval i = shown_interval(a, c);
        if (isnan(i.estimate))
            continue;
        x->low = fmin(x->low, i.has_interval ? i.low : i.estimate);
        x->high = fmax(x->high, i.has_interval ? i.high : i.estimate);
    }
    if (!(x->low <= x->high))
        return false;
    /* Room at both ends; and a range that is not made of rounding errors alone. */
    double margin = fmax(0.05 * (x->high - x->low), 0.002 * x->high);
    x->low = fmax(0, x->low - margin);
    x->high += margin;
    return true;
}

static size_t column_of(const axis *x, double value)
{
    double at = (value - x->low) / (x->high - x->low) * (double)(x->columns - 1);
    return at <= 0 ? 0 : at >= (double)(x->columns - 1) ? x->columns - 1 : (size_t)(at + 0.5);
}

/* ├──●──┤ at its place among blanks. */
static void print_bar(const axis *x, const bl_interval *i, bool utf8, bl_str *out)
{
    size_t point = column_of(x, i->estimate);
    size_t from = i->has_interval ? column_of(x, i->low) : point;
    size_t to = i->has_interval ? column_of(x, i->high) : point;
    for (size_t column = 0; column <= to; column++) {
        const char *mark = " ";
        if (column == point)
            mark = utf8 ? "●" : "o";
        else if (column == from)
            mark = utf8 ? "├" : "|";
        else if (column == to)
            mark = utf8 ? "┤" : "|";
        else if (column > from)
            mark = utf8 ? "─" : "-";
        bl_str_append(out, mark);
    }
}

static void print_axis(const bl_analysis *a, const axis *x, size_t label_width, const bl_report_style *style,
                       bl_str *out)
{
    char low[32], high[32];
    bl_format_number(x->low, low, sizeof low);
    bl_format_number(x->high, high, sizeof high);
    bl_str_printf(out, "  %*s %s", (int)label_width, "", style->utf8 ? "└" : "+");
    for (size_t i = 0; i < x->columns; i++)
        bl_str_append(out, style->utf8 ? "─" : "-");
    bl_str_append(out, "\n");
    const char *unit = a->per_run ? "s a run" : "samples/s";
    size_t used = strlen(low) + strlen(high) + strlen(unit);
    size_t gap = x->columns > used + 2 ? x->columns - used : 2;
    bl_str_printf(out, "  %*s  %s%*s%s%*s%s\n", (int)label_width, "", low, (int)(gap / 2), "", unit,
                  (int)(gap - gap / 2), "", high);
}

void bl_report_plot(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    axis x;
    if (!find_range(a, &x))
        return;
    bool one_factor = a->experiment->n_factors == 1;
    size_t label_width = strlen("batch");
    for (size_t c = 0; c < a->n_cases; c++) {
        const char *label = one_factor ? bl_experiment_value(a->experiment, c, 0) : a->cases[c].label;
        size_t width = bl_format_width(label);
        label_width = width > label_width ? width : label_width;
    }
    if (label_width > LABEL_MAX)
        label_width = LABEL_MAX;
    size_t width = style->width > 0 ? (size_t)style->width : 80, taken = label_width + 5 + NUMBER_WIDTH;
    x.columns = width > taken + BAR_MIN ? width - taken : BAR_MIN;
    if (x.columns > COLUMNS_MAX)
        x.columns = COLUMNS_MAX;
    bl_str_printf(out, "  %*s %s\n", (int)label_width, one_factor ? "batch" : "case", style->utf8 ? "│" : "|");
    for (size_t c = 0; c < a->n_cases; c++) {
        const char *label = one_factor ? bl_experiment_value(a->experiment, c, 0) : a->cases[c].label;
        bl_interval i = shown_interval(a, c);
        bl_str clean;
        bl_str_init(&clean);
        bl_format_clean(label, label_width, &clean);
        bl_str_printf(out, "  %*s%s %s", (int)(label_width - bl_format_width(bl_str_text(&clean))), "",
                      bl_str_text(&clean), style->utf8 ? "┤" : "|");
        bl_str_clear(&clean);
        if (isnan(i.estimate)) {
            bl_str_printf(out, " %s", a->cases[c].outcome);
        } else {
            char number[32];
            bl_format_number(i.estimate, number, sizeof number);
            print_bar(&x, &i, style->utf8, out);
            bl_str_printf(out, " %s", number);
        }
        bl_str_append(out, "\n");
    }
    print_axis(a, &x, label_width, style, out);
}
