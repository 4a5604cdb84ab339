#include "lab/run_study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/fs.h"
#include "base/log.h"
#include "lab/interrupt.h"
#include "store/store.h"

/* ---- the tables ---- */

/* A study within a study could call itself, and no file is to delete what was measured. */
static bool is_left_out(const char *name)
{
    return strcmp(name, "run") == 0 || strcmp(name, "delete") == 0;
}

typedef struct copying {
    bl_command *to;
    bl_arena *arena;
    int code;
} copying;

static char *copy_text(bl_arena *arena, const char *text)
{
    return text ? bl_arena_strdup(arena, text) : NULL;
}

/* The table lives only while the command is asked for its help. */
static void copy_table(const bl_command *command, void *context)
{
    copying *c = context;
    bl_option *options = bl_arena_alloc(c->arena, (size_t)command->n_options + 1, sizeof *options);
    *c->to = (bl_command){.program = "batchlab",
                          .name = copy_text(c->arena, command->name),
                          .options = options,
                          .n_options = command->n_options};
    c->code = options && c->to->name ? BL_OK : BL_ERR_NOMEM;
    for (int i = 0; c->code == BL_OK && i < command->n_options; i++) {
        const bl_option *from = &command->options[i];
        options[i] = *from;
        options[i].target = NULL;
        options[i].long_name = copy_text(c->arena, from->long_name);
        options[i].help = copy_text(c->arena, from->help);
        if ((from->long_name && !options[i].long_name) || (from->help && !options[i].help))
            c->code = BL_ERR_NOMEM;
    }
}

static const bl_command *find_table(const char *name, void *context)
{
    const bl_study_tables *tables = context;
    for (size_t i = 0; i < tables->n; i++)
        if (strcmp(tables->names[i], name) == 0)
            return &tables->items[i];
    return NULL;
}

int bl_study_tables_read(bl_lab *lab, bl_arena *arena, bl_study_tables *out, bl_error *err)
{
    *out = (bl_study_tables){0};
    copying c = {.arena = arena};
    for (size_t i = 0; i < bl_lab_n_commands && out->n < BL_ARRAY_LEN(out->items); i++) {
        if (is_left_out(bl_lab_commands[i].name))
            continue;
        char name[32], help[] = "--help";
        snprintf(name, sizeof name, "%s", bl_lab_commands[i].name);
        char *argv[] = {name, help, NULL};
        c.to = &out->items[out->n];
        c.code = BL_ERR_INTERNAL;
        bl_options_read_help(copy_table, &c);
        bl_lab_commands[i].run(lab, 2, argv);
        bl_options_read_help(NULL, NULL);
        if (c.code != BL_OK)
            return BL_FAIL(err, (bl_code)c.code, "the options of batchlab %s cannot be read", name);
        out->names[out->n++] = bl_lab_commands[i].name;
    }
    out->commands = (bl_study_commands){find_table, out, out->names, out->n};
    return BL_OK;
}

static bool has_option(const bl_study_run *run, const char *command, const char *name)
{
    const bl_command *table = find_table(command, (void *)run->tables);
    for (int i = 0; table && i < table->n_options; i++)
        if (table->options[i].long_name && strcmp(table->options[i].long_name, name) == 0)
            return true;
    return false;
}

/* ---- what a step has stored ---- */

typedef struct stored {
    long long id; /* 0: nothing */
    bool finished;
} stored;

static int find_stored(const bl_study_run *run, const char *step, stored *out, bl_error *err)
{
    *out = (stored){0};
    if (!bl_fs_exists(run->db))
        return BL_OK;
    bl_store *store = NULL;
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment_summary *items = NULL;
    size_t n = 0;
    int code = bl_store_open(run->db, BL_STORE_READ, &store, err);
    if (code == BL_OK)
        code = bl_store_list(store, &arena, &items, &n, err);
    size_t prefix = strlen(run->prefix);
    for (size_t i = 0; code == BL_OK && i < n; i++) /* the newest of that name */
        if (items[i].name && strncmp(items[i].name, run->prefix, prefix) == 0 &&
            strcmp(items[i].name + prefix, step) == 0)
            *out = (stored){items[i].id, items[i].state == BL_EXPERIMENT_FINISHED};
    bl_store_close(store);
    bl_arena_clear(&arena);
    return code;
}

static long long id_of(const char *step, void *context)
{
    stored found;
    return find_stored(context, step, &found, NULL) == BL_OK ? found.id : 0;
}

/* ---- a step's words ---- */

static bool gives(const bl_study_step *step, const char *option)
{
    size_t len = strlen(option);
    for (size_t i = 0; i < step->argc && strcmp(step->argv[i], "--") != 0; i++)
        if (strncmp(step->argv[i], option, len) == 0 && (step->argv[i][len] == '\0' || step->argv[i][len] == '='))
            return true;
    return false;
}

static int push(bl_strv *argv, const char *word, bl_error *err)
{
    return bl_strv_push(argv, word) == BL_OK ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a command line");
}

static int push_pair(bl_strv *argv, const char *option, const char *value, bl_error *err)
{
    int code = push(argv, option, err);
    return code == BL_OK ? push(argv, value, err) : code;
}

/* The database and the experiment's name, where the command takes them and the file does not give them. */
static int push_own(const bl_study_run *run, const bl_study_step *step, bl_strv *argv, bl_error *err)
{
    int code = BL_OK;
    if (has_option(run, step->command, "db") && !gives(step, "--db"))
        code = push_pair(argv, "--db", run->db, err);
    if (code == BL_OK && has_option(run, step->command, "name") && !gives(step, "--name")) {
        bl_str name;
        bl_str_init(&name);
        bl_str_printf(&name, "%s%s", run->prefix, step->name);
        code = name.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for a name")
                           : push_pair(argv, "--name", bl_str_text(&name), err);
        bl_str_clear(&name);
    }
    return code;
}

static int make_words(const bl_study_run *run, const bl_study_step *step, bl_strv *argv, bl_error *err)
{
    int code = push(argv, step->command, err);
    if (code == BL_OK)
        code = push_own(run, step, argv, err);
    for (size_t i = 0; code == BL_OK && i < step->argc; i++) {
        bl_str word;
        bl_str_init(&word);
        if (run->dry_run) /* the numbers are not there yet */
            bl_str_append(&word, step->argv[i]);
        else
            code = bl_study_fill_ids(step->argv[i], id_of, (void *)run, &word, err);
        if (code == BL_OK)
            code = push(argv, bl_str_text(&word), err);
        bl_str_clear(&word);
    }
    return code;
}

static int make_resuming_words(const bl_study_run *run, const bl_study_step *step, long long id, bl_strv *argv,
                               bl_error *err)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", id);
    /* What has no --resume of its own is a sweep underneath. */
    int code = push(argv, has_option(run, step->command, "resume") ? step->command : "sweep", err);
    if (code == BL_OK)
        code = push_pair(argv, "--resume", number, err);
    return code == BL_OK ? push_pair(argv, "--db", run->db, err) : code;
}

static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-{}";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        printf(" %s", word);
        return;
    }
    printf(" '");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            printf("'\\''");
        else
            putchar((unsigned char)*c < 32 ? '?' : *c);
    putchar('\'');
}

static void print_line(const bl_strv *argv)
{
    printf("batchlab");
    for (size_t i = 0; i < argv->len; i++)
        print_word(argv->items[i]);
    putchar('\n');
}

/* ---- running ---- */

static const bl_lab_command *find_command(const char *name)
{
    for (size_t i = 0; i < bl_lab_n_commands; i++)
        if (strcmp(bl_lab_commands[i].name, name) == 0)
            return &bl_lab_commands[i];
    return NULL;
}

static void print_heading(const bl_study_run *run, const bl_study_step *step, size_t at, size_t n)
{
    if (run->quiet)
        return;
    printf("%s%s (%zu of %zu)%s%s\n", at > 0 ? "\n" : "", step->name, at + 1, n, step->about ? ": " : "",
           step->about ? step->about : "");
}

static int run_step(const bl_study_run *run, const bl_study_step *step, int *status, bl_error *err)
{
    stored found = {0};
    bl_strv argv;
    bl_strv_init(&argv);
    *status = 0;
    int code = run->resume && !run->dry_run ? find_stored(run, step->name, &found, err) : BL_OK;
    if (code == BL_OK && found.finished) {
        if (!run->quiet)
            printf("finished before: experiment %lld\n", found.id);
        return BL_OK;
    }
    if (code == BL_OK)
        code = found.id > 0 ? make_resuming_words(run, step, found.id, &argv, err) : make_words(run, step, &argv, err);
    if (code == BL_OK && (run->dry_run || !run->quiet))
        print_line(&argv);
    if (code == BL_OK && !run->dry_run) {
        fflush(stdout);
        *status = find_command(argv.items[0])->run(run->lab, (int)argv.len, argv.items);
        fflush(stdout);
    }
    bl_strv_clear(&argv);
    return code;
}

int bl_study_run_steps(const bl_study_run *run, const bl_study_plan *plan, const bool *wanted, int *status,
                       bl_error *err)
{
    size_t n = 0, at = 0;
    int code = BL_OK;
    *status = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        n += wanted[i] ? 1 : 0;
    for (size_t i = 0; code == BL_OK && i < plan->n_steps; i++) {
        if (!wanted[i])
            continue;
        int ended = 0;
        print_heading(run, &plan->steps[i], at++, n);
        code = run_step(run, &plan->steps[i], &ended, err);
        if (code == BL_OK && ended > 1)
            return BL_FAIL(err, ended == 2 ? BL_ERR_USAGE : BL_ERR_ENV, "step '%s' could not be run: the study ends",
                           plan->steps[i].name);
        if (bl_interrupt_count > 0)
            return *status = 1, code;
        if (ended == 1 && !plan->steps[i].expect_failures)
            *status = 1;
    }
    return code;
}
