#include "base/help_pages.h"

#include <string.h>

#include "base/attributes.h"

typedef struct kind {
    const char *shell; /* NULL: the man page */
    void (*begin)(const bl_help_program *program, FILE *out);
    void (*command)(const bl_command *command, FILE *out);
    void (*end)(const bl_help_program *program, FILE *out);
} kind;

static const kind kinds[] = {
    {NULL, bl_help_man_begin, bl_help_man_command, bl_help_man_end},
    {"bash", bl_help_bash_begin, bl_help_bash_command, bl_help_bash_end},
    {"zsh", bl_help_zsh_begin, bl_help_zsh_command, bl_help_zsh_end},
    {"fish", bl_help_fish_begin, bl_help_fish_command, bl_help_fish_end},
};

static const kind *find_kind(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--man") == 0)
        return &kinds[0];
    for (size_t k = 1; k < BL_ARRAY_LEN(kinds); k++)
        if (argc == 3 && strcmp(argv[1], "--completion") == 0 && strcmp(argv[2], kinds[k].shell) == 0)
            return &kinds[k];
    return NULL;
}

int bl_help_pages_print(const bl_help_program *program, int argc, char **argv, FILE *out, bl_error *err)
{
    const kind *k = find_kind(argc, argv);
    if (!k) {
        BL_FAIL(err, BL_ERR_USAGE, "help gives the man page (--man), or completion for a shell (--completion bash)");
        bl_error_remedy(err, "--completion bash, zsh or fish");
        return BL_ERR_USAGE;
    }
    k->begin(program, out);
    bl_options_print_with(k->command);
    int status = 0;
    for (size_t i = 0; status == 0 && i < program->n_entries; i++)
        status = program->print(program->context, i);
    bl_options_print_with(NULL);
    if (status != 0)
        return BL_FAIL(err, BL_ERR_INTERNAL, "a command gave no help");
    k->end(program, out);
    return BL_OK;
}

bl_help_value bl_help_value_of(const bl_option *o)
{
    if (!o->value)
        return BL_HELP_NO_VALUE;
    if (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "PATH") == 0)
        return BL_HELP_FILE;
    return strcmp(o->value, "DIR") == 0 ? BL_HELP_FOLDER : BL_HELP_OTHER;
}

int bl_help_first_sentence(const char *help)
{
    const char *end = help;
    while (*end && !(*end == '.' && (end[1] == '\0' || end[1] == ' ')) && *end != ':' && *end != ';' && *end != '\n' &&
           *end != '(')
        end++;
    while (end > help && end[-1] == ' ')
        end--;
    return (int)(end - help);
}
