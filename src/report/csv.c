#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/report.h"

/* RFC 4180: quotes around what holds a comma, a quote or a line break; quotes inside doubled. A spreadsheet would
 * run a text that begins like a formula: such a one gets an apostrophe before it. */
static void text_field(bl_str *out, const char *text)
{
    if (!text)
        return;
    bool formula = text[0] && strchr("=+-@\t\r", text[0]);
    if (!formula && !strpbrk(text, ",\"\r\n")) {
        bl_str_append(out, text);
        return;
    }
    bl_str_append(out, formula ? "\"'" : "\"");
    for (; *text; text++)
        bl_str_append(out, *text == '"' ? "\"\"" : (char[]){*text, '\0'});
    bl_str_append_c(out, '"');
}

/* All digits that a double has; nothing where it is missing. */
static void real_field(bl_str *out, double value)
{
    if (isfinite(value))
        bl_str_printf(out, "%.17g", value);
}

static void factor_headings(const bl_experiment *e, bl_str *out)
{
    for (size_t f = 0; f < e->n_factors; f++) {
        bl_str_append_c(out, ',');
        text_field(out, e->factors[f].name);
    }
}

static void factor_fields(const bl_analysis *a, size_t c, bl_str *out)
{
    for (size_t f = 0; f < a->experiment->n_factors; f++) {
        bl_str_append_c(out, ',');
        if (c < a->n_cases)
            text_field(out, bl_experiment_value(a->experiment, c, f));
    }
}

static void trial_row(const bl_analysis *a, size_t i, bl_str *out)
{
    const bl_trial_record *t = &a->experiment->trials[i];
    const bl_trial_figure *figure = &a->trials[i];
    char started[32];
    bl_clock_format_utc(t->started_ns, started, sizeof started);
    bl_str_printf(out, "%" PRId64 ",%zu,%zu", t->id, t->block + 1, t->position + 1);
    factor_fields(a, t->case_index, out);
    bl_str_printf(out, ",%s,", t->outcome);
    text_field(out, t->reason);
    bl_str_printf(out, ",%s,", started);
    const double reals[] = {a->per_run ? NAN : figure->seconds,
                            a->per_run ? NAN : 1 / figure->seconds,
                            figure->step_seconds,
                            t->wall_s,
                            t->user_s,
                            t->system_s,
                            t->peak_memory_b};
    for (size_t k = 0; k < BL_ARRAY_LEN(reals); k++) {
        real_field(out, reals[k]);
        bl_str_append_c(out, ',');
    }
    bl_str_printf(out, "%s,%zu,%d,%d,%d\r\n", bl_figure_source_name(figure->source), t->n_steps, t->exit_status,
                  t->exit_signal, (int)t->ended_by_budget);
}

void bl_report_csv_trials(const bl_analysis *a, bl_str *out)
{
    bl_str_append(out, "trial,block,position");
    factor_headings(a->experiment, out);
    bl_str_append(out, ",outcome,reason,started,seconds_per_sample,samples_per_s,step_s,wall_s,user_s,system_s,"
                       "peak_memory_b,figure_source,steps,exit_status,exit_signal,ended_by_budget\r\n");
    for (size_t i = 0; i < a->experiment->n_trials; i++)
        trial_row(a, i, out);
}

void bl_report_csv_steps(const bl_analysis *a, bl_str *out)
{
    const bl_experiment *e = a->experiment;
    bl_str_append(out, "trial,block");
    factor_headings(e, out);
    bl_str_append(out, ",step,samples,end_ns,time_ns,wait_ns,loss\r\n");
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        for (size_t k = 0; t->steps && k < t->n_steps; k++) {
            const bl_stored_step *step = &t->steps[k];
            bl_str_printf(out, "%" PRId64 ",%zu", t->id, t->block + 1);
            factor_fields(a, t->case_index, out);
            bl_str_printf(out, ",%zu,%" PRId64 ",%" PRId64 ",", k + 1, step->samples, step->end_ns);
            if (step->time_ns > 0)
                bl_str_printf(out, "%" PRId64, step->time_ns);
            bl_str_append_c(out, ',');
            if (step->wait_ns >= 0)
                bl_str_printf(out, "%" PRId64, step->wait_ns);
            bl_str_append_c(out, ',');
            real_field(out, step->loss);
            bl_str_append(out, "\r\n");
        }
    }
}
