/* What stands under the table: what the figures are, and what they are not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/confirmation.h"
#include "report/format.h"
#include "report/levels.h"
#include "report/warnings.h"
#include "stats/steady.h"

static void note_level(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    const bl_interval *widest = NULL;
    size_t fewest = SIZE_MAX;
    for (size_t c = 0; c < a->n_cases; c++)
        if (a->cases[c].seconds.n > 0 && a->cases[c].seconds.n < fewest) {
            fewest = a->cases[c].seconds.n;
            widest = &a->cases[c].seconds;
        }
    if (!widest)
        return;
    char text[512];
    size_t needed = bl_signed_rank_min_n(BL_REPORT_LEVEL);
    if (!widest->has_interval)
        snprintf(text, sizeof text,
                 "One block gives no interval: these figures cannot be compared. A %g %% interval needs %zu blocks "
                 "(--blocks %zu).",
                 100 * BL_REPORT_LEVEL, needed, needed);
    else if (!widest->reaches_level)
        snprintf(text, sizeof text,
                 "Intervals: Hodges-Lehmann over the blocks. With %zu blocks no finite %g %% interval exists; the "
                 "widest there is has %.4g %%. %zu blocks give %g %%.",
                 fewest, 100 * BL_REPORT_LEVEL, 100 * widest->level, needed, 100 * BL_REPORT_LEVEL);
    else
        snprintf(text, sizeof text, "Intervals: Hodges-Lehmann over the blocks, %g %%.", 100 * BL_REPORT_LEVEL);
    bl_format_paragraph(text, style, out);
}

/* Where it was not measured here, what its blocks and times are. */
static void note_imported(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    const bl_environment *environment = &a->experiment->environment;
    for (size_t i = 0; i < environment->len; i++) {
        if (strcmp(environment->items[i].name, "imported") != 0 || !environment->items[i].value)
            continue;
        bl_str text, clean;
        bl_str_init(&text);
        bl_str_init(&clean);
        bl_str_printf(&text, "Imported from %s.", environment->items[i].value);
        bl_format_clean(bl_str_text(&text), 1000, &clean);
        bl_format_paragraph(bl_str_text(&clean), style, out);
        bl_str_clear(&clean);
        bl_str_clear(&text);
    }
}

static void note_source(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bool seen[BL_FIGURE_MIXED + 1] = {false};
    for (size_t c = 0; c < a->n_cases; c++)
        seen[a->cases[c].source] = true;
    if (seen[BL_FIGURE_STEPS])
        bl_format_paragraph("samples/s: from step markers, after the warm-up.", style, out);
    if (seen[BL_FIGURE_PROGRESS])
        bl_format_paragraph(
            "samples/s: from the counter in the program's progress lines and the clock here, after the warm-up; each "
            "step taken for one batch of the size asked for.",
            style, out);
    if (seen[BL_FIGURE_WALL])
        bl_format_paragraph(
            "samples/s: from the whole run's wall time, start-up included (the program marks no steps), and the "
            "samples given with --samples.",
            style, out);
    if (seen[BL_FIGURE_RUN])
        bl_format_paragraph(
            "The program marks no steps: the figure is the whole run's wall time, start-up included. Seconds a run "
            "of different batch sizes compare only where each run trains equally many samples; --samples N says how "
            "many it does.",
            style, out);
    if (seen[BL_FIGURE_MIXED])
        bl_format_paragraph(
            "Some trials of a case told their steps and some did not, or told them in another way: their figures do "
            "not compare.",
            style, out);
}

/* What was read of progress lines, or why they could not serve; trials mostly say the same, so the first one's. */
static void note_steps(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    for (size_t i = 0; i < a->experiment->n_trials; i++) {
        const bl_trial_record *t = &a->experiment->trials[i];
        if (!t->step_note || strcmp(t->outcome, "ok") != 0)
            continue;
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(&text, "Trial %zu: ", i + 1);
        bl_format_clean(t->step_note, 500, &text);
        bl_format_paragraph(bl_str_text(&text), style, out);
        bl_str_clear(&text);
        return;
    }
}

static void note_best(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    if (a->best == a->n_cases || a->n_cases < 2)
        return;
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "vs best: differences inside blocks, from %s, the best observed here.",
                  a->cases[a->best].label);
    if (!a->confirmed_by)
        bl_str_printf(&text,
                      " The best of %zu looks better than it is; only fresh blocks confirm it (batchlab compare "
                      "--confirm %lld).",
                      a->n_cases, (long long)a->experiment->id);
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
}

static void note_pairs(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    for (size_t p = 0; p < a->n_pairs; p++) {
        bl_str_reset(&text);
        bl_verdict_sentence(&a->pairs[p].verdict, a->pairs[p].a, a->pairs[p].b, a->per_run, &a->rule, &text);
        bl_format_paragraph(bl_str_text(&text), style, out);
    }
    bl_str_clear(&text);
}

/* Of a sweep: what a later comparison found of its best case. */
static void note_confirmation(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    const bl_analysis *by = a->confirmed_by;
    if (!by || by->n_pairs == 0)
        return;
    bl_str text;
    bl_str_init(&text);
    bl_str_append_c(out, '\n');
    bl_confirmation_sentence(by, &text);
    bl_str_printf(&text, " (Experiment %lld.)", (long long)by->experiment->id);
    if (by->pairs[0].pair.a != a->best)
        bl_str_append(&text, " Since then the sweep has another best case.");
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
    note_pairs(by, style, out);
}

static void note_failures(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    for (size_t c = 0; c < a->n_cases; c++) {
        const bl_case_figure *figure = &a->cases[c];
        if (figure->n_trials == figure->n_ok || !figure->reason)
            continue;
        bl_str text;
        bl_str_init(&text);
        bl_str_printf(&text, "%s: %s: ", figure->label, figure->outcome);
        bl_format_clean(figure->reason, 300, &text);
        bl_format_paragraph(bl_str_text(&text), style, out);
        bl_str_clear(&text);
    }
}

static void note_unsteady(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    size_t n = 0;
    for (size_t c = 0; c < a->n_cases; c++)
        n += a->cases[c].n_unsteady;
    if (n == 0)
        return;
    char text[300];
    snprintf(text, sizeof text,
             "%zu trial%s never became steady and gave no figure: run more steps (--steps, --time), or look for what "
             "else the machine does.",
             n, n == 1 ? "" : "s");
    bl_format_paragraph(text, style, out);
}

static void add_paragraph(const bl_batch_group *group, const char *sentence, const bl_report_style *style, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    if (group->label[0])
        bl_str_printf(&text, "%s: ", group->label);
    bl_str_append(&text, sentence);
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
}

/* What the batch sizes have to say, for each combination of the other factors. */
static void note_groups(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_batch_group *group = &a->groups[g];
        bl_str_reset(&text);
        bl_special_sentence(&group->powers, &group->eights, BL_REPORT_LEVEL, a->experiment->margin, &text);
        if (text.len == 0 || group->neighbours.len > 0)
            add_paragraph(group, group->neighbours.sentence, style, out);
        if (text.len > 0)
            add_paragraph(group, bl_str_text(&text), style, out);
        bl_str_reset(&text);
        bl_knee_sentence(a, group, &text);
        if (text.len > 0)
            add_paragraph(group, bl_str_text(&text), style, out);
    }
    bl_str_clear(&text);
}

/* The verdicts come first: they are what was asked for. */
static void note_verdicts(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    if (a->experiment->comparison.confirms > 0) {
        bl_confirmation_sentence(a, &text);
        bl_format_paragraph(bl_str_text(&text), style, out);
    }
    note_pairs(a, style, out);
    bl_str_reset(&text);
    bl_str_printf(&text, "Judged with a margin of %g %%, at %g %% confidence over", 100 * a->rule.margin,
                  100 * a->rule.confidence);
    bl_str_printf(&text, a->n_pairs > 1 ? " all looks and all %zu pairs;" : " all looks;", a->n_pairs);
    bl_str_append(&text, " looks after");
    for (size_t k = 0; k < a->rule.n_looks; k++)
        bl_str_printf(&text, "%s%zu", k == 0 ? " " : k + 1 == a->rule.n_looks ? " and " : ", ", a->rule.looks[k]);
    bl_str_append(&text, " blocks, and at no other moment.");
    bl_str_append_c(out, '\n');
    bl_format_paragraph(bl_str_text(&text), style, out);
    bl_str_clear(&text);
}

static void note_progress(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    char text[256];
    if (a->n_blocks_done >= a->n_blocks || a->n_pairs > 0)
        return;
    snprintf(text, sizeof text, "%zu of %zu blocks are complete; batchlab sweep --resume %lld goes on.",
             a->n_blocks_done, a->n_blocks, (long long)a->experiment->id);
    bl_format_paragraph(text, style, out);
}

void bl_report_warnings(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_strv warnings;
    bl_strv_init(&warnings);
    if (bl_warnings_collect(a, &warnings, NULL) != BL_OK)
        out->failed = true; /* memory is out */
    for (size_t i = 0; i < warnings.len; i++)
        bl_format_paragraph(warnings.items[i], style, out);
    bl_strv_clear(&warnings);
}

void bl_report_notes(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    if (a->n_pairs > 0)
        note_verdicts(a, style, out);
    else
        note_groups(a, style, out);
    note_confirmation(a, style, out);
    bl_str_append_c(out, '\n');
    note_imported(a, style, out);
    note_source(a, style, out);
    note_steps(a, style, out);
    note_level(a, style, out);
    if (a->n_pairs == 0)
        note_best(a, style, out);
    note_unsteady(a, style, out);
    bl_report_warnings(a, style, out);
    note_failures(a, style, out);
    note_progress(a, style, out);
}

void bl_report_text(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    bl_report_table(a, style, out);
    bl_str_append_c(out, '\n');
    size_t before = out->len;
    if (a->n_pairs == 0)
        bl_report_plot(a, style, out);
    if (out->len > before)
        bl_str_append_c(out, '\n');
    bl_report_notes(a, style, out);
    bl_report_nodes(a, style, out);
    bl_report_scaling(a, style, out);
    bl_report_noise(a, style, out);
    bl_report_telemetry(a, style, out);
}

static void detail(bl_str *out, const char *name, const char *value)
{
    bl_str_printf(out, "  %-18s ", name);
    bl_format_clean(value, 400, out);
    bl_str_append_c(out, '\n');
}

static void print_settings(const bl_experiment *e, bl_str *out)
{
    char text[256];
    bl_clock_format_utc(e->created_ns, text, sizeof text);
    detail(out, "begun", text);
    detail(out, "state",
           e->state == BL_EXPERIMENT_RUNNING && !e->held ? "left by a process that died"
                                                         : bl_experiment_state_name(e->state));
    bl_str command;
    bl_str_init(&command);
    for (size_t i = 0; i < e->n_command; i++)
        bl_str_printf(&command, "%s%s", i ? " " : "", e->command[i]);
    detail(out, "command", bl_str_text(&command));
    bl_str_clear(&command);
    detail(out, "folder", e->cwd);
    if (e->git_revision)
        detail(out, "git revision", e->git_revision);
    snprintf(text, sizeof text, "%lld blocks, seed %lld", (long long)e->blocks, (long long)e->seed);
    detail(out, "plan", text);
    snprintf(text, sizeof text, "%lld steps or %g s; %g s for set-up; %lld steps of warm-up dropped at least",
             (long long)e->steps, e->time_s, e->setup_s, (long long)e->warmup);
    detail(out, "a trial", text);
    snprintf(text, sizeof text, "%g %%", 100 * e->margin);
    detail(out, "margin", text);
}

/* Of trials that did not end well: what the outcome rests on, the most trusted first. */
static void print_evidence(const bl_analysis *a, bl_str *out)
{
    const bl_experiment *e = a->experiment;
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        if (strcmp(t->outcome, "ok") == 0 || t->n_evidence == 0)
            continue;
        bl_str_printf(out, "\nEvidence: block %zu, %s: %s%s%s\n", t->block + 1,
                      t->case_index < a->n_cases ? a->cases[t->case_index].label : "?", t->outcome,
                      t->memory_kind ? ", memory of the kind " : "", t->memory_kind ? t->memory_kind : "");
        for (size_t k = 0; k < t->n_evidence; k++) {
            bl_str_printf(out, "  %c %-10s ", t->evidence[k].decided ? '*' : ' ', t->evidence[k].source);
            bl_format_clean(t->evidence[k].text, 300, out);
            bl_str_append_c(out, '\n');
        }
    }
}

void bl_report_details(const bl_analysis *a, const bl_report_style *style, bl_str *out)
{
    const bl_experiment *e = a->experiment;
    print_settings(e, out);
    bl_str_append(out, "\nMachine\n");
    for (size_t i = 0; i < e->environment.len; i++) {
        const bl_environment_item *item = &e->environment.items[i];
        if (i > 0 && item->sitting != e->environment.items[i - 1].sitting)
            bl_str_printf(out, "  resumed\n");
        char text[300];
        snprintf(text, sizeof text, "not available (%s)", item->reason ? item->reason : "");
        detail(out, item->name, item->value ? item->value : text);
    }
    bl_str_append(out, "\nTrials, in the order they ran\n");
    static const char *const headings[] = {"block", "case",        "node",    "ms/sample", "wall s",
                                           "CPU s", "peak memory", "outcome", ""};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "rllrrrrll");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        char cell[256];
        snprintf(cell, sizeof cell, "%zu", t->block + 1);
        bl_grid_add(&grid, cell);
        bl_grid_add(&grid, t->case_index < a->n_cases ? a->cases[t->case_index].label : "?");
        bl_str node;
        bl_str_init(&node);
        bl_format_clean(t->node ? t->node : "", 40, &node);
        bl_grid_add(&grid, bl_str_text(&node));
        bl_str_clear(&node);
        bl_format_number(1000 * a->trials[i].seconds, cell, sizeof cell);
        bl_grid_add(&grid, a->per_run ? "" : cell);
        bl_format_number(t->wall_s, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_format_number(t->user_s + t->system_s, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_format_bytes(t->peak_memory_b, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_grid_add(&grid, t->outcome);
        bl_str note;
        bl_str_init(&note);
        bl_format_clean(t->reason ? t->reason : a->trials[i].note, 70, &note);
        bl_grid_add(&grid, bl_str_text(&note));
        bl_str_clear(&note);
    }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
    print_evidence(a, out);
}
