#include "lab/sweep_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define MAX_STEPS 1000000

static const char details[] =
    "Runs COMMAND once for each batch size of LIST and does so in blocks: a block runs every case once, in a "
    "shuffled order, each in a fresh process. From the steps that the program marks (batchlab_marker.py, "
    "batchlab_marker.h), or else from its progress lines, the warm-up is cut and the steady seconds per sample are "
    "taken; a program that tells nothing is timed whole. Every trial is stored as it ends, so a sweep may be stopped "
    "at any moment and "
    "finished later with --resume.\n\n"
    "LIST is made of parts joined by commas: 128 | 1..64 | 8..64:8 | pow2:1..512 | x1.25:8..256.\n"
    "In COMMAND {batch} stands for the batch size and {NAME} for the value of --param NAME=...; {{ and }} are "
    "plain braces; {outdir} is a fresh folder for the trial's output. The program also finds the batch size in "
    "$BATCHLAB_BATCH.";

static const char examples[] =
    "  batchlab sweep -b 100,127,128,129,156 -- python3 train.py --batch-size {batch}\n"
    "  batchlab sweep -b pow2:8..256 --param workers=0,2 -- ./train -b {batch} -w {workers}\n"
    "  batchlab sweep -b 16,32,64 --model mobilenet_v3_large -- --image-size 64\n"
    "  batchlab sweep -b 32,64 --samples '{batch}*100' -- ./run100steps {batch}   # a silent program\n"
    "  batchlab sweep -b 8..64:8 --memory-limit 4G -- python3 train.py -b {batch} --out {outdir}\n"
    "  batchlab sweep -b 32 -p ranks=1,2,4 --launcher 'mpirun -np {ranks} --bind-to core' -- ./train -b {batch}\n"
    "  batchlab sweep --resume                            # finish what was interrupted\n";

int bl_sweep_options_table(bl_sweep_options *o, bl_option *table)
{
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to measure", NULL, 0, 0},
        {BL_OPT_STRING, 'b', "batch", "LIST", "Batch sizes to try.", &o->batches, 0, 0},
        {BL_OPT_STRINGS, 'p', "param", "NAME=LIST",
         "A further factor, its values joined by commas; may be given several times. Every combination is a case.",
         &o->params, 0, 0},
        {BL_OPT_STRING, 'm', "model", "NAME",
         "Train this built-in model with batchlab-train; what stands after -- are then further options for it.",
         &o->model, 0, 0},
        {BL_OPT_STRING, 'd', "data", "DIR", "With --model: train on this image folder (default: synthetic images).",
         &o->data, 0, 0},
        {BL_OPT_STRING, 0, "launcher", "COMMAND",
         "Start the command by this one, such as 'mpirun -np {ranks} --bind-to core' with --param ranks=1,2,4: it is "
         "split "
         "into words and put before it.",
         &o->launcher, 0, 0},
        {BL_OPT_FLAG, 0, "shell", NULL, "Let /bin/sh read COMMAND, for pipes and variables.", &o->shell, 0, 0},
        {BL_OPT_FLAG, 0, "batch-from-env", NULL,
         "COMMAND holds no {batch}: the program reads $BATCHLAB_BATCH by itself.", &o->batch_from_env, 0, 0},
        {BL_OPT_STRING, 0, "samples", "N",
         "For a program that tells no steps: samples that one run trains, such as 6400 or '{batch}*50'. Without it "
         "the figure is seconds a run.",
         &o->samples, 0, 0},

        {BL_OPT_GROUP, 0, NULL, NULL, "How to read the program", NULL, 0, 0},
        {BL_OPT_FLAG, 0, "progress", NULL,
         "Where the program marks no steps, read them from its progress lines (default); --no-progress times such a "
         "program whole.",
         &o->driving.progress, 0, 0},
        {BL_OPT_STRINGS, 0, "progress-regex", "REGEX",
         "Read progress lines by this pattern alone; its group (?<done>...) is the counter (PCRE2; may be given "
         "several times).",
         &o->driving.progress_regexes, 0, 0},
        {BL_OPT_STRING, 0, "progress-unit", "UNIT", "What the counter counts: steps or samples (default: steps).",
         &o->driving.progress_unit, 0, 0},
        {BL_OPT_STRINGS, 0, "metric-regex", "REGEX",
         "Read metrics from the output by this pattern: each named group is one, as in (?<top1>...) or (?<loss>...), "
         "the training loss; a group (?<step>...) says after how many steps (PCRE2; may be given several times).",
         &o->driving.metric_regexes, 0, 0},
        {BL_OPT_FLAG, 0, "pty", NULL,
         "Let the program write to a terminal, for one that shows progress only there, or else keeps its output back.",
         &o->driving.pty, 0, 0},
        {BL_OPT_STRINGS, 0, "oom-pattern", "REGEX",
         "Output of a failing program that means that memory is out, besides what is known (PCRE2; may be given "
         "several times).",
         &o->driving.oom_patterns, 0, 0},
        {BL_OPT_STRING, 0, "rules", "FILE",
         "Further such patterns, a line each: device_oom, host_oom, shm, limit, crash, ambiguous, timeout or none, and "
         "the pattern.",
         &o->driving.rules_file, 0, 0},

        {BL_OPT_GROUP, 0, NULL, NULL, "What a trial may have", NULL, 0, 0},
        {BL_OPT_SIZE, 0, "memory-limit", "SIZE",
         "Most host memory that a trial's processes may hold together, such as 8G (default: no limit). Beyond it the "
         "trial is out of memory.",
         &o->driving.memory_limit_b, 0, 0},
        {BL_OPT_DURATION, 0, "silence-timeout", "DURATION",
         "End a trial that has neither printed nor marked anything for so long (default: never).",
         &o->driving.silence_s, 0, 0},
        {BL_OPT_STRING, 0, "setup", "COMMAND", "Run this once, before the first trial.", &o->driving.setup, 0, 0},
        {BL_OPT_STRING, 0, "prepare", "COMMAND",
         "Run this before each trial, untimed; {batch} and {outdir} work in it. Where it fails, all ends.",
         &o->driving.prepare, 0, 0},
        {BL_OPT_STRING, 0, "cleanup", "COMMAND", "Run this after each trial, whatever became of it.",
         &o->driving.cleanup, 0, 0},

        {BL_OPT_GROUP, 0, NULL, NULL, "What to look at", NULL, 0, 0},
        {BL_OPT_STRING, 0, "telemetry", "RATE",
         "Look at processes, power, clocks and devices so often a second, such as 10Hz, or off (default: 10Hz); "
         "batchlab "
         "doctor says what works here.",
         &o->telemetry, 0, 0},
        {BL_OPT_FLOAT, 0, "max-temperature", "C",
         "Begin no trial while the hottest processor or device is above so many degrees, but wait for two minutes at "
         "most (default: 2 above what it was at the start, one minute at most).",
         &o->max_temperature, 0, 0},

        {BL_OPT_GROUP, 0, NULL, NULL, "How long", NULL, 0, 0},
        {BL_OPT_INT, 'n', "blocks", "N", "Blocks: trials of each case (default: 5).", &o->blocks, 1, 10000},
        {BL_OPT_INT, 's', "steps", "N",
         "End a trial after this many steps (default: 50), or after --time, whichever comes first.", &o->steps, 1,
         MAX_STEPS},
        {BL_OPT_DURATION, 't', "time", "DURATION",
         "End a trial this long after its set-up (default: 60s). A program that tells no steps is never cut: it "
         "runs to its own end, or to --setup-time.",
         &o->time_s, 0, 0},
        {BL_OPT_STRING, 0, "until", "TARGET",
         "End a trial once its training has reached loss=0.25, say, the mean over the last tenth of its steps, or a "
         "metric: top1=0.6. What tune reads.",
         &o->driving.until, 0, 0},
        {BL_OPT_FLOAT, 0, "stop-losing", "FACTOR",
         "With --until and several rates (factor lr): end a trial that has taken FACTOR times the steps of a better "
         "one, of its batch size, or of another that it should not fall behind (default: 2; 0: never).",
         &o->driving.losing, 0, 0},
        {BL_OPT_DURATION, 0, "setup-time", "DURATION",
         "Give up on a trial that has told no step by then (default: 10m).", &o->setup_s, 0, 0},
        {BL_OPT_INT, 'w', "warmup", "N",
         "Steps always dropped at a trial's start (default: 3); the end of the warm-up is searched for beyond them.",
         &o->warmup, 0, MAX_STEPS},
        {BL_OPT_INT, 0, "seed", "N", "Seed of the shuffled order (default: a fresh one, recorded).", &o->seed, 0,
         INT64_C(9007199254740991)},
        {BL_OPT_STRING, 0, "margin", "PERCENT", "Differences below this are of no practical importance (default: 1%).",
         &o->margin_text, 0, 0},

        {BL_OPT_FLAG, 0, "confirm", NULL,
         "Then compare the best case with those near it on fresh blocks, as a comparison of its own: the best of many "
         "looks better than it is.",
         &o->confirm, 0, 0},

        {BL_OPT_GROUP, 0, NULL, NULL, "Where to", NULL, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &o->db, 0, 0},
        {BL_OPT_STRING, 0, "name", "TEXT", "A name for the experiment.", &o->name, 0, 0},
        {BL_OPT_FLAG, 'r', "resume", NULL,
         "Finish the latest unfinished experiment, or the one whose number follows; no finished trial is run again. "
         "With --blocks the experiment is lengthened.",
         &o->resume, 0, 0},
        {BL_OPT_STRING, 0, "keep-logs", "DIR", "Write each trial's output to a file there.", &o->keep_logs, 0, 0},
        {BL_OPT_STRING, 0, "keep-outdir", "DIR",
         "Keep each trial's {outdir} there. Without it, {outdir} in COMMAND is a fresh folder that is removed after "
         "the "
         "trial.",
         &o->keep_outdir, 0, 0},
        {BL_OPT_STRING, 0, "live", "FILE",
         "Write the experiment's web page there after each trial; where it is open, it follows by itself.", &o->live, 0,
         0},
        {BL_OPT_FLAG, 0, "json", NULL, "Print the result as JSON, and nothing else, on standard output.", &o->json, 0,
         0},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "No progress, only the result.", &o->quiet, 0, 0},
        {BL_OPT_FLAG, 'v', "verbose", NULL, "Show each trial's command and what was measured.", &o->verbose, 0, 0},
        {BL_OPT_FLAG, 0, "debug", NULL, "With errors, say where in the source they come from.", &o->debug, 0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= BL_SWEEP_MAX_OPTIONS, "raise BL_SWEEP_MAX_OPTIONS");
    memcpy(table, rows, sizeof rows);
    return (int)(sizeof rows / sizeof rows[0]);
}

int bl_sweep_options_table_without(bl_sweep_options *o, const char *const *without, bl_option *table)
{
    bl_option all[BL_SWEEP_MAX_OPTIONS];
    int n = 0, total = bl_sweep_options_table(o, all);
    for (int i = 0; i < total; i++) {
        bool left_out = false;
        for (size_t w = 0; all[i].long_name && without[w]; w++)
            left_out = left_out || strcmp(all[i].long_name, without[w]) == 0;
        if (!left_out && all[i].kind == BL_OPT_GROUP && n > 0 && table[n - 1].kind == BL_OPT_GROUP)
            n--; /* nothing is left under that heading */
        if (!left_out)
            table[n++] = all[i];
    }
    return n;
}

static bl_command sweep_command(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "sweep",
        .summary = "Measures a training command over batch sizes (and other factors).",
        .usage = "-b LIST [options] -- COMMAND...\n       batchlab sweep -b LIST --model NAME [options] [-- TRAINER "
                 "OPTIONS...]\n       batchlab sweep --resume [ID] [options]",
        .details = details,
        .examples = examples,
        .options = table,
        .n_options = n,
    };
}

void bl_sweep_options_print_help(FILE *out)
{
    bl_sweep_options unused = {0};
    bl_option table[BL_SWEEP_MAX_OPTIONS];
    int n = bl_sweep_options_table(&unused, table);
    bl_command command = sweep_command(table, n);
    bl_options_print_help(&command, out);
}

int bl_sweep_parse_margin(const char *text, double *out, bl_error *err)
{
    char number[32];
    size_t len = strlen(text);
    bool percent = len > 0 && text[len - 1] == '%';
    len -= percent ? 1 : 0;
    bl_error ignored = {0};
    double value = 0;
    if (len < sizeof number) {
        memcpy(number, text, len);
        number[len] = '\0';
    }
    if (len >= sizeof number || bl_parse_f64(number, "--margin", &value, &ignored) != BL_OK) {
        BL_FAIL(err, BL_ERR_USAGE, "--margin '%s' is not a percentage", text);
        bl_error_remedy(err, "--margin 1%%");
        return BL_ERR_USAGE;
    }
    if (percent)
        value /= 100;
    if (!(value > 0 && value < 1)) {
        BL_FAIL(err, BL_ERR_USAGE, "--margin '%s' does not lie above 0 and below 100%%", text);
        if (!percent && value >= 1 && value < 100)
            bl_error_remedy(err, "--margin %s%%", text);
        return BL_ERR_USAGE;
    }
    *out = value;
    return BL_OK;
}

/* A resumed experiment keeps its own settings: one that is given again would be ignored, so it is refused. */
int bl_sweep_options_check_resume(const bl_sweep_options *o, bl_error *err)
{
    const struct {
        const char *name;
        bool given;
    } fixed[] = {
        {"--batch", o->batches != NULL},
        {"--param", o->params.len > 0},
        {"--model", o->model != NULL},
        {"--data", o->data != NULL},
        {"--launcher", o->launcher != NULL},
        {"--shell", o->shell},
        {"--batch-from-env", o->batch_from_env},
        {"--samples", o->samples != NULL},
        {"--steps", o->steps != BL_SWEEP_NOT_GIVEN},
        {"--time", o->time_s >= 0},
        {"--setup-time", o->setup_s >= 0},
        {"--warmup", o->warmup != BL_SWEEP_NOT_GIVEN},
        {"--seed", o->seed != BL_SWEEP_NOT_GIVEN},
        {"--name", o->name != NULL},
        {"--oom-pattern", o->driving.oom_patterns.len > 0},
        {"--rules", o->driving.rules_file != NULL},
        {"--progress-regex", o->driving.progress_regexes.len > 0},
        {"--progress-unit", o->driving.progress_unit != NULL},
        {"--no-progress", !o->driving.progress},
        {"--pty", o->driving.pty},
        {"--memory-limit", o->driving.memory_limit_b > 0},
        {"--silence-timeout", o->driving.silence_s >= 0},
        {"--until", o->driving.until != NULL},
        {"--interleave", o->driving.turn_steps > 0},
        {"--stop-losing", o->driving.losing >= 0},
        {"--metric-regex", o->driving.metric_regexes.len > 0},
        {"--setup", o->driving.setup != NULL},
        {"--prepare", o->driving.prepare != NULL},
        {"--cleanup", o->driving.cleanup != NULL},
        {"a command", o->n_command > 0},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(fixed); i++)
        if (fixed[i].given) {
            BL_FAIL(err, BL_ERR_USAGE, "--resume keeps the settings of the experiment: %s cannot be given with it",
                    fixed[i].name);
            bl_error_remedy(err, "leave it out, or start a new experiment without --resume");
            return BL_ERR_USAGE;
        }
    return BL_OK;
}

static int check_fresh(const bl_sweep_options *o, bool separator, bl_error *err)
{
    if (!o->batches) {
        BL_FAIL(err, BL_ERR_USAGE, "no batch sizes were given");
        bl_error_remedy(err, "batchlab sweep -b 32,64,128 -- COMMAND --batch-size {batch}");
        return BL_ERR_USAGE;
    }
    if (o->data && !o->model) {
        BL_FAIL(err, BL_ERR_USAGE, "--data goes with --model only");
        bl_error_remedy(err, "put the folder into the command after --");
        return BL_ERR_USAGE;
    }
    if (o->model && o->shell) {
        BL_FAIL(err, BL_ERR_USAGE, "--shell and --model exclude each other");
        bl_error_remedy(err, "leave out --shell");
        return BL_ERR_USAGE;
    }
    if (o->launcher && o->shell) {
        BL_FAIL(err, BL_ERR_USAGE, "--shell and --launcher exclude each other");
        bl_error_remedy(err, "put the launcher into the command after --");
        return BL_ERR_USAGE;
    }
    if (!o->model && o->n_command == 0) {
        BL_FAIL(err, BL_ERR_USAGE, separator ? "no command follows the --" : "no command to measure was given");
        bl_error_remedy(err, "end the line with: -- COMMAND --batch-size {batch}");
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

static int take_operands(bl_sweep_options *o, const bl_strv *operands, bl_error *err)
{
    if (operands->len == 0)
        return BL_OK;
    const char *first = operands->items[0];
    if (o->resume && operands->len == 1)
        return bl_parse_i64(first, "the experiment to resume", 1, INT64_MAX, &o->resume_id, err);
    BL_FAIL(err, BL_ERR_USAGE, "'%s' is neither an option nor behind a --", first);
    bl_error_remedy(err, "put -- before the command: batchlab sweep -b LIST -- %s ...", first);
    return BL_ERR_USAGE;
}

/* Zero seconds would end a trial before its first step. */
static int take_telemetry(bl_sweep_options *o, bl_error *err)
{
    const char *text = o->telemetry;
    char number[32];
    size_t n = text ? strlen(text) : 0;
    bool off = text && strcmp(text, "off") == 0;
    if (n > 2 && strcasecmp(text + n - 2, "hz") == 0)
        n -= 2;
    snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : 0), text ? text : "");
    bl_error ignored = {0};
    if (off)
        o->telemetry_hz = 0;
    else if (text && (bl_parse_f64(number, "--telemetry", &o->telemetry_hz, &ignored) != BL_OK ||
                      !(o->telemetry_hz >= 0.2 && o->telemetry_hz <= 1000))) {
        BL_FAIL(err, BL_ERR_USAGE, "--telemetry '%s' is neither a rate of 0.2 to 1000 a second nor off", text);
        bl_error_remedy(err, "--telemetry 10Hz");
        return BL_ERR_USAGE;
    }
    if (isnan(o->max_temperature))
        return BL_OK;
    if (off)
        return BL_FAIL(err, BL_ERR_USAGE, "--max-temperature needs telemetry, which is off");
    if (!(o->max_temperature >= 20 && o->max_temperature <= 120))
        return BL_FAIL(err, BL_ERR_USAGE, "--max-temperature %g does not lie between 20 and 120 degrees",
                       o->max_temperature);
    return BL_OK;
}

int bl_sweep_options_check_times(bl_sweep_options *o, bl_error *err)
{
    int code = take_telemetry(o, err);
    if (code != BL_OK)
        return code;
    const char *bad = o->time_s == 0 ? "--time" : o->setup_s == 0 ? "--setup-time" : NULL;
    if (!bad)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "%s must be longer than 0", bad);
    bl_error_remedy(err, "%s 60s", bad);
    return BL_ERR_USAGE;
}

void bl_sweep_options_init(bl_sweep_options *options)
{
    *options = (bl_sweep_options){
        .blocks = BL_SWEEP_NOT_GIVEN,
        .steps = BL_SWEEP_NOT_GIVEN,
        .time_s = BL_SWEEP_NOT_GIVEN,
        .setup_s = BL_SWEEP_NOT_GIVEN,
        .warmup = BL_SWEEP_NOT_GIVEN,
        .seed = BL_SWEEP_NOT_GIVEN,
        .margin = BL_SWEEP_MARGIN,
        .db = BL_SWEEP_DB,
        .telemetry_hz = BL_SWEEP_TELEMETRY_HZ,
        .max_temperature = NAN,
    };
    bl_driving_options_init(&options->driving);
}

int bl_sweep_options_parse(int argc, char **argv, bl_sweep_options *options, bl_error *err)
{
    bl_sweep_options_init(options);
    bl_option table[BL_SWEEP_MAX_OPTIONS];
    int n = bl_sweep_options_table(options, table);
    bl_command command = sweep_command(table, n);
    bl_options_result result;
    int rc = bl_options_parse(&command, argc, argv, &result, err);
    if (rc != BL_OK)
        return rc;
    options->help = result.help;
    options->command = result.rest;
    options->n_command = result.n_rest;
    if (!options->help) {
        rc = take_operands(options, &result.operands, err);
        if (rc == BL_OK)
            rc = options->resume ? bl_sweep_options_check_resume(options, err)
                                 : check_fresh(options, result.rest != NULL, err);
        if (rc == BL_OK)
            rc = bl_sweep_options_check_times(options, err);
        if (rc == BL_OK && options->margin_text)
            rc = bl_sweep_parse_margin(options->margin_text, &options->margin, err);
    }
    bl_options_result_clear(&result);
    return rc;
}

void bl_sweep_options_clear(bl_sweep_options *options)
{
    bl_strv_clear(&options->params);
    bl_driving_options_clear(&options->driving);
}
