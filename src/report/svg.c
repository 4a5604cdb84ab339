#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/format.h"

/* A picture inside a page is narrower, so that a phone need not shrink it beyond reading. */
enum {
    WIDTH = 720,
    WIDTH_INSIDE = 540,
    HEIGHT = 340,
    ROW = 26,
    TOP = 34,
    BOTTOM = 48,
    RIGHT = 18,
    LEFT = 64,
    TICKS = 7
};

/* Of Okabe & Ito's colours, told apart by the colour-blind, those with a contrast of 3 to both white and black. */
static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7"};
/* The fifth series has the first one's colour, and dashes. */
static const char *const dashes[] = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\""};

typedef struct frame {
    const bl_chart *chart;
    bl_str *out;
    double left, right, top, bottom;     /* in pixels */
    double x_low, x_high, y_low, y_high; /* in units; logarithms where x_log, y_log */
    bool x_log, y_log;
    size_t row_columns; /* of the rows' names */
} frame;

static double at_x(const frame *f, double x)
{
    if (f->x_log)
        x = log2(x);
    return f->left + (x - f->x_low) / (f->x_high - f->x_low) * (f->right - f->left);
}

static double at_y(const frame *f, double y)
{
    if (f->y_log)
        y = log2(y);
    double share = (y - f->y_low) / (f->y_high - f->y_low);
    return f->chart->rows ? f->top + share * (f->bottom - f->top) : f->bottom - share * (f->bottom - f->top);
}

/* ---- the ranges ---- */

static void widen(double value, double *low, double *high)
{
    if (!isfinite(value))
        return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

static void give_room(double *low, double *high, bool from_zero)
{
    double room = 0.05 * (*high - (from_zero ? 0 : *low));
    if (!(room > 0))
        room = *high != 0 ? 0.05 * fabs(*high) : 1;
    *high += room;
    *low = from_zero ? 0 : *low - room;
}

/* False where there is nothing to draw. */
static bool find_ranges(frame *f)
{
    const bl_chart *chart = f->chart;
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    for (size_t s = 0; s < chart->n_series; s++) {
        const bl_chart_series *series = &chart->series[s];
        for (size_t i = 0; i < series->n; i++) {
            double *spread = chart->rows ? x : y;
            widen(series->x[i], &x[0], &x[1]);
            widen(series->y[i], &y[0], &y[1]);
            widen(series->low ? series->low[i] : NAN, &spread[0], &spread[1]);
            widen(series->high ? series->high[i] : NAN, &spread[0], &spread[1]);
        }
    }
    if (!(x[0] <= x[1]))
        return false;
    double *spread = chart->rows ? x : y;
    if (isfinite(chart->band)) {
        widen(chart->band, &spread[0], &spread[1]);
        widen(-chart->band, &spread[0], &spread[1]);
    }
    if (isfinite(chart->limit) && chart->limit < 3 * y[1])
        widen(chart->limit, &y[0], &y[1]);
    f->x_log = chart->log_log || (chart->batch_axis && x[0] > 0 && x[1] > 4 * x[0]);
    f->y_log = chart->log_log;
    for (int i = 0; i < 2; i++) {
        x[i] = f->x_log ? log2(x[i]) : x[i];
        y[i] = f->y_log ? log2(y[i]) : y[i];
    }
    give_room(&x[0], &x[1], false);
    give_room(&y[0], &y[1], chart->from_zero);
    f->x_low = x[0];
    f->x_high = x[1];
    f->y_low = chart->rows ? -0.5 : y[0];
    f->y_high = chart->rows ? (double)chart->n_rows - 0.5 : y[1];
    return true;
}

/* ---- parts ---- */

static void text(const frame *f, double x, double y, const char *anchor, const char *content)
{
    bl_str_printf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    bl_markup_text(f->out, content);
    bl_str_append(f->out, "</text>\n");
}

static void rule(const frame *f, double x1, double y1, double x2, double y2, const char *more)
{
    bl_str_printf(f->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"currentColor\" %s/>\n", x1, y1, x2, y2, more);
}

#define FAINT "stroke-opacity=\"0.25\""

static double nice_step(double low, double high)
{
    double rough = (high - low) / TICKS, power = pow(10, floor(log10(rough)));
    double share = rough / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void tick_text(double value, double step, char *out, size_t size)
{
    int decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    if (fabs(value) < step / 2)
        value = 0;
    snprintf(out, size, "%.*f", decimals > 9 ? 9 : decimals, value);
}

static void x_tick(const frame *f, double x, const char *label)
{
    rule(f, at_x(f, x), f->top, at_x(f, x), f->bottom,
         f->chart->batch_axis ? FAINT " stroke-dasharray=\"3 3\"" : FAINT);
    text(f, at_x(f, x), f->bottom + 17, "middle", label);
}

/* Batch sizes: the powers of two alone are ruled, where there are at least two of them to see. */
static bool power_ticks(const frame *f)
{
    double low = f->x_log ? exp2(f->x_low) : f->x_low, high = f->x_log ? exp2(f->x_high) : f->x_high;
    double first = exp2(ceil(log2(fmax(low, 1)))), n = 0;
    for (double p = first; p <= high; p *= 2)
        n++;
    if (!f->chart->batch_axis || n == 0 || (n < 2 && !f->x_log))
        return false;
    double every = n > 12 ? 4 : 2;
    for (double p = first; p <= high; p *= every) {
        char label[32];
        snprintf(label, sizeof label, "%.0f", p);
        x_tick(f, p, label);
    }
    return true;
}

static void y_tick(const frame *f, double y, const char *label)
{
    rule(f, f->left, at_y(f, y), f->right, at_y(f, y), FAINT);
    text(f, f->left - 7, at_y(f, y) + 4, "end", label);
}

/* 1, 2, 5, 10 and so on, both ways; tens alone where that would be too many, and even steps in a narrow range. */
static void log_ticks(const frame *f, double low, double high, void (*tick)(const frame *, double, const char *))
{
    static const double in_ten[] = {1, 2, 5};
    double step = nice_step(exp2(low), exp2(high));
    for (double at = ceil(exp2(low) / step) * step; high - low < 2 && at <= exp2(high); at += step) {
        char label[32];
        tick_text(at, step, label, sizeof label);
        tick(f, at, label);
    }
    if (high - low < 2)
        return;
    size_t n = high - low > 4 * log2(10) ? 1 : BL_ARRAY_LEN(in_ten);
    for (double ten = pow(10, floor(low / log2(10))); ten <= exp2(high); ten *= 10)
        for (size_t i = 0; i < n; i++) {
            double at = in_ten[i] * ten;
            char label[32];
            if (log2(at) < low || log2(at) > high)
                continue;
            snprintf(label, sizeof label, "%g", at);
            tick(f, at, label);
        }
}

static void draw_axes(const frame *f)
{
    const bl_chart *chart = f->chart;
    char label[32];
    double step = nice_step(f->x_low, f->x_high);
    if (f->y_log) {
        log_ticks(f, f->x_low, f->x_high, x_tick);
        log_ticks(f, f->y_low, f->y_high, y_tick);
    } else if (!power_ticks(f)) {
        frame plain = *f;
        bl_chart without = *chart;
        without.batch_axis = false;
        plain.chart = &without;
        for (double x = ceil(f->x_low / step) * step; x <= f->x_high; x += step) {
            tick_text(x, step, label, sizeof label);
            x_tick(&plain, x, label);
        }
    }
    step = nice_step(f->y_low, f->y_high);
    for (double y = ceil(f->y_low / step) * step; !chart->rows && !f->y_log && y <= f->y_high; y += step) {
        tick_text(y, step, label, sizeof label);
        y_tick(f, y, label);
    }
    for (size_t i = 0; i < chart->n_rows; i++) {
        bl_str name;
        bl_str_init(&name);
        bl_format_clean(chart->rows[i], f->row_columns, &name);
        text(f, f->left - 7, at_y(f, (double)i) + 4, "end", bl_str_text(&name));
        bl_str_clear(&name);
    }
    text(f, (f->left + f->right) / 2, f->bottom + 38, "middle", chart->x_label);
    if (!chart->rows)
        text(f, 6, 16, "start", chart->y_label);
}

static void draw_band(const frame *f)
{
    double band = f->chart->band;
    if (!isfinite(band))
        return;
    bool rows = f->chart->rows != NULL;
    double x1 = rows ? at_x(f, -band) : f->left, x2 = rows ? at_x(f, band) : f->right;
    double y1 = rows ? f->top : at_y(f, band), y2 = rows ? f->bottom : at_y(f, -band);
    bl_str_printf(f->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"currentColor\" "
                  "fill-opacity=\"0.14\"/>\n",
                  x1, y1, x2 - x1, y2 - y1);
    if (rows)
        rule(f, at_x(f, 0), f->top, at_x(f, 0), f->bottom, "");
    else
        rule(f, f->left, at_y(f, 0), f->right, at_y(f, 0), "");
}

static void draw_shade(const frame *f)
{
    double to = fmin(f->chart->shade_to, f->x_high);
    if (to > f->x_low && f->chart->shade_to > 0)
        bl_str_printf(f->out,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"currentColor\" "
                      "fill-opacity=\"0.14\"/>\n",
                      f->left, f->top, at_x(f, to) - f->left, f->bottom - f->top);
}

static void draw_limit(const frame *f)
{
    double limit = f->chart->limit;
    if (!isfinite(limit) || limit > f->y_high)
        return;
    rule(f, f->left, at_y(f, limit), f->right, at_y(f, limit), "stroke-dasharray=\"8 4\"");
    text(f, f->left + 6, at_y(f, limit) - 5, "start", f->chart->limit_label);
}

static void draw_whisker(const frame *f, const bl_chart_series *s, size_t i)
{
    if (!s->low || !isfinite(s->low[i]) || !isfinite(s->high[i]))
        return;
    double x = at_x(f, s->x[i]), y = at_y(f, s->y[i]);
    if (f->chart->rows) {
        double a = at_x(f, s->low[i]), b = at_x(f, s->high[i]);
        bl_str_printf(f->out, "<path d=\"M%.1f %.1fv8m0-4H%.1fm0-4v8\"/>", a, y - 4, b);
    } else {
        double a = at_y(f, s->low[i]), b = at_y(f, s->high[i]);
        bl_str_printf(f->out, "<path d=\"M%.1f %.1fh8m-4 0V%.1fm-4 0h8\"/>", x - 4, a, b);
    }
}

static void draw_point(const frame *f, const bl_chart_series *s, size_t i, const char *color)
{
    double x = at_x(f, s->x[i]), y = at_y(f, s->y[i]);
    bl_str_append(f->out, "<g>");
    if (s->notes && s->notes[i]) {
        bl_str_append(f->out, "<title>");
        bl_markup_text(f->out, s->notes[i]);
        bl_str_append(f->out, "</title>");
    }
    draw_whisker(f, s, i);
    if (s->special && s->special[i])
        bl_str_printf(f->out, "<path d=\"M%.1f %.1fl6 6l-6 6l-6-6z\" fill=\"%s\"/>", x, y - 6, color);
    else
        bl_str_printf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>", x, y, s->n > 200 ? "2" : "4",
                      color);
    bl_str_append(f->out, "</g>\n");
}

static void draw_series(const frame *f, const bl_chart_series *s)
{
    const char *color = colors[s->color % BL_ARRAY_LEN(colors)];
    const char *dash = dashes[s->color / BL_ARRAY_LEN(colors) % BL_ARRAY_LEN(dashes)];
    bl_str_printf(f->out, "<g fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s>\n", color, dash);
    if (s->line && s->n > 1) {
        for (size_t i = 0; i < s->n; i++)
            bl_str_printf(f->out, "%s%.1f %.1f", i == 0 ? "<path d=\"M" : "L", at_x(f, s->x[i]), at_y(f, s->y[i]));
        bl_str_append(f->out, "\"/>\n");
    }
    for (size_t i = 0; i < s->n && !s->line; i++)
        draw_point(f, s, i, color);
    bl_str_append(f->out, "</g>\n");
}

/* What does not fit into one line is left to the pointer and to the table. */
static void draw_legend(const frame *f)
{
    const bl_chart *chart = f->chart;
    double x = f->right;
    bool any = false;
    for (size_t s = 0; s < chart->n_series; s++)
        for (size_t i = 0; chart->series[s].special && i < chart->series[s].n; i++)
            any = any || chart->series[s].special[i];
    if (any && chart->special) {
        text(f, x, 16, "end", chart->special);
        x -= 7.0 * (double)bl_format_width(chart->special) + 12;
        bl_str_printf(f->out, "<path d=\"M%.1f 6l6 6l-6 6l-6-6z\" fill=\"currentColor\"/>\n", x);
        x -= 22;
    }
    for (size_t s = chart->n_series; s-- > 0;) {
        const bl_chart_series *series = &chart->series[s];
        double width = 7.0 * (double)bl_format_width(series->name) + 34;
        if (!series->name[0] || x - width < f->left + 60)
            continue;
        text(f, x, 16, "end", series->name);
        x -= width;
        bl_str_printf(f->out, "<path d=\"M%.1f 12h22\" stroke=\"%s\" stroke-width=\"3\"%s/>\n", x,
                      colors[series->color % BL_ARRAY_LEN(colors)],
                      dashes[series->color / BL_ARRAY_LEN(colors) % BL_ARRAY_LEN(dashes)]);
        x -= 14;
    }
}

static double row_label_width(const bl_chart *chart, size_t most)
{
    size_t widest = 8;
    for (size_t i = 0; i < chart->n_rows; i++) {
        size_t width = bl_format_width(chart->rows[i]);
        widest = width > widest ? width : widest;
    }
    return 7.0 * (double)(widest > most ? most : widest) + 16;
}

void bl_svg_chart(const bl_chart *chart, bool alone, bl_str *out)
{
    double height = chart->rows ? TOP + BOTTOM + ROW * (double)chart->n_rows : HEIGHT;
    int width = alone ? WIDTH : WIDTH_INSIDE;
    frame f = {.chart = chart, .out = out, .right = width - RIGHT, .top = TOP, .bottom = height - BOTTOM};
    f.row_columns = alone ? 44 : 28;
    f.left = chart->rows ? row_label_width(chart, f.row_columns) : LEFT;
    bl_str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" font-size=\"13\" "
                  "font-family=\"system-ui, sans-serif\"%s aria-label=\"",
                  width, height, alone ? " color=\"#767676\"" : "");
    bl_markup_text(out, chart->title);
    bl_str_append(out, "\">\n<g fill=\"currentColor\" font-variant-numeric=\"tabular-nums\">\n");
    if (find_ranges(&f)) {
        draw_band(&f);
        draw_shade(&f);
        draw_axes(&f);
        draw_limit(&f);
        draw_legend(&f);
        for (size_t s = 0; s < chart->n_series; s++)
            draw_series(&f, &chart->series[s]);
    }
    bl_str_append(out, "</g>\n</svg>\n");
}
