/* The block of data that the page's script reads: the charts, and the steps of the trials. */
#include "report/page_data.h"

#include <math.h>

#include "report/panels.h"
#include "report/svg.h"
#include "report/traces.h"

enum { TRACES_MAX = 2000, TRACE_POINTS = 60000, TRACE_LEAST = 24, TRACE_MOST = 400 };

static void number(bl_str *out, double value, int digits)
{
    if (isfinite(value))
        bl_str_printf(out, "%.*g", digits, value);
    else
        bl_str_append(out, "null");
}

static void numbers(bl_str *out, const char *name, const double *values, size_t n, int digits)
{
    bl_str_printf(out, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        bl_str_append(out, i ? "," : "");
        number(out, values[i], digits);
    }
    bl_str_append(out, "]");
}

static void member(bl_str *out, const char *name, const char *text)
{
    bl_str_printf(out, "\"%s\":", name);
    bl_markup_json(out, text ? text : "");
    bl_str_append_c(out, ',');
}

static void texts(bl_str *out, const char *name, const char **items, size_t n)
{
    bl_str_printf(out, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        bl_str_append(out, i ? "," : "");
        bl_markup_json(out, items[i] ? items[i] : "");
    }
    bl_str_append(out, "]");
}

static void one_series(bl_str *out, const bl_chart_series *s)
{
    bl_str_append_c(out, '{');
    member(out, "name", s->name);
    bl_str_printf(out, "\"color\":%zu,\"line\":%s,", s->color, s->line ? "true" : "false");
    numbers(out, "x", s->x, s->n, 6);
    bl_str_append_c(out, ',');
    numbers(out, "y", s->y, s->n, 6);
    if (s->low) {
        bl_str_append_c(out, ',');
        numbers(out, "low", s->low, s->n, 6);
        bl_str_append_c(out, ',');
        numbers(out, "high", s->high, s->n, 6);
    }
    if (!s->line && s->special) {
        size_t n = 0;
        bl_str_append(out, ",\"special\":[");
        for (size_t i = 0; i < s->n; i++)
            if (s->special[i])
                bl_str_printf(out, "%s%zu", n++ ? "," : "", i);
        bl_str_append_c(out, ']');
    }
    if (!s->line && s->notes) {
        bl_str_append_c(out, ',');
        texts(out, "notes", s->notes, s->n);
    }
    bl_str_append_c(out, '}');
}

static void one_chart(bl_str *out, const bl_chart *c)
{
    bl_str_append_c(out, '{');
    member(out, "id", c->id);
    member(out, "title", c->title);
    member(out, "x", c->x_label);
    member(out, "y", c->y_label);
    member(out, "special", c->special);
    bl_str_printf(out, "\"batch\":%s,\"zero\":%s,\"band\":", c->batch_axis ? "true" : "false",
                  c->from_zero ? "true" : "false");
    number(out, c->band, 6);
    if (c->shade_to > 0) {
        bl_str_append(out, ",\"shade\":[0,");
        number(out, c->shade_to, 6);
        bl_str_append_c(out, ']');
    }
    if (c->limit_label) {
        bl_str_append(out, ",\"limit\":");
        number(out, c->limit, 6);
        bl_str_append_c(out, ',');
        member(out, "limitLabel", c->limit_label);
        bl_str_append(out, "\"rows\":");
    } else {
        bl_str_append(out, ",\"rows\":");
    }
    if (!c->rows)
        bl_str_append(out, "null");
    for (size_t i = 0; c->rows && i < c->n_rows; i++) {
        bl_str_append(out, i ? "," : "[");
        bl_markup_json(out, c->rows[i]);
    }
    bl_str_append(out, c->rows ? "],\"series\":[" : ",\"series\":[");
    for (size_t s = 0; s < c->n_series; s++) {
        bl_str_append(out, s ? "," : "");
        one_series(out, &c->series[s]);
    }
    bl_str_append(out, "]}");
}

/* Each trial that told steps; of more than TRACES_MAX, some of all stages. */
static void traces(bl_str *out, const bl_analysis *a)
{
    const bl_experiment *e = a->experiment;
    size_t stride = e->n_trials > TRACES_MAX ? e->n_trials / TRACES_MAX + 1 : 1, n = e->n_trials / stride + 1,
           written = 0;
    size_t cap = TRACE_POINTS / n;
    cap = cap < TRACE_LEAST ? TRACE_LEAST : cap > TRACE_MOST ? TRACE_MOST : cap;
    double ms[TRACE_MOST + 2];
    for (size_t i = 0; i < e->n_trials; i += stride) {
        const bl_trial_record *t = &e->trials[i];
        size_t every, points = bl_trace_thin(t, cap, ms, &every);
        if (points == 0)
            continue;
        bl_str_printf(out, "%s{\"trial\":%zu,\"block\":%zu,\"case\":%zu,\"n\":%zu,\"cut\":%zu,\"every\":%zu,",
                      written++ ? "," : "", i + 1, t->block + 1, t->case_index, t->n_steps,
                      bl_trace_cut(t, &a->trials[i]), every);
        numbers(out, "ms", ms, points, 4);
        bl_str_append_c(out, '}');
    }
}

static void one_look(bl_str *out, const bl_analysis *a, size_t i, size_t points)
{
    const bl_trial_record *t = &a->experiment->trials[i];
    double values[BL_PANEL_POINTS_MAX];
    bl_panel_line lines[BL_PANEL_LINES_MAX];
    size_t n = bl_panel_times(t->telemetry, points, values), written = 0;
    bl_str_printf(out, "{\"trial\":%zu,\"block\":%zu,\"case\":%zu,\"warm\":", i + 1, t->block + 1, t->case_index);
    number(out, bl_panel_warm(t, &a->trials[i]), 4);
    bl_str_append_c(out, ',');
    numbers(out, "x", values, n, 4);
    bl_str_append(out, ",\"panels\":{");
    for (size_t p = 0; p < bl_n_panels; p++) {
        size_t n_lines = bl_panel_lines(t->telemetry, &bl_panels[p], lines);
        for (size_t k = 0; k < n_lines; k++) {
            if (k == 0)
                bl_str_printf(out, "%s\"%s\":[", written++ ? "," : "", bl_panels[p].id);
            bl_str_append(out, k ? ",{" : "{");
            member(out, "name", lines[k].name);
            bl_panel_values(t->telemetry, &lines[k], points, values);
            numbers(out, "y", values, n, 4);
            bl_str_append(out, k + 1 < n_lines ? "}" : "}]");
        }
    }
    bl_str_append(out, "}}");
}

/* Telemetry of as many trials as there is room for, from the first to the last. */
static void looks(bl_str *out, const bl_analysis *a)
{
    const bl_experiment *e = a->experiment;
    bl_panel_plan plan = bl_panel_plan_make(e);
    size_t seen = 0, written = 0;
    for (size_t i = 0; i < e->n_trials; i++) {
        if (!bl_panel_has(&e->trials[i]) || seen++ % plan.stride != 0)
            continue;
        bl_str_append(out, written++ ? "," : "");
        one_look(out, a, i, plan.points);
    }
}

void bl_page_data(const bl_analysis *const *analyses, size_t n, const bl_chart *charts, size_t n_charts, bl_str *out)
{
    bl_str_append(out, "{\"charts\":[");
    for (size_t i = 0; i < n_charts; i++) {
        bl_str_append(out, i ? "," : "");
        one_chart(out, &charts[i]);
    }
    bl_str_append(out, "],\"cases\":[");
    for (size_t c = 0; n == 1 && c < analyses[0]->n_cases; c++) {
        bl_str_append(out, c ? "," : "");
        bl_markup_json(out, analyses[0]->cases[c].label);
    }
    bl_str_append(out, "],\"traces\":[");
    if (n == 1)
        traces(out, analyses[0]);
    bl_str_append(out, "],\"looks\":[");
    if (n == 1)
        looks(out, analyses[0]);
    bl_str_append(out, "]}");
}
