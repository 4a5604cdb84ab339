#include "base/options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"

typedef struct match {
    const bl_option *option;
    bool negated;      /* --no-x */
    const char *value; /* after '=', or NULL */
} match;

static bool is_option(const bl_option *o)
{
    return o->kind != BL_OPT_GROUP;
}

static bool names_equal(const char *name, const char *text, size_t len)
{
    return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool find_long(const bl_command *command, const char *text, match *out)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    for (int i = 0; i < command->n_options; i++) {
        const bl_option *o = &command->options[i];
        if (!is_option(o))
            continue;
        bool plain = names_equal(o->long_name, text, len);
        bool negated = o->kind == BL_OPT_FLAG && len > 3 && memcmp(text, "no-", 3) == 0 &&
                       names_equal(o->long_name, text + 3, len - 3);
        if (plain || negated) {
            *out = (match){.option = o, .negated = negated && !plain, .value = equals ? equals + 1 : NULL};
            return true;
        }
    }
    return false;
}

static const bl_option *find_short(const bl_command *command, char c)
{
    for (int i = 0; i < command->n_options; i++)
        if (is_option(&command->options[i]) && command->options[i].short_name == c)
            return &command->options[i];
    return NULL;
}

static int fail_unknown(const bl_command *command, const char *text, bl_error *err)
{
    int rc = BL_FAIL(err, BL_ERR_USAGE, "unknown option '%s'", text);
    const char *name = text + strspn(text, "-");
    char key[64];
    size_t len = strcspn(name, "=");
    len = len < sizeof key - 1 ? len : sizeof key - 1;
    memcpy(key, name, len);
    key[len] = '\0';
    const char *nearest = NULL;
    int least = 3; /* farther ones are no help */
    for (int i = 0; i < command->n_options; i++) {
        const bl_option *o = &command->options[i];
        if (!is_option(o) || !o->long_name)
            continue;
        int d = bl_str_distance(key, o->long_name);
        if (d < least) {
            least = d;
            nearest = o->long_name;
        }
    }
    if (nearest)
        bl_error_remedy(err, "--%s, or --help for all options", nearest);
    else
        bl_error_remedy(err, "%s%s%s --help", command->program, command->name ? " " : "",
                        command->name ? command->name : "");
    return rc;
}

static int set_value(const bl_option *o, const char *shown, const char *value, bl_error *err)
{
    switch (o->kind) {
    case BL_OPT_STRING:
        *(const char **)o->target = value;
        return BL_OK;
    case BL_OPT_STRINGS:
        if (bl_strv_push(o->target, value) != BL_OK)
            return BL_FAIL(err, BL_ERR_NOMEM, "out of memory reading %s", shown);
        return BL_OK;
    case BL_OPT_INT: {
        bool limited = o->min != 0 || o->max != 0;
        return bl_parse_i64(value, shown, limited ? o->min : INT64_MIN, limited ? o->max : INT64_MAX, o->target, err);
    }
    case BL_OPT_FLOAT:
        return bl_parse_f64(value, shown, o->target, err);
    case BL_OPT_DURATION:
        return bl_parse_duration(value, shown, o->target, err);
    case BL_OPT_SIZE:
        return bl_parse_size(value, shown, o->target, err);
    case BL_OPT_FLAG:
    case BL_OPT_GROUP:
        break;
    }
    return BL_FAIL(err, BL_ERR_INTERNAL, "option %s takes no value", shown);
}

/* The value of an option: attached, or the next argument. */
static int take_value(const bl_option *o, const char *shown, const char *attached, int argc, char **argv, int *i,
                      bl_error *err)
{
    if (!attached) {
        if (*i + 1 >= argc || strcmp(argv[*i + 1], "--") == 0) {
            int rc = BL_FAIL(err, BL_ERR_USAGE, "option %s wants a value", shown);
            bl_error_remedy(err, "%s %s", shown, o->value ? o->value : "VALUE");
            return rc;
        }
        attached = argv[++*i];
    }
    return set_value(o, shown, attached, err);
}

static int parse_long(const bl_command *command, int argc, char **argv, int *i, bool *help, bl_error *err)
{
    const char *text = argv[*i] + 2;
    match m;
    if (!find_long(command, text, &m)) {
        if (strcmp(text, "help") == 0) {
            *help = true;
            return BL_OK;
        }
        return fail_unknown(command, argv[*i], err);
    }
    char shown[64];
    snprintf(shown, sizeof shown, "--%s", m.option->long_name);
    if (m.option->kind != BL_OPT_FLAG)
        return take_value(m.option, shown, m.value, argc, argv, i, err);
    if (m.value)
        return BL_FAIL(err, BL_ERR_USAGE, "option %s takes no value", shown);
    *(bool *)m.option->target = !m.negated;
    return BL_OK;
}

/* -v, -vq (flags together), -b8, -b 8 */
static int parse_short(const bl_command *command, int argc, char **argv, int *i, bool *help, bl_error *err)
{
    for (const char *c = argv[*i] + 1; *c; c++) {
        const bl_option *o = find_short(command, *c);
        if (!o && *c == 'h') {
            *help = true;
            continue;
        }
        if (!o)
            return fail_unknown(command, argv[*i], err);
        if (o->kind != BL_OPT_FLAG) {
            char shown[4] = {'-', *c, '\0', '\0'};
            return take_value(o, shown, c[1] ? c + 1 : NULL, argc, argv, i, err);
        }
        *(bool *)o->target = true;
    }
    return BL_OK;
}

int bl_options_parse(const bl_command *command, int argc, char **argv, bl_options_result *out, bl_error *err)
{
    memset(out, 0, sizeof *out);
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        int rc = BL_OK;
        if (strcmp(arg, "--") == 0) {
            out->rest = argv + i + 1;
            out->n_rest = argc - i - 1;
            break;
        }
        if (arg[0] == '-' && arg[1] == '-')
            rc = parse_long(command, argc, argv, &i, &out->help, err);
        else if (arg[0] == '-' && arg[1])
            rc = parse_short(command, argc, argv, &i, &out->help, err);
        else if (bl_strv_push(&out->operands, arg) != BL_OK)
            rc = BL_FAIL(err, BL_ERR_NOMEM, "out of memory reading the command line");
        if (rc != BL_OK) {
            bl_options_result_clear(out);
            return rc;
        }
    }
    return BL_OK;
}

void bl_options_result_clear(bl_options_result *result)
{
    bl_strv_clear(&result->operands);
    memset(result, 0, sizeof *result);
}

/* Prints text from column `indent` on, broken at blanks before column 80. */
static void print_wrapped(FILE *out, const char *text, int column, int indent)
{
    enum { WIDTH = 80 };
    while (*text) {
        int len = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, (size_t)len, out);
        column += len;
        text += len;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (*text)
            text++;
    }
    fputc('\n', out);
}

static void print_option(const bl_option *o, FILE *out)
{
    enum { HELP_COLUMN = 28 };
    char left[96];
    char letter[8] = "    ";
    if (o->short_name)
        snprintf(letter, sizeof letter, "-%c, ", o->short_name);
    int n = snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->long_name, o->value ? " " : "",
                     o->value ? o->value : "");
    if (n >= (int)sizeof left)
        n = (int)sizeof left - 1;
    fputs(left, out);
    if (n > HELP_COLUMN - 2) {
        fputc('\n', out);
        n = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - n, "");
    print_wrapped(out, o->help, HELP_COLUMN, HELP_COLUMN);
}

static struct {
    bl_help_reader *read;
    void *context;
} help_reader;

void bl_options_read_help(bl_help_reader *reader, void *context)
{
    help_reader.read = reader;
    help_reader.context = context;
}

static void (*print_otherwise)(const bl_command *command, FILE *out);

void bl_options_print_with(void (*print)(const bl_command *command, FILE *out))
{
    print_otherwise = print;
}

void bl_options_print_help(const bl_command *command, FILE *out)
{
    if (print_otherwise) {
        print_otherwise(command, out);
        return;
    }
    if (help_reader.read) {
        help_reader.read(command, help_reader.context);
        return;
    }
    fprintf(out, "usage: %s%s%s %s\n\n", command->program, command->name ? " " : "", command->name ? command->name : "",
            command->usage);
    print_wrapped(out, command->summary, 0, 0);
    if (command->details) {
        fputc('\n', out);
        print_wrapped(out, command->details, 0, 0);
    }
    bool in_group = false;
    for (int i = 0; i < command->n_options; i++) {
        const bl_option *o = &command->options[i];
        if (o->kind == BL_OPT_GROUP)
            fprintf(out, "\n%s:\n", o->help);
        else {
            if (!in_group && i == 0)
                fprintf(out, "\nOptions:\n");
            print_option(o, out);
        }
        in_group = true;
    }
    fprintf(out, "%s  -h, --help                Show this help.\n", command->n_options ? "" : "\nOptions:\n");
    if (command->examples)
        fprintf(out, "\nExamples:\n%s", command->examples);
}
