/* Telemetry in the forms people and programs read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/format.h"
#include "report/telemetry_figures.h"

static void number_cell(bl_grid *grid, double value, double scale, const char *unit)
{
    char number[64], cell[96];
    bl_format_number(scale * value, number, sizeof number);
    snprintf(cell, sizeof cell, "%s%s", number, unit);
    bl_grid_add(grid, isnan(value) ? "" : cell);
}

static void add_row(const bl_analysis *a, size_t c, const bl_telemetry_figure *f, bl_grid *grid)
{
    char cell[64];
    bl_grid_add(grid, a->cases[c].label);
    number_cell(grid, f->cpu_cores, 1, "");
    number_cell(grid, f->other_cores, 1, "");
    number_cell(grid, f->device_busy, 100, " %");
    bl_format_bytes(f->device_memory_b, cell, sizeof cell);
    bl_grid_add(grid, isnan(f->device_memory_b) ? "" : cell);
    number_cell(grid, f->power_w, 1, "");
    number_cell(grid, f->joules_per_sample, 1, "");
    number_cell(grid, f->hottest_c, 1, "");
    number_cell(grid, f->throttled > 0 ? f->throttled : NAN, 100, " %");
}

void bl_report_telemetry(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"case", "cores at work", "others' cores", "device busy", "device memory",
                                           "W",    "J a sample",    "hottest C",     "held back"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "lrrrrrrrr");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    bool any = false, doubtful = false;
    for (size_t c = 0; c < a->n_cases; c++) {
        bl_telemetry_figure figure;
        if (!bl_telemetry_figure_of_case(a, c, &figure))
            continue;
        any = true;
        doubtful = doubtful || figure.doubtful_power;
        add_row(a, c, &figure, &grid);
    }
    if (any) {
        bl_str_append(out, "\nTelemetry of the warm steps, means over the trials\n");
        bl_grid_print(&grid, style, 0, out);
    }
    if (doubtful)
        bl_str_append(out, "  Two sources of a device's energy differ by more than 20 %: trust neither.\n");
    bl_grid_clear(&grid);
}

static void number_field(bl_str *out, double value)
{
    if (isfinite(value))
        bl_str_printf(out, "%.17g", value);
}

void bl_report_csv_telemetry(const bl_analysis *a, bl_str *out)
{
    const bl_experiment *e = a->experiment;
    bl_str_append(out, "trial,block,case,source,scope,metric,unit,t_ns,value,reason\r\n");
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_stored_telemetry *t = e->trials[i].telemetry;
        for (size_t k = 0; t && k < t->n_series; k++) {
            const bl_stored_series *s = &t->series[k];
            bl_str head;
            bl_str_init(&head);
            bl_str_printf(&head, "%" PRId64 ",%zu,%zu,%s,%s,%s,%s,", e->trials[i].id, e->trials[i].block + 1,
                          e->trials[i].case_index + 1, s->source, s->scope ? s->scope : "", s->metric ? s->metric : "",
                          s->unit ? s->unit : "");
            for (size_t n = 0; s->values && n < t->n; n++) {
                if (isnan(s->values[n]))
                    continue;
                bl_str_printf(out, "%s%" PRId64 ",", bl_str_text(&head), t->t_ns[n]);
                number_field(out, s->values[n]);
                bl_str_append(out, ",\r\n");
            }
            if (!s->values) { /* one line that says why */
                bl_str_printf(out, "%s,,\"", bl_str_text(&head));
                for (const char *c = s->reason ? s->reason : ""; *c; c++)
                    bl_str_append(out, *c == '"' ? "\"\"" : (char[]){*c, '\0'});
                bl_str_append(out, "\"\r\n");
            }
            bl_str_clear(&head);
        }
    }
}
