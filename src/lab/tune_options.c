#include "lab/tune_options.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "lab/sweep_options.h"

#define MAX_OPTIONS 16

static const char details[] =
    "Reads what was measured before, and runs nothing. A step's time and memory come from the sweep ID. How many steps "
    "the target takes comes from trainings that reached it: a sweep over three or more batch sizes and, at each, "
    "several learning rates (factor lr), whose trials last long enough. Steps(B) = least (1 + critical / B) is fitted "
    "to the fewest steps of each size, and multiplied by the step's time. The pick is searched within memory and "
    "within "
    "twice the range of sizes that the sweep measured.\n\n"
    "With --noise-only the critical batch size is the gradient's noise scale, where the sweep's trials marked it: an "
    "order of magnitude, no more.";

static const char examples[] =
    "  batchlab sweep -b pow2:8..512 -- python3 train.py -b {batch} --lr 0.1          # a step's time\n"
    "  batchlab sweep -b 16,64,256 -p lr=0.05,0.07,0.1,0.14,0.2 -n 3 --until loss=0.25 \\\n"
    "      --steps 5000 --time 10m -- python3 train.py -b {batch} --lr {lr}            # pilots\n"
    "  batchlab tune 1 --pilots 2 --target loss=0.25 --price 2.5\n"
    "  batchlab tune 1 --noise-only\n";

typedef struct raw {
    const char *target, *optimizer;
} raw;

static int fill_table(bl_tune_options *o, raw *r, bl_option *table)
{
    const bl_option rows[] = {
        {BL_OPT_STRING, 't', "target", "TARGET",
         "loss=0.25: the mean training loss over the last tenth of the steps so far that counts as reached; or a "
         "metric: top1=0.6, map=0.4, test_loss=1.1.",
         &r->target, 0, 0},
        {BL_OPT_STRING, 'p', "pilots", "ID",
         "The experiment whose trials trained to the target (default: the first one again).", &o->pilots, 0, 0},
        {BL_OPT_FLAG, 0, "noise-only", NULL,
         "No pilots: take the noise scale that the trials marked last for the critical batch size. An order of "
         "magnitude.",
         &o->noise_only, 0, 0},
        {BL_OPT_STRING, 0, "optimizer", "NAME",
         "sgd, adam or adamw: by which rule learning rates follow the batch size (default: sgd).", &r->optimizer, 0, 0},
        {BL_OPT_FLOAT, 0, "price", "AMOUNT",
         "Of an hour of the machine, in any currency: adds what the training costs.", &o->price_hour, 0, 0},
        {BL_OPT_FLOAT, 0, "price-kwh", "AMOUNT", "Of energy, where the sweep measured it: likewise.", &o->price_kwh, 0,
         0},
        {BL_OPT_FLOAT, 0, "efficiency", "SHARE",
         "Of samples: names the largest batch size that needs no more than 1 / SHARE times the least (default: 0.5).",
         &o->efficiency, 0, 0},
        {BL_OPT_SIZE, 0, "memory", "SIZE", "Pick no size that takes more, such as 8G (default: no limit).",
         &o->memory_b, 1, 0},
        {BL_OPT_FLAG, 0, "json", NULL, "Print all of it as JSON.", &o->json, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &o->db, 0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= MAX_OPTIONS, "raise MAX_OPTIONS");
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++)
        table[i] = rows[i];
    return (int)BL_ARRAY_LEN(rows);
}

static bl_command command_of(const bl_option *table, int n)
{
    return (bl_command){.program = "batchlab",
                        .name = "tune",
                        .summary = "Tells which batch size reaches a target soonest, from stored experiments.",
                        .usage = "ID --target loss=N [options]\n       batchlab tune ID --noise-only [options]",
                        .details = details,
                        .examples = examples,
                        .options = table,
                        .n_options = n};
}

void bl_tune_options_print_help(FILE *out)
{
    bl_tune_options unused = {0};
    raw r = {0};
    bl_option table[MAX_OPTIONS];
    int n = fill_table(&unused, &r, table);
    bl_command command = command_of(table, n);
    bl_options_print_help(&command, out);
}

static int refuse(bl_error *err, const char *what, const char *remedy)
{
    BL_FAIL(err, BL_ERR_USAGE, "%s", what);
    bl_error_remedy(err, "%s", remedy);
    return BL_ERR_USAGE;
}

static int take(bl_tune_options *o, const raw *r, const bl_options_result *result, bl_error *err)
{
    if (result->n_rest > 0)
        return refuse(err, "tune runs no command: it reads stored experiments",
                      "batchlab sweep first, then batchlab tune ID --target loss=0.25");
    if (result->operands.len != 1)
        return refuse(err, "tune wants one experiment", "batchlab tune 3 --target loss=0.25; batchlab list");
    o->id = result->operands.items[0];
    if (o->noise_only && (r->target || o->pilots))
        return refuse(err, "--noise-only takes neither --target nor --pilots", "leave them out");
    if (!o->noise_only && !r->target)
        return refuse(err, "which target?", "--target loss=0.25, or --noise-only");
    if (r->target && !bl_target_parse(r->target, &o->target)) {
        BL_FAIL(err, BL_ERR_USAGE, "--target '%s' is no target", r->target);
        bl_error_remedy(err, "--target loss=0.25, or top1=0.6");
        return BL_ERR_USAGE;
    }
    if (r->optimizer && !bl_rate_rule_from_name(r->optimizer, &o->rule)) {
        BL_FAIL(err, BL_ERR_USAGE, "--optimizer '%s' is not known", r->optimizer);
        bl_error_remedy(err, "one of: sgd, adam, adamw");
        return BL_ERR_USAGE;
    }
    if (!(o->price_hour >= 0) || isinf(o->price_hour) || !(o->price_kwh >= 0) || isinf(o->price_kwh))
        return refuse(err, "--price and --price-kwh must not be negative", "--price 2.5");
    if (!(o->efficiency > 0 && o->efficiency < 1))
        return refuse(err, "--efficiency must lie between 0 and 1", "--efficiency 0.5");
    return BL_OK;
}

int bl_tune_options_parse(int argc, char **argv, bl_tune_options *o, bl_error *err)
{
    *o = (bl_tune_options){.db = BL_SWEEP_DB, .efficiency = 0.5, .rule = BL_RATE_SGD};
    raw r = {0};
    bl_option table[MAX_OPTIONS];
    int n = fill_table(o, &r, table);
    bl_command command = command_of(table, n);
    bl_options_result result = {0};
    int code = bl_options_parse(&command, argc, argv, &result, err);
    o->help = result.help;
    if (code == BL_OK && !o->help) {
        code = take(o, &r, &result, err);
        /* The operand is argv's own text; the list of operands is not needed any more. */
        for (int i = 1; code == BL_OK && i < argc; i++)
            if (strcmp(argv[i], o->id) == 0)
                o->id = argv[i];
    }
    bl_options_result_clear(&result);
    return code;
}
