#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "lab/commands.h"
#include "lab/interrupt.h"
#include "lab/run_study.h"
#include "lab/sweep_options.h"

typedef struct run_options {
    const char *scale, *db;
    bl_strv set, only;
    bool resume, dry_run, schema, quiet, help;
    char *file;
} run_options;

enum { MAX_SET = 64 };

static const char details[] =
    "FILE is an experiment file (YAML): a study, each step of it a batchlab command with its options, in one or more "
    "scales, such as one that ends within minutes on a small machine and one for an accelerator. A file can say what a "
    "command line can; it is checked whole before anything runs, and what is wrong is told by line and column. Each "
    "step's experiment is stored under the name FILE/SCALE/STEP, by which --resume finds what is finished and goes on "
    "with what is not.";

static const char examples[] =
    "  batchlab run experiments/mobilenet_v3_cifar10.yaml\n"
    "  batchlab run study.yaml --dry-run --scale full     # the command lines, nothing else\n"
    "  batchlab run study.yaml --set blocks=9 --only near-128\n"
    "  batchlab run study.yaml --resume                   # after a break\n"
    "  batchlab run --schema > experiment-file.json       # for an editor that completes YAML\n";

static int parse(int argc, char **argv, run_options *o, bl_error *err)
{
    *o = (run_options){.db = BL_SWEEP_DB};
    bl_strv_init(&o->set);
    bl_strv_init(&o->only);
    const bl_option options[] = {
        {BL_OPT_STRING, 0, "scale", "NAME", "The scale to run (default: the file's first).", &o->scale, 0, 0},
        {BL_OPT_STRINGS, 0, "set", "NAME=VALUE",
         "Another value for a variable of the file; may be given several times.", &o->set, 0, 0},
        {BL_OPT_STRINGS, 0, "only", "STEP", "Run this step alone; may be given several times.", &o->only, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &o->db, 0, 0},
        {BL_OPT_FLAG, 'r', "resume", NULL, "Leave out steps that are finished, and go on with those that are not.",
         &o->resume, 0, 0},
        {BL_OPT_FLAG, 0, "dry-run", NULL, "Check the file and print the command lines; run nothing.", &o->dry_run, 0,
         0},
        {BL_OPT_FLAG, 0, "schema", NULL, "Print the JSON Schema of experiment files; no FILE is wanted.", &o->schema, 0,
         0},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "No headings between the steps.", &o->quiet, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "run",
        .summary = "Carries out a study that is written down in a file.",
        .usage = "FILE [options]\n       batchlab run --schema",
        .details = details,
        .examples = examples,
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, err);
    if (code != BL_OK)
        return code;
    o->help = result.help;
    if (o->help) {
        bl_options_print_help(&command, stdout);
    } else if (result.rest || result.operands.len != (o->schema ? 0 : 1)) {
        code = BL_FAIL(err, BL_ERR_USAGE, o->schema ? "--schema goes without a file" : "one experiment file is wanted");
        bl_error_remedy(err,
                        o->schema ? "batchlab run --schema" : "batchlab run experiments/mobilenet_v3_cifar10.yaml");
    } else if (!o->schema) {
        o->file = bl_strdup(result.operands.items[0]);
        code = o->file ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a file's name");
    }
    bl_options_result_clear(&result);
    return code;
}

static void clear(run_options *o)
{
    bl_strv_clear(&o->set);
    bl_strv_clear(&o->only);
    free(o->file);
}

/* --set NAME=VALUE, and the folder of the file as "here". */
static int take_values(const run_options *o, bl_arena *arena, bl_study_value *values, size_t *n, bl_error *err)
{
    const char *slash = strrchr(o->file, '/');
    char *here = slash ? bl_arena_printf(arena, "%.*s", (int)(slash == o->file ? 1 : slash - o->file), o->file)
                       : bl_arena_strdup(arena, ".");
    values[0] = (bl_study_value){"here", here};
    *n = 1;
    if (o->set.len >= MAX_SET)
        return BL_FAIL(err, BL_ERR_USAGE, "--set was given more than %d times", MAX_SET - 1);
    for (size_t i = 0; here && i < o->set.len; i++) {
        char *name = bl_arena_strdup(arena, o->set.items[i]);
        char *equals = name ? strchr(name, '=') : NULL;
        if (name && (!equals || equals == name)) {
            BL_FAIL(err, BL_ERR_USAGE, "--set '%s' does not say NAME=VALUE", o->set.items[i]);
            bl_error_remedy(err, "--set blocks=9");
            return BL_ERR_USAGE;
        }
        if (!name)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a variable");
        *equals = '\0';
        values[(*n)++] = (bl_study_value){name, equals + 1};
    }
    return here ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a variable");
}

static int choose(const run_options *o, const bl_study_plan *plan, bool *wanted, bl_error *err)
{
    for (size_t i = 0; i < plan->n_steps; i++)
        wanted[i] = o->only.len == 0;
    for (size_t k = 0; k < o->only.len; k++) {
        bool known = false;
        for (size_t i = 0; i < plan->n_steps; i++)
            if (strcmp(plan->steps[i].name, o->only.items[k]) == 0)
                known = wanted[i] = true;
        if (known)
            continue;
        bl_str names;
        bl_str_init(&names);
        for (size_t i = 0; i < plan->n_steps; i++)
            bl_str_printf(&names, "%s%s", i ? ", " : "", plan->steps[i].name);
        BL_FAIL(err, BL_ERR_USAGE, "there is no step '%s' in this scale", o->only.items[k]);
        bl_error_remedy(err, "its steps are: %s", bl_str_text(&names));
        bl_str_clear(&names);
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

/* "mobilenet_v3_cifar10/small/" of experiments/mobilenet_v3_cifar10.yaml */
static char *make_prefix(const char *file, const char *scale, bl_arena *arena)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');
    return bl_arena_printf(arena, "%.*s/%s/", (int)(dot && dot > base ? dot - base : (long)strlen(base)), base, scale);
}

static int run_file(const run_options *o, bl_lab *lab, const bl_study_tables *tables, const char *text, size_t len,
                    bl_arena *arena, int *status, bl_error *err)
{
    bl_study study;
    bl_study_plan plan;
    bl_study_value values[MAX_SET];
    size_t n_values = 0;
    int code = bl_study_parse(text, len, o->file, arena, &study, err);
    if (code == BL_OK)
        code = take_values(o, arena, values, &n_values, err);
    const char *scale = o->scale || code != BL_OK ? o->scale : study.scales[0];
    if (code == BL_OK)
        code = bl_study_plan_make(&study, scale, values, n_values, &tables->commands, arena, &plan, err);
    bool *wanted = code == BL_OK ? bl_arena_alloc(arena, plan.n_steps + 1, sizeof *wanted) : NULL;
    char *prefix = code == BL_OK ? make_prefix(o->file, scale, arena) : NULL;
    if (code == BL_OK && (!wanted || !prefix))
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for '%s'", o->file);
    if (code == BL_OK)
        code = choose(o, &plan, wanted, err);
    if (code == BL_OK && !o->quiet && !o->dry_run)
        printf("%s (%s)\n\n", study.title, scale);
    const bl_study_run run = {.lab = lab,
                              .tables = tables,
                              .prefix = prefix,
                              .db = o->db,
                              .resume = o->resume,
                              .dry_run = o->dry_run,
                              .quiet = o->quiet || o->dry_run};
    if (code == BL_OK)
        code = bl_study_run_steps(&run, &plan, wanted, status, err);
    if (code == BL_OK && bl_interrupt_count > 0)
        bl_log_note("the study was interrupted; go on with: batchlab run %s --scale %s --db %s --resume", o->file,
                    scale, o->db);
    return code;
}

int bl_cmd_run(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    run_options o;
    bl_study_tables *tables = NULL;
    bl_arena arena;
    bl_arena_init(&arena);
    char *text = NULL;
    size_t len = 0;
    int status = 0;
    int code = parse(argc, argv, &o, &err);
    if (code == BL_OK && !o.help) {
        tables = bl_arena_alloc(&arena, 1, sizeof *tables);
        code = tables ? bl_study_tables_read(lab, &arena, tables, &err) : BL_FAIL(&err, BL_ERR_NOMEM, "out of memory");
        if (code == BL_OK && o.schema) {
            bl_str schema;
            bl_str_init(&schema);
            code = bl_study_schema(&tables->commands, &schema, &err);
            fputs(bl_str_text(&schema), stdout);
            bl_str_clear(&schema);
        } else if (code == BL_OK) {
            code = bl_fs_read(o.file, BL_STUDY_MAX_B, &text, &len, &err);
            if (code == BL_OK)
                code = run_file(&o, lab, tables, text, len, &arena, &status, &err);
        }
    }
    free(text);
    bl_arena_clear(&arena);
    clear(&o);
    return code == BL_OK ? status : bl_log_error(&err);
}
