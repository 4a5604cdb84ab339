/* Charts of what was looked at in the course of one trial. */
#include <math.h>
#include <stdio.h>

#include "report/chart_parts.h"
#include "report/format.h"
#include "report/panels.h"

/* The lines as they are, and a point for each value: points alone can be pointed at. */
static void add_lines(bl_chart_maker *m, bl_chart *chart, const bl_panel *panel, const bl_stored_telemetry *t,
                      size_t points)
{
    bl_panel_line lines[BL_PANEL_LINES_MAX];
    double x[BL_PANEL_POINTS_MAX], y[BL_PANEL_POINTS_MAX];
    size_t n = bl_panel_times(t, points, x), n_lines = bl_panel_lines(t, panel, lines);
    chart->series = bl_chart_take(m, n_lines, sizeof *chart->series);
    for (size_t k = 0; k < n_lines && !m->failed; k++) {
        bl_chart_series *s = &chart->series[chart->n_series];
        if (!bl_chart_take_series(m, s, n, false))
            return;
        bl_panel_values(t, &lines[k], points, y);
        for (size_t i = 0; i < n; i++)
            if (isfinite(y[i])) {
                s->x[s->n] = x[i];
                s->y[s->n++] = y[i];
            }
        bl_str name;
        bl_str_init(&name);
        bl_format_clean(lines[k].name, 40, &name);
        s->name = bl_chart_keep(m, bl_str_text(&name));
        bl_str_clear(&name);
        s->line = true;
        s->color = chart->n_series;
        chart->n_series += s->n > 0;
    }
}

void bl_chart_make_trial(bl_chart_maker *m)
{
    const bl_analysis *a = m->analyses[0];
    const bl_experiment *e = a->experiment;
    bl_panel_plan plan = bl_panel_plan_make(e);
    size_t i = 0;
    while (i < e->n_trials && !bl_panel_has(&e->trials[i]))
        i++;
    if (i == e->n_trials || e->trials[i].case_index >= a->n_cases)
        return;
    char caption[500], kept[120] = "", x_label[200];
    if (plan.stride > 1)
        snprintf(kept, sizeof kept, " Of the %zu trials that were looked at, every %zuth is kept here.", plan.n_trials,
                 plan.stride);
    snprintf(
        caption, sizeof caption,
        "Shaded: before the steps that count. Of more than %zu looks the greatest of each stretch is drawn, and of "
        "processor time and energy the mean over it.%s",
        plan.points, kept);
    snprintf(x_label, sizeof x_label, "seconds since the first look at trial %zu, %.120s", i + 1,
             a->cases[e->trials[i].case_index].label);
    const char *about = bl_chart_keep(m, caption), *x_axis = bl_chart_keep(m, x_label);
    for (size_t p = 0; p < bl_n_panels && !m->failed; p++) {
        bl_chart chart = {.id = bl_panels[p].id,
                          .title = bl_panels[p].title,
                          .x_label = x_axis,
                          .y_label = bl_panels[p].y_label,
                          .caption = about,
                          .from_zero = bl_panels[p].from_zero,
                          .shade_to = bl_panel_warm(&e->trials[i], &a->trials[i]),
                          .band = NAN,
                          .limit = NAN};
        add_lines(m, &chart, &bl_panels[p], e->trials[i].telemetry, plan.points);
        if (chart.n_series > 0)
            about = ""; /* once for all panels */
        bl_chart_add(m, &chart);
    }
}
