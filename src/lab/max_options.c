#include "lab/max_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/parse.h"
#include "plan/largest.h"

static const char details[] =
    "Searches for the largest batch size with which COMMAND runs, each probe a fresh process. From the peak memory of "
    "small probes a line c + k B is fitted, which chooses the next one; the answer has itself been run, and run again "
    "for "
    "twice as many steps, and the size above it has failed, unless --max was reached. Holes (a size that fails below "
    "one "
    "that runs), memory that does not grow, sizes that the program cannot take and sizes that only run far slower are "
    "told. Probes are stored as they end: a search that was stopped goes on with --resume.";

static const char examples[] =
    "  batchlab max -- python3 train.py --batch-size {batch}\n"
    "  batchlab max --memory-limit 8G --model mobilenet_v3_large -- --image-size 64\n"
    "  batchlab max --min 8 --max 512 --multiple-of 8 --headroom 10% -- ./train -b {batch}\n"
    "  batchlab max --to-end -- python3 train.py -b {batch} --epochs 1   # its evaluation included\n"
    "  batchlab max --resume\n";

enum { TABLE_MAX = BL_SWEEP_MAX_OPTIONS + 10 };

static int fill_table(bl_max_options *o, bl_option *table)
{
    static const char *const without[] = {
        "batch", "param",     "samples",         "blocks", "steps",       "warmup",       "seed",    "margin", "resume",
        "live",  "telemetry", "max-temperature", "until",  "stop-losing", "metric-regex", "confirm", NULL};
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to search", NULL, 0, 0},
        {BL_OPT_INT, 0, "min", "N", "Smallest size to try (default: 1).", &o->min, 1, BL_BATCH_MAX},
        {BL_OPT_INT, 0, "max", "N", "Largest size to try (default: 65536).", &o->max, 1, BL_BATCH_MAX},
        {BL_OPT_INT, 0, "multiple-of", "N", "Try only multiples of this (default: 1).", &o->multiple, 1, BL_BATCH_MAX},
        {BL_OPT_STRING, 0, "headroom", "PERCENT",
         "Memory that must stay free, of --memory-limit or the machine's (default: 0%).", &o->headroom_text, 0, 0},
        {BL_OPT_INT, 's', "steps", "N",
         "End a probe after this many steps (default: 20), and the confirmation after twice as many. They must be "
         "enough "
         "to reach the peak.",
         &o->sweep.steps, 1, 1000000},
        {BL_OPT_FLAG, 0, "to-end", NULL, "Let the program run to its own end, its evaluation included.", &o->to_end, 0,
         0},
        {BL_OPT_FLAG, 'r', "resume", NULL,
         "Go on with the latest unfinished search, or the one whose number follows; no finished probe is run again.",
         &o->sweep.resume, 0, 0},
    };
    memcpy(table, rows, sizeof rows);
    int n = (int)BL_ARRAY_LEN(rows);
    return n + bl_sweep_options_table_without(&o->sweep, without, table + n);
}

static bl_command max_command(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "max",
        .summary = "Finds the largest batch size that fits.",
        .usage = "[options] -- COMMAND...\n       batchlab max --model NAME [options] [-- TRAINER OPTIONS...]\n       "
                 "batchlab max --resume [ID] [options]",
        .details = details,
        .examples = examples,
        .options = table,
        .n_options = n,
    };
}

void bl_max_options_print_help(FILE *out)
{
    bl_max_options unused = {0};
    bl_option table[TABLE_MAX];
    bl_command command = max_command(table, fill_table(&unused, table));
    bl_options_print_help(&command, out);
}

static int check(bl_max_options *o, const bl_options_result *result, bl_error *err)
{
    const bl_strv *operands = &result->operands;
    bl_sweep_options *s = &o->sweep;
    if (operands->len > 0 && s->resume && operands->len == 1)
        return bl_parse_i64(operands->items[0], "the search to resume", 1, INT64_MAX, &s->resume_id, err);
    if (operands->len > 0) {
        BL_FAIL(err, BL_ERR_USAGE, "'%s' is neither an option nor behind a --", operands->items[0]);
        bl_error_remedy(err, "put -- before the command: batchlab max -- %s ...", operands->items[0]);
        return BL_ERR_USAGE;
    }
    if (s->resume && (o->min || o->max || o->multiple || o->headroom_text || o->to_end))
        return BL_FAIL(err, BL_ERR_USAGE, "--resume keeps the settings of the search: no others can be given with it");
    if (s->resume)
        return bl_sweep_options_check_resume(s, err);
    if (o->to_end && (s->steps != BL_SWEEP_NOT_GIVEN || s->time_s >= 0))
        return BL_FAIL(err, BL_ERR_USAGE, "--to-end and %s exclude each other", s->time_s >= 0 ? "--time" : "--steps");
    if ((s->data && !s->model) || (s->model && s->shell))
        return BL_FAIL(err, BL_ERR_USAGE,
                       s->data && !s->model ? "--data goes with --model only"
                                            : "--shell and --model exclude each other");
    if (!s->model && s->n_command == 0) {
        BL_FAIL(err, BL_ERR_USAGE, "no command was given");
        bl_error_remedy(err, "end the line with: -- COMMAND --batch-size {batch}");
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

int bl_max_options_parse(int argc, char **argv, bl_max_options *o, bl_error *err)
{
    *o = (bl_max_options){0};
    bl_sweep_options_init(&o->sweep);
    bl_option table[TABLE_MAX];
    bl_command command = max_command(table, fill_table(o, table));
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, err);
    if (code != BL_OK)
        return code;
    o->help = result.help;
    o->sweep.command = result.rest;
    o->sweep.n_command = result.n_rest;
    if (!o->help)
        code = check(o, &result, err);
    if (!o->help && code == BL_OK)
        code = bl_sweep_options_check_times(&o->sweep, err);
    bl_options_result_clear(&result);
    return code;
}

void bl_max_options_clear(bl_max_options *o)
{
    bl_sweep_options_clear(&o->sweep);
}

/* What there is when the search begins; NaN where the kernel does not tell. */
static double available_b(void)
{
    char *text = NULL;
    size_t n;
    long long kb = -1;
    if (bl_fs_read("/proc/meminfo", 65536, &text, &n, NULL) != BL_OK)
        return NAN;
    const char *at = strstr(text, "MemAvailable:");
    if (at && sscanf(at + strlen("MemAvailable:"), " %lld", &kb) != 1)
        kb = -1;
    free(text);
    return kb > 0 ? (double)kb * 1024 : NAN;
}

int bl_max_spec(const bl_max_options *given, const char *program, bl_sweep_spec *spec, bl_error *err)
{
    bl_max_options o = *given;
    bl_largest_limits limits = {.min = o.min ? o.min : 1,
                                .max = o.max ? o.max : BL_MAX_MAX,
                                .multiple = o.multiple ? o.multiple : 1,
                                .budget_b = o.sweep.driving.memory_limit_b ? (double)o.sweep.driving.memory_limit_b
                                                                           : available_b()};
    int code = BL_OK;
    if (o.headroom_text && strcmp(o.headroom_text, "0") != 0 && strcmp(o.headroom_text, "0%") != 0) {
        bl_error ignored = {0};
        if (bl_sweep_parse_margin(o.headroom_text, &limits.headroom, &ignored) != BL_OK)
            return BL_FAIL(err, BL_ERR_USAGE, "--headroom '%s' is no percentage from 0%% to below 100%%",
                           o.headroom_text);
    }
    if (limits.headroom > 0 && isnan(limits.budget_b))
        return BL_FAIL(err, BL_ERR_ENV,
                       "--headroom needs --memory-limit here: how much memory there is cannot be read");
    int64_t first = bl_largest_first(&limits);
    if (first == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "there is no multiple of %lld between --min %lld and --max %lld",
                       (long long)limits.multiple, (long long)limits.min, (long long)limits.max);
    snprintf(o.first, sizeof o.first, "%lld", (long long)first);
    o.sweep.batches = o.first;
    o.sweep.seed = 0;
    o.sweep.blocks = 1;
    if (o.sweep.steps == BL_SWEEP_NOT_GIVEN)
        o.sweep.steps = o.to_end ? 0 : BL_MAX_STEPS;
    if (o.to_end)
        o.sweep.time_s = 0;
    code = bl_sweep_spec_from_options(&o.sweep, program, spec, err);
    spec->driving.search = limits;
    return code;
}
