/* The man page, in the macros of man(7), which man-db, mandoc and groff all know. */
#include <string.h>

#include "base/help_pages.h"

/* As it stands: no character is a request, an escape or a typographer's quote. */
static void put(const char *text, size_t n, bool bold_dashes, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool first = i == 0 || text[i - 1] == '\n';
        if (first && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-' && (bold_dashes || (i + 1 < n && text[i + 1] == '-') || (i > 0 && text[i - 1] == '-')))
            fputs("\\-", out);
        else if (c == '\'')
            fputs("\\(aq", out);
        else if (c == '^')
            fputs("\\(ha", out);
        else if (c == '~')
            fputs("\\(ti", out);
        else if (c == '`')
            fputs("\\(ga", out);
        else
            fputc(c, out);
    }
}

static void put_text(const char *text, FILE *out)
{
    const char *line = text;
    while (*line) {
        size_t n = strcspn(line, "\n");
        size_t blanks = strspn(line, " ");
        /* A line that begins with a blank would be a break of its own. */
        put(line + (blanks < n ? blanks : n), n - (blanks < n ? blanks : n), false, out);
        fputc('\n', out);
        line += n;
        if (!*line)
            break;
        line++;
        fputs(*line == '\n' ? ".PP\n" : ".br\n", out);
        line += strspn(line, "\n");
    }
}

static void put_example(const char *text, FILE *out)
{
    fputs(".PP\n.RS 4\n.nf\n", out);
    while (*text) {
        size_t n = strcspn(text, "\n"), blanks = strspn(text, " ");
        blanks = blanks < n ? blanks : n;
        put(text + blanks, n - blanks, true, out);
        fputc('\n', out);
        text += n + (text[n] == '\n');
    }
    fputs(".fi\n.RE\n", out);
}

void bl_help_man_begin(const bl_help_program *p, FILE *out)
{
    fprintf(out, ".\\\" Made by `%s help --man`: to change it, change the tables of options.\n", p->name);
    fprintf(out, ".TH ");
    for (const char *c = p->name; *c; c++)
        fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
    fprintf(out, " 1 " BATCHLAB_DATE " \"batchlab %s\"\n.SH NAME\n", p->version);
    put(p->name, strlen(p->name), true, out);
    fputs(" \\- ", out);
    put_text(p->summary, out);
    fputs(".SH SYNOPSIS\n", out);
    for (size_t i = 0; i < p->n_entries; i++) {
        fputs(i ? ".br\n.B " : ".B ", out);
        put(p->name, strlen(p->name), true, out);
        fprintf(out, "%s%s\n.I ...\n", p->entries[i].name ? " " : "", p->entries[i].name ? p->entries[i].name : "");
    }
    fputs(".SH DESCRIPTION\n", out);
    if (p->details)
        put_text(p->details, out);
    for (size_t i = 0; i < p->n_entries; i++) {
        if (!p->entries[i].name)
            continue;
        fprintf(out, ".TP\n.B %s\n", p->entries[i].name);
        put_text(p->entries[i].summary, out);
    }
    fputs(".SH COMMANDS\n", out);
}

static void put_option(const bl_option *o, FILE *out)
{
    fputs(".TP\n", out);
    if (o->short_name)
        fprintf(out, "\\fB\\-%c\\fR, ", o->short_name);
    fputs("\\fB\\-\\-", out);
    put(o->long_name, strlen(o->long_name), true, out);
    fputs("\\fR", out);
    if (o->value)
        fprintf(out, " \\fI%s\\fR", o->value);
    fputc('\n', out);
    put_text(o->help, out);
}

void bl_help_man_command(const bl_command *c, FILE *out)
{
    fputs(".SS ", out);
    put(c->program, strlen(c->program), true, out);
    fprintf(out, "%s%s\n", c->name ? " " : "", c->name ? c->name : "");
    put_text(c->summary, out);
    fputs(".PP\n.nf\n", out);
    put(c->program, strlen(c->program), true, out);
    fprintf(out, "%s%s ", c->name ? " " : "", c->name ? c->name : "");
    for (const char *line = c->usage; *line;) {
        size_t n = strcspn(line, "\n"), blanks = strspn(line, " ");
        put(line + blanks, n - blanks, true, out);
        fputc('\n', out);
        line += n + (line[n] == '\n');
    }
    fputs(".fi\n", out);
    if (c->details) {
        fputs(".PP\n", out);
        put_text(c->details, out);
    }
    for (int i = 0; i < c->n_options; i++) {
        if (c->options[i].kind == BL_OPT_GROUP) {
            fputs(".PP\n", out);
            put(c->options[i].help, strlen(c->options[i].help), false, out);
            fputs(":\n", out);
        } else {
            put_option(&c->options[i], out);
        }
    }
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow this help.\n", out);
    if (c->examples)
        put_example(c->examples, out);
}

void bl_help_man_end(const bl_help_program *p, FILE *out)
{
    fputs(".SH EXIT STATUS\n"
          "0 done, 1 a trial failed or a check did not hold, 2 wrong usage, 3 the environment lacks something.\n"
          ".SH SEE ALSO\n",
          out);
    put(p->see_also, strlen(p->see_also), true, out);
    fputc('\n', out);
}
