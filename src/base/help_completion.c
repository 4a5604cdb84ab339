/* Completion for shells: scripts without a list of their own, beyond what the tables of options say. */
#include <string.h>

#include "base/help_pages.h"

/* A shell function's name has no dash in every shell. */
static void put_name(const char *name, FILE *out)
{
    for (; *name; name++)
        fputc(*name == '-' ? '_' : *name, out);
}

/* Without what would end or change a word in single quotes; `special`: what the shell's own syntax wants escaped. */
static void put_quoted(const char *text, size_t n, const char *special, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'')
            fputs("'\\''", out);
        else if (strchr(special, text[i]))
            fprintf(out, "\\%c", text[i]);
        else
            fputc(text[i], out);
    }
}

/* ---- bash ---- */

void bl_help_bash_begin(const bl_help_program *p, FILE *out)
{
    fprintf(out, "# Completion of %s for bash, made by `%s help --completion bash`.\n", p->name, p->name);
    fputc('_', out);
    put_name(p->name, out);
    fprintf(out, "()\n{\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i\n"
                 "    local first='' options='' values='' files='' folders=''\n"
                 "    COMPREPLY=()\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        [[ ${COMP_WORDS[i]} == -- ]] || continue\n"
                 "        # What follows is another program's command line.\n"
                 "        if declare -F _command_offset >/dev/null; then\n"
                 "            _command_offset $((i + 1))\n"
                 "        else\n"
                 "            compopt -o filenames 2>/dev/null\n"
                 "            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "        fi\n"
                 "        return\n"
                 "    done\n"
                 "    if [[ $cur == = ]]; then\n"
                 "        cur=\n"
                 "    elif [[ $prev == = ]]; then\n"
                 "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                 "    fi\n"
                 "    first='");
    for (size_t i = 0; i < p->n_entries; i++)
        if (p->entries[i].name)
            fprintf(out, "%s ", p->entries[i].name);
    fprintf(out, "help --help%s'\n", p->words ? "" : " --version");
    fprintf(out, "    case ${COMP_WORDS[1]} in\n");
}

static void bash_list(const bl_command *c, const char *name, bool (*wanted)(const bl_option *), FILE *out)
{
    fprintf(out, "        %s='", name);
    for (int i = 0; i < c->n_options; i++) {
        const bl_option *o = &c->options[i];
        if (o->kind == BL_OPT_GROUP || !wanted(o))
            continue;
        if (o->short_name)
            fprintf(out, " -%c", o->short_name);
        fprintf(out, " --%s", o->long_name);
    }
    fputs(" '\n", out);
}

static bool any(const bl_option *o)
{
    return o->long_name != NULL;
}

static bool takes_file(const bl_option *o)
{
    return bl_help_value_of(o) == BL_HELP_FILE;
}

static bool takes_folder(const bl_option *o)
{
    return bl_help_value_of(o) == BL_HELP_FOLDER;
}

static bool takes_other(const bl_option *o)
{
    return bl_help_value_of(o) == BL_HELP_OTHER;
}

void bl_help_bash_command(const bl_command *c, FILE *out)
{
    fprintf(out, "    %s)\n", c->name ? c->name : "*");
    bash_list(c, "options", any, out);
    bash_list(c, "files", takes_file, out);
    bash_list(c, "folders", takes_folder, out);
    bash_list(c, "values", takes_other, out);
    fputs("        ;;\n", out);
}

void bl_help_bash_end(const bl_help_program *p, FILE *out)
{
    fprintf(out, "    esac\n"
                 "    if [[ $files == *\" $prev \"* ]]; then\n"
                 "        compopt -o filenames 2>/dev/null\n"
                 "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "    elif [[ $folders == *\" $prev \"* ]]; then\n"
                 "        compopt -o filenames 2>/dev/null\n"
                 "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
                 "    elif [[ $values == *\" $prev \"* ]]; then\n"
                 "        return\n"
                 "    elif [[ $cur == --no-* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"${options//--/--no-}\" -- \"$cur\")\n"
                 "    elif ((COMP_CWORD == 1)); then\n");
    if (p->words)
        fprintf(out, "        first+=\" $(%s)\"\n", p->words);
    fprintf(out, "        mapfile -t COMPREPLY < <(compgen -W \"$first $options\" -- \"$cur\")\n"
                 "    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$first\" -- \"$cur\")\n"
                 "    elif [[ $cur == -* ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$options --help\" -- \"$cur\")\n"
                 "    else\n"
                 "        compopt -o filenames 2>/dev/null\n"
                 "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "    fi\n"
                 "}\ncomplete -F _");
    put_name(p->name, out);
    fprintf(out, " %s\n", p->name);
}

/* ---- zsh ---- */

void bl_help_zsh_begin(const bl_help_program *p, FILE *out)
{
    fprintf(out, "#compdef %s\n# Made by `%s help --completion zsh`.\n\n_", p->name, p->name);
    put_name(p->name, out);
    fputs("()\n{\n    local -a first\n    first=(\n", out);
    for (size_t i = 0; i < p->n_entries; i++) {
        if (!p->entries[i].name)
            continue;
        fprintf(out, "        '%s:", p->entries[i].name);
        put_quoted(p->entries[i].summary, strlen(p->entries[i].summary), "\\:", out);
        fputs("'\n", out);
    }
    fputs("        'help:show help'\n    )\n", out);
    if (p->words)
        fprintf(out, "    (( CURRENT == 2 )) && first+=(${(f)\"$(%s)\"})\n", p->words);
    fputs("    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "        _describe command first\n        return\n    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n    (( CURRENT-- ))\n    case $command in\n"
          "        help) _describe command first ;;\n",
          out);
}

void bl_help_zsh_command(const bl_command *c, FILE *out)
{
    static const char *const action[] = {"", "_files", "_files -/", ""};
    fprintf(out, "        %s)\n            _arguments -s -S \\\n", c->name ? c->name : "*");
    for (int i = 0; i < c->n_options; i++) {
        const bl_option *o = &c->options[i];
        if (o->kind == BL_OPT_GROUP)
            continue;
        const char *star = o->kind == BL_OPT_STRINGS ? "*" : "";
        for (int form = o->short_name ? 0 : 1; form < 2; form++) {
            if (form == 0)
                fprintf(out, "                '%s-%c%s[", star, o->short_name, o->value ? "+" : "");
            else
                fprintf(out, "                '%s--%s%s[", star, o->long_name, o->value ? "=" : "");
            put_quoted(o->help, (size_t)bl_help_first_sentence(o->help), "\\[]:", out);
            fputc(']', out);
            if (o->value)
                fprintf(out, ":%s:%s", o->value, action[bl_help_value_of(o)]);
            fputs("' \\\n", out);
        }
    }
    fputs("                '(-h --help)'{-h,--help}'[show help]' \\\n                '*:file:_files' ;;\n", out);
}

void bl_help_zsh_end(const bl_help_program *p, FILE *out)
{
    fputs("    esac\n}\n\n_", out);
    put_name(p->name, out);
    fputs(" \"$@\"\n", out);
}

/* ---- fish ---- */

void bl_help_fish_begin(const bl_help_program *p, FILE *out)
{
    fprintf(out, "# Completion of %s for fish, made by `%s help --completion fish`.\n", p->name, p->name);
    for (size_t i = 0; i < p->n_entries; i++) {
        if (!p->entries[i].name)
            continue;
        fprintf(out, "complete -c %s -n __fish_use_subcommand -x -a %s -d '", p->name, p->entries[i].name);
        /* fish knows a backslash within single quotes. */
        for (const char *s = p->entries[i].summary; *s; s++)
            fprintf(out, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
        fputs("'\n", out);
    }
    if (p->words)
        fprintf(out, "complete -c %s -n __fish_use_subcommand -x -a \"(%s)\"\n", p->name, p->words);
    else
        fprintf(out, "complete -c %s -n __fish_use_subcommand -x -l version -d 'show the version'\n", p->name);
    fprintf(out, "complete -c %s -s h -l help -d 'show help'\n", p->name);
}

void bl_help_fish_command(const bl_command *c, FILE *out)
{
    for (int i = 0; i < c->n_options; i++) {
        const bl_option *o = &c->options[i];
        if (o->kind == BL_OPT_GROUP)
            continue;
        fprintf(out, "complete -c %s", c->program);
        if (c->name)
            fprintf(out, " -n '__fish_seen_subcommand_from %s'", c->name);
        if (o->short_name)
            fprintf(out, " -s %c", o->short_name);
        fprintf(out, " -l %s", o->long_name);
        bl_help_value value = bl_help_value_of(o);
        if (value == BL_HELP_FILE)
            fputs(" -r -F", out);
        else if (value == BL_HELP_FOLDER)
            fputs(" -x -a '(__fish_complete_directories)'", out);
        else if (value == BL_HELP_OTHER)
            fputs(" -x", out);
        fputs(" -d '", out);
        int n = bl_help_first_sentence(o->help);
        for (int k = 0; k < n; k++)
            fprintf(out, o->help[k] == '\'' || o->help[k] == '\\' ? "\\%c" : "%c", o->help[k]);
        fputs("'\n", out);
    }
}

void bl_help_fish_end(const bl_help_program *p, FILE *out)
{
    (void)p;
    (void)out;
}
