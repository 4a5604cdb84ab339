#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/format.h"

static void item(bl_str *out, const char *name, const char *value)
{
    if (!value)
        return;
    bl_str_printf(out, "- %s: ", name);
    bl_format_markdown(value, out);
    bl_str_append_c(out, '\n');
}

static void title(const bl_experiment *e, bl_str *out)
{
    bl_str_printf(out, "# Experiment %lld", (long long)e->id);
    if (e->name) {
        bl_str_append(out, " (");
        bl_format_markdown(e->name, out);
        bl_str_append_c(out, ')');
    }
    bl_str_append(out, ": ");
    bl_format_markdown(e->workload, out);
    bl_str_append(out, "\n\n");
}

/* Each paragraph of what stands under the terminal's table is one item. */
static void notes(const bl_analysis *a, bl_str *out)
{
    bl_str text, line;
    bl_report_style wide = {.utf8 = true, .width = 100000};
    bl_str_init(&text);
    bl_str_init(&line);
    bl_report_notes(a, &wide, &text);
    for (const char *at = bl_str_text(&text); *at;) {
        size_t n = strcspn(at, "\n"), blanks = strspn(at, " ");
        if (blanks < n) {
            bl_str_reset(&line);
            bl_str_append_n(&line, at + blanks, n - blanks);
            bl_str_append(out, "- ");
            bl_format_markdown(bl_str_text(&line), out);
            bl_str_append_c(out, '\n');
        }
        at += n + (at[n] == '\n');
    }
    out->failed = out->failed || text.failed || line.failed;
    bl_str_clear(&line);
    bl_str_clear(&text);
}

void bl_report_markdown(const bl_analysis *a, bl_str *out)
{
    static const char *const wanted[] = {"cpu", "cpus online", "accelerator", "system"};
    const bl_experiment *e = a->experiment;
    char text[120];
    title(e, out);
    bl_report_markdown_table(a, out);
    bl_str_append_c(out, '\n');
    notes(a, out);
    bl_report_markdown_scaling(a, out);
    bl_str_append(out, "\n## What was run\n\n");
    bl_str command;
    bl_str_init(&command);
    for (size_t i = 0; i < e->n_command; i++)
        bl_str_printf(&command, "%s%s", i ? " " : "", e->command[i]);
    item(out, "command", e->n_command > 0 ? bl_str_text(&command) : NULL);
    bl_str_clear(&command);
    bl_clock_format_utc(e->created_ns, text, sizeof text);
    item(out, "begun", text);
    snprintf(text, sizeof text, "%zu cases, %zu of %zu blocks complete, shuffled with seed %lld", a->n_cases,
             a->n_blocks_done, a->n_blocks, (long long)e->seed);
    item(out, "plan", text);
    for (size_t k = 0; k < BL_ARRAY_LEN(wanted); k++)
        for (size_t i = 0; i < e->environment.len; i++)
            if (e->environment.items[i].sitting == 0 && strcmp(e->environment.items[i].name, wanted[k]) == 0)
                item(out, wanted[k], e->environment.items[i].value);
}
