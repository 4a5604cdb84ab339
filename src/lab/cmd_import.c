#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "lab/commands.h"
#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"
#include "plan/template.h"
#include "store/import.h"
#include "store/store.h"

enum { FILE_MAX_B = 256 << 20, FILES_MAX = 4096 };

typedef struct request {
    const char *db, *name, *steps, *samples;
    bl_import_options options;
    bl_import_file *files;
    size_t n;
} request;

/* "32=run.csv" tells the batch size of a log. */
static int read_file(const char *operand, bl_import_file *out, bl_error *err)
{
    const char *equals = strchr(operand, '=');
    char *text = NULL;
    size_t len = 0, digits = strspn(operand, "0123456789");
    *out = (bl_import_file){.name = operand};
    if (equals && digits > 0 && operand + digits == equals && !bl_fs_exists(operand)) {
        char number[24];
        snprintf(number, sizeof number, "%.*s", digits < 20 ? (int)digits : 20, operand);
        int code = bl_parse_i64(number, "the batch size before '='", 1, INT32_MAX, &out->batch, err);
        if (code != BL_OK)
            return code;
        out->name = equals + 1;
    }
    int code = bl_fs_read(out->name, FILE_MAX_B, &text, &len, err);
    if (code == BL_OK && strlen(text) != len)
        code = BL_FAIL(err, BL_ERR_FORMAT, "%s: it is no text", out->name);
    out->text = text;
    return code;
}

/* Samples of a run that is known by its time alone. */
static int tell_samples(const char *samples, bl_experiment *e, bl_error *err)
{
    bl_sweep_spec spec;
    char name[] = "import", *command[] = {name, NULL};
    bl_experiment as_swept = *e; /* it has no command, which nothing here needs */
    as_swept.command = command;
    as_swept.n_command = 1;
    int code = bl_sweep_spec_from_experiment(&as_swept, &spec, err);
    e->samples = samples;
    for (size_t i = 0; code == BL_OK && i < e->n_trials; i++)
        if (strcmp(e->trials[i].step_source, "none") == 0)
            code = bl_template_number(samples, &spec.factors, e->trials[i].case_index, &e->trials[i].run_samples, err);
    bl_sweep_spec_clear(&spec);
    return code;
}

static int store(const request *r, bl_experiment *e, const char *from, bl_error *err)
{
    bl_store *into = NULL;
    int64_t id = 0;
    int code = BL_OK;
    if (r->name)
        e->name = r->name;
    if (r->samples)
        code = tell_samples(r->samples, e, err);
    if (code == BL_OK)
        code = bl_store_open(r->db, BL_STORE_CREATE, &into, err);
    if (code == BL_OK)
        code = bl_store_put(into, e, &id, err);
    if (code == BL_OK)
        printf("experiment %lld: %s: %zu cases, %lld blocks, %zu trials\n", (long long)id, from,
               bl_experiment_n_cases(e), (long long)e->blocks, e->n_trials);
    bl_store_close(into);
    return code;
}

static int import_one(const request *r, const bl_import_file *file, const bl_import_file *steps, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    int code = BL_OK;
    switch (bl_import_recognize(file->text)) {
    case BL_IMPORT_JSON:
        code = bl_import_json(file, &arena, &e, err);
        break;
    case BL_IMPORT_HYPERFINE:
        code = bl_import_hyperfine(file, &r->options, &arena, &e, err);
        break;
    case BL_IMPORT_TRIALS:
        code = bl_import_trials(file, steps, &r->options, &arena, &e, err);
        break;
    default:
        BL_FAIL(err, BL_ERR_FORMAT, "%s: it is neither JSON nor CSV", file->name);
        bl_error_remedy(err, "batchlab import --help tells what is read");
        code = BL_ERR_FORMAT;
    }
    if (code == BL_OK)
        code = store(r, &e, file->name, err);
    bl_arena_clear(&arena);
    return code;
}

/* Logs make one experiment together, all other files one each. */
static int import_files(const request *r, const bl_import_file *steps, bl_error *err)
{
    bl_import_file *logs = bl_calloc(r->n, sizeof *logs);
    size_t n_logs = 0;
    int code = logs ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu files", r->n);
    for (size_t i = 0; code == BL_OK && i < r->n; i++) {
        if (bl_import_recognize(r->files[i].text) == BL_IMPORT_LOG)
            logs[n_logs++] = r->files[i];
        else
            code = import_one(r, &r->files[i], steps, err);
    }
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    if (code == BL_OK && n_logs > 0) {
        code = bl_import_logs(logs, n_logs, &r->options, &arena, &e, err);
        if (code == BL_OK)
            code = store(r, &e, "CSV logs", err);
    }
    bl_arena_clear(&arena);
    free(logs);
    return code;
}

static int import_operands(request *r, const bl_strv *operands, bl_error *err)
{
    bl_import_file steps = {0};
    r->files = bl_calloc(operands->len, sizeof *r->files);
    int code = r->files ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu files", operands->len);
    for (; code == BL_OK && r->n < operands->len; r->n++)
        code = read_file(operands->items[r->n], &r->files[r->n], err);
    if (code == BL_OK && r->steps)
        code = read_file(r->steps, &steps, err);
    if (code == BL_OK)
        code = import_files(r, r->steps ? &steps : NULL, err);
    for (size_t i = 0; r->files && i < operands->len; i++)
        free((char *)r->files[i].text);
    free((char *)steps.text);
    free(r->files);
    return code;
}

int bl_cmd_import(bl_lab *lab, int argc, char **argv)
{
    request r = {.db = BL_SWEEP_DB, .options = {.now_ns = bl_clock_wall_ns(), .warmup = 1, .row_samples = NAN}};
    const bl_option options[] = {
        {BL_OPT_STRING, 0, "steps", "FILE", "The raw steps of a CSV of trials, as batchlab export --steps writes them.",
         &r.steps, 0, 0},
        {BL_OPT_STRING, 0, "batch-name", "NAME",
         "The parameter of hyperfine's that is the batch size (default: batch, batch_size or the like).",
         &r.options.batch_name, 0, 0},
        {BL_OPT_STRING, 0, "samples", "N",
         "Samples that a run trains, where only its time is known: a number, or such as '{batch}*50'.", &r.samples, 0,
         0},
        {BL_OPT_FLOAT, 0, "row-samples", "N", "Samples that each line of a log stands for, where it does not tell.",
         &r.options.row_samples, 0, 0},
        {BL_OPT_INT, 'w', "warmup", "N", "Steps, or lines of a log, dropped in any case (default: 1).",
         &r.options.warmup, 0, INT32_MAX},
        {BL_OPT_STRING, 0, "name", "TEXT", "A name for the experiment.", &r.name, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &r.db, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "import",
        .summary = "Stores experiments from files.",
        .usage = "FILE... [options]",
        .details =
            "Reads what batchlab export writes (JSON; CSV of trials with its steps), hyperfine's JSON, and CSV logs of "
            "training programs that tell a throughput or a time. Each is told apart by its content. Logs make one "
            "experiment together: a file is a trial, a line is a step; 32=FILE tells its batch size, where no column "
            "does.",
        .examples = "  batchlab import sweep.json\n"
                    "  batchlab import hyperfine.json --samples '{batch}*100'\n"
                    "  batchlab import 32=a/metrics.csv 32=b/metrics.csv 64=c/metrics.csv\n"
                    "  batchlab import 16=results.csv --row-samples 5000   # a line an epoch\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, &err);
    if (code != BL_OK)
        return bl_log_error(&err);
    if (result.help) {
        bl_options_print_help(&command, stdout);
    } else if (result.operands.len == 0 || result.operands.len > FILES_MAX || result.n_rest > 0) {
        code = BL_FAIL(&err, BL_ERR_USAGE, "which files?");
        bl_error_remedy(&err, "batchlab import FILE...");
    } else {
        code = import_operands(&r, &result.operands, &err);
    }
    bl_options_result_clear(&result);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
