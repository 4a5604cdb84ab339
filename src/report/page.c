#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/format.h"
#include "report/page_data.h"
#include "report/page_script.h"
#include "report/svg.h"

/* Nothing may be loaded, and no script run but the page's own, known by its hash, whatever a program's name or output
 * holds. */
static void head(bl_str *out)
{
    bl_str_append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
                       "form-action 'none'; style-src 'unsafe-inline'; img-src data:");
    if (bl_page_script[0])
        bl_str_printf(out, "; script-src '%s'", bl_page_script_hash);
    bl_str_append(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<link rel=\"icon\" href=\"data:,\">\n");
}

#define LIGHT "--text:#1a1a1a;--faint:#5c5c5c;--back:#fff;--line:#d5d5d5;--mark:#eef5fa;--band:#e6e6e6"
#define DARK  "--text:#e6e6e6;--faint:#a8a8a8;--back:#161616;--line:#3d3d3d;--mark:#14283a;--band:#303030"

static const char style[] =
    ":root{color-scheme:light dark;" LIGHT "}\n"
    "@media(prefers-color-scheme:dark){:root{" DARK "}}\n"
    ":root[data-theme=light]{color-scheme:light;" LIGHT "}:root[data-theme=dark]{color-scheme:dark;" DARK "}\n"
    "body{margin:0 auto;max-width:52rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--text);"
    "background:var(--back);overflow-wrap:anywhere}\n"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem}\n"
    ".answer{font-size:1.1rem;padding:.8rem 1rem;border-left:4px solid #0072B2;background:var(--mark)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem;"
    "overflow-wrap:normal}\n"
    "th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "th{color:var(--faint);font-weight:600}td.l,th.l{text-align:left}tr.best td{font-weight:700}\n"
    "td.w{white-space:normal;text-align:left;min-width:14rem}\n"
    "dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.15rem 1rem;margin:0}\n"
    "dt{color:var(--faint)}dd{margin:0}\n"
    "figure{margin:1.5rem 0}figure svg{display:block;width:100%;height:auto}\n"
    "figcaption{color:var(--faint);font-size:.9rem}pre{white-space:pre-wrap;font-size:.85rem}\n"
    "summary{cursor:pointer;padding:.3rem 0}:focus-visible{outline:2px solid #0072B2;outline-offset:2px}\n"
    "@media(max-width:36rem){figure svg{font-size:16px}dl{grid-template-columns:1fr}dd{margin:0 0 .4rem}}\n";

/* Of what the script makes. */
static const char script_style[] =
    "button,select{font:inherit;font-size:.85rem;color:inherit;background:var(--mark);border:1px solid var(--line);"
    "border-radius:.3rem;padding:.15rem .55rem;cursor:pointer;max-width:100%}\n"
    "button[aria-pressed=true]{border-color:currentColor}.legend button[aria-pressed=false]{opacity:.55;"
    "text-decoration:line-through}\n"
    "#theme{float:right}.tools{display:flex;flex-wrap:wrap;gap:.35rem;margin-bottom:.3rem}"
    ".legend{display:contents}.legend i{display:inline-block;width:1em;height:.3em;margin-right:.4em;"
    "vertical-align:middle}\n"
    ".chooser{display:flex;gap:.35rem;max-width:100%}.chooser select{min-width:0}\n"
    ".unit{font-size:.8rem;color:var(--faint);align-self:center}.area{position:relative;touch-action:pan-y}"
    ".tip{position:absolute;z-index:9;padding:.25rem .5rem;font-size:.85rem;line-height:1.3;color:var(--text);"
    "background:var(--back);border:1px solid currentColor;border-radius:.3rem;pointer-events:none;width:max-content}"
    ".tip[hidden]{display:none}.u-select{background:#0072B233}\n"
    "@media screen{figure.on .static{display:none}}\n";

static const char print_style[] =
    "@media print{:root:root{color-scheme:light;--text:#000;--faint:#444;--back:#fff;--line:#bbb;--mark:#fff}"
    "body{max-width:none}figure,tr{break-inside:avoid}.scroll{overflow:visible}.live,#theme{display:none}}\n";

static void styles(bl_str *out)
{
    bl_str_append(out, "<style>\n");
    bl_str_append(out, style);
    if (bl_page_script[0]) {
        bl_str_append(out, bl_page_script_style);
        bl_str_append_c(out, '\n');
        bl_str_append(out, script_style);
    }
    bl_str_append(out, print_style);
    bl_str_append(out, "</style>\n</head>\n<body>\n");
}

static void element(bl_str *out, const char *tag, const char *attributes, const char *text)
{
    bl_str_printf(out, "<%s%s>", tag, attributes);
    bl_markup_text(out, text);
    bl_str_printf(out, "</%s>", tag);
}

static void term(bl_str *out, const char *name, const char *value)
{
    if (!value)
        return;
    element(out, "dt", "", name);
    element(out, "dd", "", value);
    bl_str_append_c(out, '\n');
}

static void title_of(const bl_experiment *e, bl_str *out)
{
    bl_str_printf(out, "Experiment %lld", (long long)e->id);
    if (e->name)
        bl_str_printf(out, " (%s)", e->name);
    bl_str_printf(out, ": %s", e->workload);
}

/* ---- the top ---- */

/* Special sizes against the curve, and the knee. */
static void add_more(const bl_analysis *a, const bl_batch_group *group, bl_str *out)
{
    bl_str text;
    for (int i = 0; i < 2; i++) {
        bl_str_init(&text);
        if (i == 0)
            bl_special_sentence(&group->powers, &group->eights, BL_REPORT_LEVEL, a->experiment->margin, &text);
        else
            bl_knee_sentence(a, group, &text);
        if (text.len > 0) {
            bl_str_append(out, "<p>");
            bl_markup_text(out, bl_str_text(&text));
            bl_str_append(out, "</p>\n");
        }
        bl_str_clear(&text);
    }
}

static void answer(const bl_analysis *a, bl_str *out)
{
    char rate[32];
    for (size_t p = 0; p < a->n_pairs; p++) {
        bl_str sentence;
        bl_str_init(&sentence);
        bl_verdict_sentence(&a->pairs[p].verdict, a->pairs[p].a, a->pairs[p].b, a->per_run, &a->rule, &sentence);
        bl_str_append(out, "<p>");
        bl_markup_text(out, bl_str_text(&sentence));
        bl_str_append(out, "</p>\n");
        bl_str_clear(&sentence);
    }
    for (size_t g = 0; a->n_pairs == 0 && g < a->n_groups; g++) {
        bl_str_append(out, "<p class=\"answer\">");
        if (a->groups[g].label[0]) {
            bl_markup_text(out, a->groups[g].label);
            bl_str_append(out, ": ");
        }
        bl_markup_text(out, a->groups[g].neighbours.sentence);
        bl_str_append(out, "</p>\n");
        add_more(a, &a->groups[g], out);
    }
    if (a->best == a->n_cases)
        return;
    const bl_interval *seconds = &a->cases[a->best].seconds;
    bl_format_number(a->per_run ? seconds->estimate : 1 / seconds->estimate, rate, sizeof rate);
    bl_str_append(out, "<p>Fastest as observed: ");
    bl_markup_text(out, a->cases[a->best].label);
    bl_str_printf(out, ", %s %s.</p>\n", rate, a->per_run ? "s a run" : "samples/s");
}

static void what_was_run(const bl_analysis *a, bl_str *out)
{
    static const char *const wanted[] = {"imported", "cpu", "cpus online", "accelerator", "system", "virtual machine"};
    const bl_experiment *e = a->experiment;
    char text[200];
    bl_str command;
    bl_str_init(&command);
    for (size_t i = 0; i < e->n_command; i++)
        bl_str_printf(&command, "%s%s", i ? " " : "", e->command[i]);
    bl_str_append(out, "<dl>\n");
    term(out, "command", e->n_command > 0 ? bl_str_text(&command) : NULL);
    bl_clock_format_utc(e->created_ns, text, sizeof text);
    term(out, "begun", text);
    snprintf(text, sizeof text, "%zu cases, %zu of %zu blocks complete, shuffled with seed %lld", a->n_cases,
             a->n_blocks_done, a->n_blocks, (long long)e->seed);
    term(out, "plan", text);
    for (size_t k = 0; k < BL_ARRAY_LEN(wanted); k++)
        for (size_t i = 0; i < e->environment.len; i++)
            if (e->environment.items[i].sitting == 0 && strcmp(e->environment.items[i].name, wanted[k]) == 0)
                term(out, wanted[k], e->environment.items[i].value);
    bl_str_append(out, "</dl>\n");
    bl_str_clear(&command);
}

/* ---- tables ---- */

static void cell(bl_str *out, const char *text)
{
    element(out, "td", "", text);
}

static void number_cell(bl_str *out, double value)
{
    char text[64];
    bl_format_number(value, text, sizeof text);
    cell(out, text);
}

static void interval_cell(bl_str *out, const bl_interval *i)
{
    char low[32], high[32], text[80] = "";
    bl_format_number(i->low, low, sizeof low);
    bl_format_number(i->high, high, sizeof high);
    if (i->has_interval)
        snprintf(text, sizeof text, "[%s, %s]", low, high);
    cell(out, text);
}

static void headings(bl_str *out, const bl_experiment *e, const char *const *names, size_t n)
{
    bl_str_append(out, "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    for (size_t f = 0; e && f < e->n_factors; f++)
        element(out, "th", " scope=\"col\"", e->factors[f].name);
    for (size_t i = 0; i < n; i++)
        element(out, "th", " scope=\"col\"", names[i]);
    bl_str_append(out, "</tr></thead>\n<tbody>\n");
}

static void case_row(const bl_analysis *a, size_t c, bl_str *out)
{
    const bl_case_figure *figure = &a->cases[c];
    char text[120];
    bl_str_append(out, c == a->best ? "<tr class=\"best\">" : "<tr>");
    for (size_t f = 0; f < a->experiment->n_factors; f++)
        cell(out, bl_experiment_value(a->experiment, c, f));
    bl_interval shown = a->per_run ? figure->seconds : bl_interval_reciprocal(&figure->seconds);
    number_cell(out, shown.estimate);
    interval_cell(out, &shown);
    number_cell(out, 1000 * figure->step_seconds);
    snprintf(text, sizeof text, "best");
    const bl_interval *ratio = &figure->against_best.ratio;
    bl_interval difference = a->per_run ? *ratio : bl_interval_reciprocal(ratio);
    if (c != a->best)
        bl_format_percent(ratio->n > 0 ? difference.estimate : NAN, text, sizeof text);
    cell(out, text);
    snprintf(text, sizeof text, "%.0f %%", 100 * figure->wait_share);
    cell(out, isnan(figure->wait_share) ? "-" : text);
    bl_format_bytes(figure->peak_memory_b, text, sizeof text);
    cell(out, text);
    snprintf(text, sizeof text, "%zu/%zu", figure->n_ok, figure->n_trials);
    cell(out, text);
    cell(out, figure->outcome);
    bl_str_append(out, "</tr>\n");
}

static void case_table(const bl_analysis *a, bl_str *out)
{
    const char *const names[] = {a->per_run ? "s a run" : "samples/s",
                                 "interval",
                                 "ms a step",
                                 "vs best",
                                 "data wait",
                                 "peak memory",
                                 "trials ok",
                                 "outcome"};
    headings(out, a->experiment, names, BL_ARRAY_LEN(names));
    for (size_t c = 0; c < a->n_cases; c++)
        case_row(a, c, out);
    bl_str_append(out, "</tbody></table></div>\n");
}

static void trial_table(const bl_analysis *a, bl_str *out)
{
    static const char *const names[] = {"trial", "block", "case", "ms/sample", "wall s", "peak memory", "outcome", ""};
    const bl_experiment *e = a->experiment;
    bl_str_printf(out, "<details><summary>All %zu trials, in the order they ran</summary>\n", e->n_trials);
    headings(out, NULL, names, BL_ARRAY_LEN(names));
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        char text[64];
        bl_str_printf(out, "<tr><td>%zu</td><td>%zu</td>", i + 1, t->block + 1);
        cell(out, t->case_index < a->n_cases ? a->cases[t->case_index].label : "?");
        number_cell(out, a->per_run ? NAN : 1000 * a->trials[i].seconds);
        number_cell(out, t->wall_s);
        bl_format_bytes(t->peak_memory_b, text, sizeof text);
        cell(out, text);
        cell(out, t->outcome);
        bl_str note;
        bl_str_init(&note);
        bl_format_clean(t->reason ? t->reason : a->trials[i].note, 120, &note);
        element(out, "td", " class=\"w\"", bl_str_text(&note));
        bl_str_clear(&note);
        bl_str_append(out, "</tr>\n");
    }
    bl_str_append(out, "</tbody></table></div></details>\n");
}

static void machine_table(const bl_environment *environment, bl_str *out)
{
    bl_str_append(out, "<details><summary>The machine</summary>\n<dl>\n");
    for (size_t i = 0; i < environment->len; i++) {
        const bl_environment_item *item = &environment->items[i];
        char text[300];
        snprintf(text, sizeof text, "not available (%.250s)", item->reason ? item->reason : "");
        term(out, item->name, item->value ? item->value : text);
    }
    bl_str_append(out, "</dl></details>\n");
}

static void figures(const bl_chart *charts, size_t n, bl_str *out)
{
    for (size_t i = 0; i < n; i++) {
        bl_str_printf(out, "<figure id=\"%s\">\n<h2>", charts[i].id);
        bl_markup_text(out, charts[i].title);
        bl_str_append(out, "</h2>\n<div class=\"static\">\n");
        bl_svg_chart(&charts[i], false, out);
        bl_str_append(out, "</div>\n<figcaption>");
        bl_markup_text(out, charts[i].caption);
        bl_str_append(out, "</figcaption>\n</figure>\n");
    }
}

static void about_experiment(const bl_analysis *a, bl_str *out)
{
    bl_str text;
    bl_str_init(&text);
    bl_str_printf(&text, "Figures of experiment %lld", (long long)a->experiment->id);
    bl_str_append(out, "<section>\n");
    element(out, "h2", "", bl_str_text(&text));
    bl_str_append_c(out, '\n');
    case_table(a, out);
    bl_str_reset(&text);
    bl_report_style wide = {.utf8 = true, .width = 10000};
    bl_report_notes(a, &wide, &text);
    bl_report_scaling(a, &wide, &text);
    bl_str_append_c(out, '\n');
    element(out, "pre", "", bl_str_text(&text));
    bl_str_append_c(out, '\n');
    trial_table(a, out);
    machine_table(&a->experiment->environment, out);
    bl_str_append(out, "</section>\n");
    bl_str_clear(&text);
}

static void scripts(const bl_analysis *const *analyses, size_t n, const bl_chart *charts, size_t n_charts, bl_str *out)
{
    bl_str_append(out, " Pictures by uPlot, \302\251 Leon Sorokin, MIT licence.</small></p>\n"
                       "<script type=\"application/json\" id=\"data\">");
    bl_page_data(analyses, n, charts, n_charts, out);
    bl_str_append(out, "</script>\n<script>");
    bl_str_append(out, bl_page_script);
    bl_str_append(out, "</script>\n");
}

int bl_report_page(const bl_analysis *const *analyses, size_t n, int refresh_s, bl_str *out, bl_error *err)
{
    bl_arena arena;
    bl_chart charts[BL_CHARTS_MAX];
    size_t n_charts = 0;
    bl_arena_init(&arena);
    bl_str title;
    bl_str_init(&title);
    if (n == 1)
        title_of(analyses[0]->experiment, &title);
    else
        bl_str_printf(&title, "%zu experiments", n);
    int code = bl_charts_make(analyses, n, &arena, charts, &n_charts, err);
    if (code == BL_OK) {
        head(out);
        if (refresh_s > 0)
            bl_str_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh_s);
        element(out, "title", "", bl_str_text(&title));
        styles(out);
        element(out, "h1", "", bl_str_text(&title));
        bl_str_append_c(out, '\n');
        for (size_t i = 0; i < n; i++) {
            if (n > 1) {
                bl_str_reset(&title);
                title_of(analyses[i]->experiment, &title);
                element(out, "h2", "", bl_str_text(&title));
            }
            answer(analyses[i], out);
            what_was_run(analyses[i], out);
        }
        figures(charts, n_charts, out);
        for (size_t i = 0; i < n; i++)
            about_experiment(analyses[i], out);
        bl_str_append(out, "<p><small>Made by batchlab " BATCHLAB_VERSION " from the raw steps.");
        if (bl_page_script[0])
            scripts(analyses, n, charts, n_charts, out);
        else
            bl_str_append(out, "</small></p>\n");
        bl_str_append(out, "</body>\n</html>\n");
    }
    if (code == BL_OK && (out->failed || title.failed))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the page");
    bl_str_clear(&title);
    bl_arena_clear(&arena);
    return code;
}
