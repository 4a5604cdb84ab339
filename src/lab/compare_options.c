#include "lab/compare_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

static const char compare_details[] =
    "Runs the cases in shuffled blocks, each trial a fresh process, until a rule fixed beforehand decides: after 10, "
    "20, "
    "30, 40 and 60 blocks it looks, and at no other moment. A pair is 'different' where the interval of its difference "
    "lies beyond the margin, of 'no practical difference' where it lies within it, else the blocks go on. The error "
    "rate holds over all looks and all pairs together. Decided cases run no more.\n\n"
    "Cases are the batch sizes of LIST, each against each or all against --baseline; or two commands, --a and --b, "
    "that /bin/sh reads. With the number of a stored experiment nothing is run: its blocks are judged by the same "
    "rule.\n\n"
    "Exit status: 0 where all pairs were decided, 1 where one stayed inconclusive; with --fail-if, 1 upon the verdicts "
    "named there and 0 otherwise.";

static const char compare_examples[] =
    "  batchlab compare -b 127,128,129 -- python3 train.py --batch-size {batch}\n"
    "  batchlab compare -b 120,128 --margin 0.5% --budget 30m --model resnet18\n"
    "  batchlab compare --a './old --steps 50' --b './new --steps 50' --fail-if slower\n"
    "  batchlab compare -b 64 --a 'python3 old.py -b {batch}' --b 'python3 new.py -b {batch}'\n"
    "  batchlab compare -b 127,128 --interleave 5 -s 60 --model resnet18   # in turn, side by side\n"
    "  batchlab compare 3 --baseline 128                  # judge what sweep 3 measured\n"
    "  batchlab compare --confirm 3                       # the best of sweep 3 on fresh blocks\n"
    "  batchlab compare --resume                          # finish what was interrupted\n";

static const char selftest_details[] =
    "Runs the same case under two labels, A and B, as compare would run two cases, and tells what came of it: whether "
    "a "
    "difference was seen where there is none, and how small a difference this machine resolves with this program, "
    "after "
    "each number of blocks at which compare looks. Exit status: 0 where all is as it should be, 1 on a false alarm.";

static const char selftest_examples[] = "  batchlab selftest -- python3 train.py --batch-size 64\n"
                                        "  batchlab selftest -b 128 --model mobilenet_v3_small\n"
                                        "  batchlab selftest -b 32 -n 40 -s 30 -- ./train -b {batch}\n"
                                        "  batchlab selftest -b 64 --interleave 5 -s 60 --model resnet18\n";

enum { TABLE_MAX = BL_SWEEP_MAX_OPTIONS + 10 };

static int compare_table(bl_compare_options *o, bl_option *table)
{
    static const char *const without[] = {"blocks", "resume", "margin", "until", "stop-losing", "confirm", NULL};
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to decide", NULL, 0, 0},
        {BL_OPT_STRING, 0, "a", "COMMAND", "One of two commands, read by /bin/sh; {batch} works where -b is given.",
         &o->a, 0, 0},
        {BL_OPT_STRING, 0, "b", "COMMAND", "The other one, judged against it.", &o->b, 0, 0},
        {BL_OPT_STRING, 0, "baseline", "VALUE",
         "Compare every other batch size (or value of the one parameter that varies) with this one, instead of each "
         "with "
         "each.",
         &o->baseline, 0, 0},
        {BL_OPT_INT, 0, "confirm", "ID",
         "Confirm the best case of sweep ID: run it and those near it (at most five) on fresh blocks.", &o->confirm, 1,
         INT64_MAX},
        {BL_OPT_STRING, 0, "margin", "PERCENT", "Differences below this are of no practical importance (default: 1%).",
         &o->sweep.margin_text, 0, 0},
        {BL_OPT_STRING, 0, "confidence", "PERCENT", "Of all verdicts together (default: 95%).", &o->confidence_text, 0,
         0},
        {BL_OPT_DURATION, 0, "budget", "DURATION",
         "Measure no longer than this in all; undecided pairs are then inconclusive. Without it, 60 blocks are the "
         "end.",
         &o->budget_s, 0, 0},
        {BL_OPT_INT, 0, "interleave", "STEPS",
         "Where both fit side by side: keep the two alive and let them train in turn, so many steps each, the other "
         "one "
         "stopped.",
         &o->sweep.driving.turn_steps, 1, BL_TURN_STEPS_MAX},
        {BL_OPT_STRING, 0, "fail-if", "VERDICTS",
         "Exit with 1 if a pair is found slower, faster, different or inconclusive (joined by commas), else with 0.",
         &o->fail_if_text, 0, 0},
        {BL_OPT_FLAG, 'r', "resume", NULL,
         "Finish the latest unfinished experiment, or the one whose number follows. No finished trial is run again, "
         "and "
         "the looks fall where they would have fallen.",
         &o->sweep.resume, 0, 0},
    };
    memcpy(table, rows, sizeof rows);
    int n = (int)BL_ARRAY_LEN(rows);
    return n + bl_sweep_options_table_without(&o->sweep, without, table + n);
}

static int selftest_table(bl_compare_options *o, bl_option *table)
{
    static const char *const without[] = {"blocks", "resume",      "batch",   "param", "live",
                                          "until",  "stop-losing", "confirm", NULL};
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to test", NULL, 0, 0},
        {BL_OPT_STRING, 'b', "batch", "N", "The batch size, where the command holds {batch}.", &o->sweep.batches, 0, 0},
        {BL_OPT_INT, 'n', "blocks", "N", "Blocks: trials under each label (default: 20).", &o->sweep.blocks, 6, 10000},
        {BL_OPT_INT, 0, "interleave", "STEPS",
         "Where both fit side by side: keep the two alive and let them train in turn, so many steps each, the other "
         "one "
         "stopped.",
         &o->sweep.driving.turn_steps, 1, BL_TURN_STEPS_MAX},
    };
    memcpy(table, rows, sizeof rows);
    int n = (int)BL_ARRAY_LEN(rows);
    return n + bl_sweep_options_table_without(&o->sweep, without, table + n);
}

static bl_command compare_command(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "compare",
        .summary = "Decides whether batch sizes, or two commands, differ in speed.",
        .usage = "-b LIST [options] -- COMMAND...\n       batchlab compare -b LIST --model NAME [options] [-- TRAINER "
                 "OPTIONS...]\n       batchlab compare --a COMMAND --b COMMAND [options]\n       batchlab compare ID "
                 "[options]\n       batchlab compare --confirm ID [options]\n       batchlab compare --resume [ID] "
                 "[options]",
        .details = compare_details,
        .examples = compare_examples,
        .options = table,
        .n_options = n,
    };
}

static bl_command selftest_command(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "selftest",
        .summary = "Shows how small a difference this machine resolves, and whether it sees one where there is none.",
        .usage = "[-b N] [options] -- COMMAND...",
        .details = selftest_details,
        .examples = selftest_examples,
        .options = table,
        .n_options = n,
    };
}

void bl_compare_options_print_help(FILE *out)
{
    bl_compare_options unused = {0};
    bl_option table[TABLE_MAX];
    int n = compare_table(&unused, table);
    bl_command command = compare_command(table, n);
    bl_options_print_help(&command, out);
}

void bl_selftest_options_print_help(FILE *out)
{
    bl_compare_options unused = {0};
    bl_option table[TABLE_MAX];
    int n = selftest_table(&unused, table);
    bl_command command = selftest_command(table, n);
    bl_options_print_help(&command, out);
}

static int parse_confidence(bl_compare_options *o, bl_error *err)
{
    if (!o->confidence_text)
        return BL_OK;
    char number[32] = "";
    size_t len = strlen(o->confidence_text);
    bool percent = len > 0 && o->confidence_text[len - 1] == '%';
    len -= percent;
    if (len < sizeof number)
        memcpy(number, o->confidence_text, len);
    double value = 0;
    bl_error ignored = {0};
    if (bl_parse_f64(number, "--confidence", &value, &ignored) == BL_OK && value > 1) /* 95 can only mean 95 % */
        percent = true;
    o->confidence = percent ? value / 100 : value;
    o->confidence_given = true;
    if (ignored.code == BL_OK && o->confidence >= 0.5 && o->confidence <= 0.9999)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "--confidence '%s' is no percentage from 50 to 99.99", o->confidence_text);
    bl_error_remedy(err, "--confidence 95%%");
    return BL_ERR_USAGE;
}

static int parse_fail_if(bl_compare_options *o, bl_error *err)
{
    static const struct {
        const char *name;
        unsigned bits;
    } words[] = {{"slower", BL_FAIL_IF_SLOWER},
                 {"faster", BL_FAIL_IF_FASTER},
                 {"different", BL_FAIL_IF_SLOWER | BL_FAIL_IF_FASTER},
                 {"inconclusive", BL_FAIL_IF_INCONCLUSIVE}};
    if (!o->fail_if_text) {
        o->fail_if = BL_FAIL_IF_INCONCLUSIVE;
        return BL_OK;
    }
    for (const char *at = o->fail_if_text;; at++) {
        size_t n = strcspn(at, ",");
        unsigned bits = 0;
        for (size_t i = 0; i < BL_ARRAY_LEN(words); i++)
            if (strlen(words[i].name) == n && strncmp(at, words[i].name, n) == 0)
                bits = words[i].bits;
        if (!bits) {
            BL_FAIL(err, BL_ERR_USAGE, "--fail-if '%.*s' is no verdict", (int)(n < 60 ? n : 60), at);
            bl_error_remedy(err, "slower, faster, different or inconclusive, joined by commas");
            return BL_ERR_USAGE;
        }
        o->fail_if |= bits;
        at += n;
        if (!*at)
            return BL_OK;
    }
}

static int fail(bl_error *err, const char *message, const char *remedy)
{
    BL_FAIL(err, BL_ERR_USAGE, "%s", message);
    bl_error_remedy(err, "%s", remedy);
    return BL_ERR_USAGE;
}

static int check_fresh(const bl_compare_options *o, bool needs_batches, bl_error *err)
{
    const bl_sweep_options *s = &o->sweep;
    bool two = o->a || o->b;
    if (two && !(o->a && o->b))
        return fail(err, "--a and --b go together", "--a 'COMMAND' --b 'COMMAND'");
    if (two && (s->model || s->n_command > 0 || s->params.len > 0 || s->launcher || s->shell || s->batch_from_env))
        return fail(err, "--a and --b are the commands: no other command, model or parameter goes with them",
                    "leave out what stands after --, --model, --param, --launcher, --shell and --batch-from-env");
    if (!two && needs_batches && !s->batches)
        return fail(err, "no batch sizes were given",
                    "batchlab compare -b 127,128,129 -- COMMAND --batch-size {batch}, or --a COMMAND --b COMMAND");
    if (!two && !s->model && s->n_command == 0)
        return fail(err, "no command to measure was given", "end the line with: -- COMMAND --batch-size {batch}");
    if (s->model && !s->batches)
        return fail(err, "--model wants a batch size", "-b 64");
    if (s->data && !s->model)
        return fail(err, "--data goes with --model only", "put the folder into the command after --");
    if (s->model && s->shell)
        return fail(err, "--shell and --model exclude each other", "leave out --shell");
    if (s->launcher && s->shell)
        return fail(err, "--shell and --launcher exclude each other", "put the launcher into the command after --");
    return BL_OK;
}

/* The stored trials are what they are. */
static int check_stored(const bl_compare_options *o, bl_error *err)
{
    bl_sweep_options settings = o->sweep;
    settings.batches = NULL; /* chooses among the stored ones */
    bl_error ignored = {0};
    if (bl_sweep_options_check_resume(&settings, &ignored) == BL_OK && !o->a && !o->b && o->budget_s < 0)
        return BL_OK;
    return fail(err, "a stored experiment is judged as it is: nothing is run",
                "give only -b, --baseline, --margin, --confidence and --fail-if with its number");
}

/* The sweep says what is run. */
static int check_confirm(const bl_compare_options *o, bl_error *err)
{
    bl_error ignored = {0};
    if (bl_sweep_options_check_resume(&o->sweep, &ignored) == BL_OK && !o->a && !o->b && !o->baseline &&
        !o->sweep.resume && !o->stored && !o->sweep.live)
        return BL_OK;
    return fail(err, "--confirm runs what the sweep ran, and chooses the pairs itself",
                "give only --margin, --confidence, --budget and --fail-if with it");
}

static int check_resumed(const bl_compare_options *o, bl_error *err)
{
    int code = bl_sweep_options_check_resume(&o->sweep, err);
    if (code == BL_OK && (o->a || o->b || o->baseline || o->confidence_given || o->sweep.margin_text))
        code = fail(err, "--resume keeps the commands, the pairs, the margin and the confidence of the experiment",
                    "leave them out; batchlab compare ID --margin judges what is stored anew");
    return code;
}

static int take_operands(bl_compare_options *o, const bl_strv *operands, bl_error *err)
{
    if (operands->len == 0)
        return BL_OK;
    if (o->sweep.resume && operands->len == 1)
        return bl_parse_i64(operands->items[0], "the experiment to resume", 1, INT64_MAX, &o->sweep.resume_id, err);
    const char *word = operands->items[operands->len - 1];
    bool number = operands->len == 1 && (strspn(word, "0123456789") == strlen(word) || strcmp(word, "latest") == 0);
    if (number && (o->stored = bl_strdup(word)))
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "'%s' is neither an option nor behind a --", word);
    bl_error_remedy(err, "put -- before the command: batchlab compare -b LIST -- %s ...", word);
    return BL_ERR_USAGE;
}

static void init(bl_compare_options *o)
{
    *o = (bl_compare_options){.confidence = 0.95, .budget_s = -1};
    bl_sweep_options_init(&o->sweep);
}

int bl_compare_options_parse(int argc, char **argv, bl_compare_options *o, bl_error *err)
{
    init(o);
    bl_option table[TABLE_MAX];
    int n = compare_table(o, table);
    bl_command command = compare_command(table, n);
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, err);
    if (code != BL_OK)
        return code;
    o->help = result.help;
    o->sweep.command = result.rest;
    o->sweep.n_command = result.n_rest;
    if (!o->help) {
        code = take_operands(o, &result.operands, err);
        if (code == BL_OK)
            code = parse_confidence(o, err);
        if (code == BL_OK)
            code = parse_fail_if(o, err);
        if (code == BL_OK && o->sweep.margin_text)
            code = bl_sweep_parse_margin(o->sweep.margin_text, &o->sweep.margin, err);
        if (code == BL_OK && o->budget_s == 0)
            code = fail(err, "--budget must be longer than 0", "--budget 30m");
        if (code == BL_OK)
            code = bl_sweep_options_check_times(&o->sweep, err);
        if (code == BL_OK)
            code = o->confirm > 0    ? check_confirm(o, err)
                   : o->sweep.resume ? check_resumed(o, err)
                   : o->stored       ? check_stored(o, err)
                                     : check_fresh(o, true, err);
    }
    bl_options_result_clear(&result);
    return code;
}

int bl_selftest_options_parse(int argc, char **argv, bl_compare_options *o, bl_error *err)
{
    init(o);
    bl_option table[TABLE_MAX];
    int n = selftest_table(o, table);
    bl_command command = selftest_command(table, n);
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, err);
    if (code != BL_OK)
        return code;
    o->help = result.help;
    o->sweep.command = result.rest;
    o->sweep.n_command = result.n_rest;
    if (!o->help) {
        if (result.operands.len > 0) {
            BL_FAIL(err, BL_ERR_USAGE, "'%s' is neither an option nor behind a --", result.operands.items[0]);
            bl_error_remedy(err, "put -- before the command: batchlab selftest -- %s ...", result.operands.items[0]);
            code = BL_ERR_USAGE;
        }
        if (code == BL_OK && o->sweep.margin_text)
            code = bl_sweep_parse_margin(o->sweep.margin_text, &o->sweep.margin, err);
        if (code == BL_OK)
            code = bl_sweep_options_check_times(&o->sweep, err);
        if (code == BL_OK)
            code = check_fresh(o, false, err);
        if (code == BL_OK && o->sweep.batches && strpbrk(o->sweep.batches, ",.:"))
            code = fail(err, "the self-test takes one batch size", "-b 128");
        if (o->sweep.blocks == BL_SWEEP_NOT_GIVEN)
            o->sweep.blocks = BL_SELFTEST_BLOCKS;
    }
    bl_options_result_clear(&result);
    return code;
}

void bl_compare_options_clear(bl_compare_options *o)
{
    bl_sweep_options_clear(&o->sweep);
    free((char *)o->stored);
    o->stored = NULL;
}

/* ---- what is to run ---- */

/* One text for the shell in which the case picks its command; the newlines end what would reach further, a comment
 * say. */
static int two_commands(const bl_compare_options *o, bl_sweep_options *out, bl_str *text, bl_error *err)
{
    bl_str_printf(text, "if [ {command} = A ]; then\n%s\nelse\n%s\nfi", o->a, o->b);
    if (text->failed || bl_strv_push(&out->params, "command=A,B") != BL_OK)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the commands");
    out->shell = true;
    return BL_OK;
}

static int make_spec(const bl_sweep_options *options, const char *program, bl_sweep_spec *spec, bl_error *err)
{
    int code = bl_sweep_spec_from_options(options, program, spec, err);
    if (code != BL_OK)
        return code;
    size_t n = bl_factors_n_cases(&spec->factors);
    if (spec->driving.turn_steps == 0 || n == 2)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "--interleave is for two cases, and these are %zu", n);
    bl_error_remedy(err, "compare them two by two, or leave out --interleave");
    return BL_ERR_USAGE;
}

int bl_compare_spec(const bl_compare_options *o, const char *program, bool labels, bl_sweep_spec *spec, bl_error *err)
{
    bl_sweep_options sweep = o->sweep;
    sweep.labels = labels ? "label=A,B" : NULL;
    if (!labels) {
        bl_verdict_rule rule;
        bl_verdict_rule_init(&rule);
        sweep.blocks = (int64_t)rule.looks[rule.n_looks - 1];
    }
    if (!o->a)
        return make_spec(&sweep, program, spec, err);
    bl_str text;
    bl_str_init(&text);
    bl_strv_init(&sweep.params); /* none were given */
    int code = two_commands(o, &sweep, &text, err);
    char *command[] = {text.failed ? NULL : bl_str_take(&text), NULL};
    sweep.command = command;
    sweep.n_command = 1;
    if (code == BL_OK)
        code = make_spec(&sweep, program, spec, err);
    if (code == BL_OK) {
        free(spec->workload);
        bl_str_printf(&text, "A: %s | B: %s", o->a, o->b);
        spec->workload = bl_str_take(&text);
        if (!spec->workload)
            code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the commands");
    }
    free(command[0]);
    bl_strv_clear(&sweep.params);
    bl_str_clear(&text);
    return code;
}
