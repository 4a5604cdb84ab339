#include "report/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/chart_parts.h"
#include "report/format.h"

enum { ROWS = 18, COLUMNS_MIN = 30, COLUMNS_MAX = 100, LABEL = 8 };

/* What the machine can do at an intensity; NaN: not known. */
static double roof_at(const bl_roofline *r, double intensity)
{
    return fmin(r->bandwidth_gb_s * intensity, r->peak_gflops); /* fmin: the other where one is NaN */
}

/* Of the points: where the axes lie, the roofs above them included. False where there is none. */
static bool find_ranges(const bl_roofline *r, double x[2], double y[2])
{
    x[0] = y[0] = INFINITY;
    x[1] = y[1] = 0;
    for (size_t i = 0; i < r->n_points; i++) {
        const bl_roofline_point *p = &r->points[i];
        if (!(p->gflops > 0) || !(p->intensity > 0))
            continue;
        x[0] = fmin(x[0], p->intensity);
        x[1] = fmax(x[1], p->intensity);
        y[0] = fmin(y[0], p->gflops);
        y[1] = fmax(y[1], p->gflops);
    }
    if (!(x[1] > 0))
        return false;
    double ridge = r->peak_gflops / r->bandwidth_gb_s; /* where the roofs meet is always seen */
    x[0] = fmin(x[0], ridge) / 1.5;
    x[1] = fmax(x[1], ridge) * 1.5;
    y[1] = fmax(y[1], roof_at(r, x[1]));
    y[0] = fmin(y[0], roof_at(r, x[0]));
    return true;
}

/* ---- as a chart ---- */

static bool take_points(bl_chart_maker *m, const bl_roofline *r, size_t series, bl_chart_series *s)
{
    size_t n = 0;
    if (!bl_chart_take_series(m, s, r->n_points, true))
        return false;
    s->name = r->names[series];
    s->color = series;
    for (size_t i = 0; i < r->n_points; i++) {
        const bl_roofline_point *p = &r->points[i];
        if (p->series != series || !(p->gflops > 0) || !(p->intensity > 0))
            continue;
        s->x[n] = p->intensity;
        s->y[n] = p->gflops;
        s->low[n] = p->low;
        s->high[n] = p->high;
        s->notes[n++] = bl_chart_note(m, p->name, "GFLOP/s", p->gflops, p->low, p->high);
    }
    s->n = n;
    return !m->failed;
}

static bool take_roof(bl_chart_maker *m, const bl_roofline *r, const double x[2], bl_chart_series *s)
{
    if (!bl_chart_take_series(m, s, 3, false))
        return false;
    double ridge = r->peak_gflops / r->bandwidth_gb_s;
    const double at[] = {x[0], isfinite(ridge) ? ridge : x[1], x[1]};
    s->name = "what the machine can do";
    s->line = true;
    s->color = BL_ROOFLINE_SERIES_MAX;
    for (size_t i = 0; i < 3; i++) {
        s->x[i] = at[i];
        s->y[i] = roof_at(r, at[i]);
        s->n += isfinite(s->y[i]);
    }
    return true;
}

int bl_roofline_chart(const bl_roofline *r, bl_arena *arena, bl_chart *out, bl_error *err)
{
    double x[2], y[2];
    size_t n_charts = 0;
    bl_chart_maker m = {.arena = arena, .charts = out, .n_charts = &n_charts};
    bl_chart chart = {.id = "roofline",
                      .title = r->title,
                      .x_label = "operations a byte",
                      .y_label = "GFLOP/s",
                      .caption = "",
                      .log_log = true,
                      .band = NAN,
                      .limit = NAN,
                      .series = bl_chart_take(&m, r->n_series + 1, sizeof *chart.series)};
    if (!find_ranges(r, x, y))
        return BL_FAIL(err, BL_ERR_FAILED, "there is no point to draw");
    if (!m.failed && take_roof(&m, r, x, &chart.series[0]))
        chart.n_series = 1;
    for (size_t i = 0; !m.failed && i < r->n_series; i++)
        if (take_points(&m, r, i, &chart.series[chart.n_series]))
            chart.n_series++;
    *out = chart;
    return m.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for a roofline") : BL_OK;
}

/* ---- in letters ---- */

typedef struct canvas {
    char cells[ROWS][COLUMNS_MAX + 1]; /* blank, '/' and '-' of the roof, or a point's mark */
    int columns;
    double x[2], y[2];
} canvas;

static int place(double value, const double range[2], int n)
{
    double at = log(value / range[0]) / log(range[1] / range[0]) * (n - 1);
    return at <= 0 ? 0 : at >= n - 1 ? n - 1 : (int)(at + 0.5);
}

static void draw(const bl_roofline *r, canvas *c)
{
    for (int row = 0; row < ROWS; row++) {
        memset(c->cells[row], ' ', (size_t)c->columns);
        c->cells[row][c->columns] = '\0';
    }
    for (int column = 0; column < c->columns; column++) {
        double intensity = c->x[0] * pow(c->x[1] / c->x[0], column / (double)(c->columns - 1));
        double roof = roof_at(r, intensity);
        if (isfinite(roof))
            c->cells[place(roof, c->y, ROWS)][column] = roof < r->peak_gflops ? '/' : '-';
    }
    for (size_t i = 0; i < r->n_points; i++) {
        const bl_roofline_point *p = &r->points[i];
        if (!(p->gflops > 0) || !(p->intensity > 0))
            continue;
        char mark = r->marks[p->series];
        char *cell = &c->cells[place(p->gflops, c->y, ROWS)][place(p->intensity, c->x, c->columns)];
        *cell = *cell == ' ' || *cell == '/' || *cell == '-' || *cell == mark ? mark : '*';
    }
}

void bl_roofline_text(const bl_roofline *r, const bl_report_style *style, bl_str *out)
{
    canvas c;
    char low[32], high[32];
    if (!find_ranges(r, c.x, c.y))
        return;
    int width = (style->width > 0 ? style->width : 80) - LABEL - 4;
    c.columns = width < COLUMNS_MIN ? COLUMNS_MIN : width > COLUMNS_MAX ? COLUMNS_MAX : width;
    draw(r, &c);
    bl_str_printf(out, "%*s\n", LABEL, "GFLOP/s");
    for (int row = ROWS - 1; row >= 0; row--) {
        char label[32] = "";
        if (row % 4 == 1)
            bl_format_number(c.y[0] * pow(c.y[1] / c.y[0], row / (double)(ROWS - 1)), label, sizeof label);
        bl_str_printf(out, "%*s %s%s\n", LABEL, label, style->utf8 ? "│" : "|", c.cells[row]);
    }
    bl_str_printf(out, "%*s %s", LABEL, "", style->utf8 ? "└" : "+");
    for (int i = 0; i < c.columns; i++)
        bl_str_append(out, style->utf8 ? "─" : "-");
    bl_format_number(c.x[0], low, sizeof low);
    bl_format_number(c.x[1], high, sizeof high);
    static const char unit[] = "operations a byte";
    int gap = c.columns - (int)(strlen(low) + strlen(high) + strlen(unit));
    gap = gap > 2 ? gap : 2;
    bl_str_printf(out, "\n%*s  %s%*s%s%*s%s\n", LABEL, "", low, gap / 2, "", unit, gap - gap / 2, "", high);
    bl_str legend;
    bl_str_init(&legend);
    bl_str_append(&legend, "/ and -: memory and peak");
    for (size_t i = 0; i < r->n_series; i++)
        if (r->names[i][0])
            bl_str_printf(&legend, "; %c: %s", r->marks[i], r->names[i]);
    bl_str_append(&legend, r->n_series > 1 ? "; *: of several." : "; o: measured.");
    bl_format_paragraph(bl_str_text(&legend), style, out);
    bl_str_clear(&legend);
}
