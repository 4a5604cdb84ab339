/* What tune says. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/tune.h"
#include "report/format.h"

#define CELL 64

/* Two digits: there are no more in a fit of three sizes. */
static const char *rough(double value, char *out)
{
    if (isnan(value))
        snprintf(out, CELL, "-");
    else if (isinf(value))
        snprintf(out, CELL, "no bound");
    else if (value >= 100)
        snprintf(out, CELL, "%.0f", value);
    else
        snprintf(out, CELL, "%.2g", value);
    return out;
}

static const char *duration(double seconds, char *out)
{
    if (isnan(seconds))
        snprintf(out, CELL, "-");
    else if (seconds >= 2 * 3600.0)
        snprintf(out, CELL, "%.1f h", seconds / 3600);
    else if (seconds >= 120)
        snprintf(out, CELL, "%.1f min", seconds / 60);
    else
        snprintf(out, CELL, "%.2f s", seconds);
    return out;
}

static void print_pilots(const bl_tune *t, const bl_report_style *style, bl_str *out)
{
    bl_grid grid;
    bl_grid_init(&grid, 5, "rrrlr");
    static const char *const headings[] = {"batch", "steps to target", "best rate", "", "reached"};
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    bool edge = false, missed = false;
    size_t stopped = 0;
    for (size_t i = 0; i < t->n_pilots; i++) {
        const bl_tune_pilot *p = &t->pilots[i];
        char cell[CELL];
        snprintf(cell, sizeof cell, "%.0f", p->batch);
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%.0f", p->steps);
        bl_grid_add(&grid, isnan(p->steps) ? "not reached" : cell);
        snprintf(cell, sizeof cell, "%g", p->rate);
        bl_grid_add(&grid, isnan(p->rate) ? "" : cell);
        bl_grid_add(&grid, p->at_edge ? "at the edge" : "");
        snprintf(cell, sizeof cell, "%zu/%zu", p->n_reached, p->n);
        bl_grid_add(&grid, cell);
        edge = edge || p->at_edge;
        missed = missed || isnan(p->steps);
        stopped += p->n_stopped;
    }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
    if (edge)
        bl_format_paragraph(
            "A best rate at the edge of those tried may not be the best: with rates beyond it that batch size "
            "could take fewer steps, and the curve below is off.",
            style, out);
    if (stopped > 0) {
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(&text, "%zu training%s stopped as losing: others had shown that fewer steps are enough.", stopped,
                      stopped == 1 ? " was" : "s were");
        bl_format_paragraph(bl_str_text(&text), style, out);
        bl_str_clear(&text);
    }
    if (missed)
        bl_format_paragraph("A batch size that did not reach the target is left out.", style, out);
}

static void print_critical(const bl_tune *t, const bl_report_style *style, bl_str *out)
{
    const bl_steps_fit *s = &t->steps;
    bl_str text;
    char a[CELL], b[CELL], c[CELL];
    bl_str_init(&text);
    if (t->options->noise_only)
        bl_str_printf(&text, "Noise scale after %lld steps%s: %s samples", (long long)t->noises[t->noise].after_steps,
                      t->noises[t->noise].scaled ? ", as the optimizer scales gradients" : "",
                      rough(s->curve.critical, a));
    else if (s->shape == BL_STEPS_FLAT)
        bl_str_append(&text, "Larger batches did not take fewer steps: the critical batch size lies below those tried");
    else if (s->shape == BL_STEPS_PROPORTIONAL)
        bl_str_append(&text, "Steps fell in proportion to the batch size: the critical one lies beyond those tried");
    else
        bl_str_printf(&text, "Steps(B) = %s (1 + %s / B); the points lie within %.0f %% of it. Critical batch size %s",
                      rough(s->min_steps, a), rough(s->curve.critical, b), 100 * s->worst_relative,
                      rough(s->curve.critical, c));
    if (s->has_interval)
        bl_str_printf(&text, ", %.0f %% interval [%s, %s]", 100 * s->level, rough(s->low.critical, a),
                      rough(s->high.critical, b));
    else
        bl_str_append(&text, "; too few trainings for an interval");
    bl_str_append(&text, ".");
    if (t->options->noise_only)
        bl_str_append(&text,
                      " This is an order of magnitude of the critical batch size, and only where the learning rate "
                      "was a good one; times are in units of the fewest steps.");
    bl_str_append_c(out, '\n');
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
}

static void add_row(const bl_tune *t, double batch, bl_grid *grid)
{
    bl_choice_row row;
    char cell[CELL], low[CELL], high[CELL];
    bl_choice_row_at(&t->question, &t->choice, batch, &row);
    bool units = t->options->noise_only;
    snprintf(cell, sizeof cell, "%.0f", batch);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, units ? "%.2f" : "%.0f", row.steps);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, units ? "%.1f" : "%.0f", row.samples);
    bl_grid_add(grid, cell);
    bl_grid_add(grid, units ? "" : duration(row.time_s, cell));
    cell[0] = '\0';
    if (!units && !isnan(row.time_low_s))
        snprintf(cell, sizeof cell, "[%s, %s]", duration(row.time_low_s, low), duration(row.time_high_s, high));
    bl_grid_add(grid, cell);
    bl_choice_row best = t->choice.soonest.row;
    snprintf(cell, sizeof cell, "%+.0f %%", 100 * (row.time_s / best.time_s - 1));
    bl_grid_add(grid, isnan(row.time_s) ? "" : cell);
    snprintf(cell, sizeof cell, "%.3g", row.cost);
    bl_grid_add(grid, units || isnan(row.cost) ? "" : cell);
    bl_format_bytes(row.memory_b, cell, sizeof cell);
    bl_grid_add(grid, cell);
    snprintf(cell, sizeof cell, "%.0f %%", 100 * row.efficiency);
    bl_grid_add(grid, cell);
}

static void print_table(const bl_tune *t, const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"batch",          "steps", "samples", "time",      "interval",
                                           "vs the soonest", "cost",  "memory",  "efficiency"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "rrrrlrrrr");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < t->n_sizes; i++)
        if (t->sizes[i].batch >= t->choice.least && t->sizes[i].batch <= t->choice.largest)
            add_row(t, t->sizes[i].batch, &grid);
    bl_str_append_c(out, '\n');
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
}

/* The rate of the pilot nearest in size, carried over by the optimizer's rule. */
static void append_rate(const bl_tune *t, double batch, bl_str *out)
{
    const bl_tune_pilot *nearest = NULL;
    double critical = t->steps.curve.critical;
    for (size_t i = 0; i < t->n_pilots; i++) {
        const bl_tune_pilot *p = &t->pilots[i];
        if (!isnan(p->rate) && p->rate > 0 &&
            (!nearest || fabs(log(p->batch / batch)) < fabs(log(nearest->batch / batch))))
            nearest = p;
    }
    if (!nearest)
        return;
    double rate = bl_rate_centre(t->options->rule, nearest->rate, nearest->batch, batch, critical);
    bl_str_printf(out, ", with learning rates around %.2g", rate);
    if (!bl_rate_rule_holds(t->options->rule, batch, critical))
        bl_str_append(out, " (above the critical size its rule does not hold)");
}

static void say_pick(const bl_tune *t, const char *name, const bl_pick *p, bool with_regret,
                     const bl_report_style *style, bl_str *out)
{
    char cell[CELL];
    bl_str text;
    if (isnan(p->row.batch))
        return;
    bl_str_init(&text);
    bl_str_printf(&text, "%s: batch size %.0f", name, p->row.batch);
    if (p->row.accumulate > 1)
        bl_str_printf(&text, " (gradients of %d batches of %.0f)", p->row.accumulate, p->row.batch / p->row.accumulate);
    if (!isnan(p->low))
        bl_str_printf(&text, ", anywhere from %.0f to %.0f by the interval", p->low, p->high);
    if (with_regret && !isnan(p->regret))
        bl_str_printf(&text, "; at either end it would take %.1f %% longer than the best at most", 100 * p->regret);
    if (!t->options->noise_only && !isnan(p->row.time_s))
        bl_str_printf(&text, "; %s", duration(p->row.time_s, cell));
    append_rate(t, p->row.batch, &text);
    bl_str_append(&text, ".");
    if (p->at_memory)
        bl_str_append(&text, " Memory allows no larger one.");
    if (p->at_range)
        bl_str_append(&text, " It lies at the end of what the sweep's sizes tell: measure beyond it.");
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
}

void bl_tune_print(const bl_tune *t, const bl_report_style *style, bl_str *out)
{
    char name[CELL];
    if (!t->options->noise_only)
        print_pilots(t, style, out);
    print_critical(t, style, out);
    if (t->choice.time.table)
        bl_format_paragraph(
            "A step's time is no line over the batch size: what was measured counts, joined by a curve.", style, out);
    print_table(t, style, out);
    bl_str_append_c(out, '\n');
    say_pick(t, "Soonest", &t->choice.soonest, true, style, out);
    if (t->options->price_hour > 0 || t->options->price_kwh > 0)
        say_pick(t, "Cheapest", &t->choice.cheapest, false, style, out);
    snprintf(name, sizeof name, "Largest of %.0f %% efficiency", 100 * t->options->efficiency);
    say_pick(t, name, &t->choice.large, false, style, out);
    bl_format_paragraph("Equal losses in training say nothing about how well the networks generalise.", style, out);
}
