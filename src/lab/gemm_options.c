#include "lab/gemm_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "lab/sweep_spec.h"

enum { MAX_OPTIONS = 32, SIZE_MAX_DIM = 100000000 };

/* What is still text: lists, each of which may become a factor. */
typedef struct raw {
    const char *backend, *cache, *apart, *pages;
    bl_strv layers;
    int64_t image_size;
} raw;

static int fill_table(bl_gemm_options *o, raw *r, bl_option *table)
{
    bl_sweep_options *s = &o->sweep;
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What to measure", NULL, 0, 0},
        {BL_OPT_STRING, 'b', "batch", "LIST",
         "Sizes to try in B's place, or of the layers' batch: 127,128,129 or 1..64.", &s->batches, 0, 0},
        {BL_OPT_STRINGS, 'l', "layer", "LAYER",
         "A layer, as batchlab explain has it, in place of a product; with @forward, @input or @weights in that role "
         "alone; may be given several times.",
         &r->layers, 0, 0},
        {BL_OPT_STRING, 'm', "model", "NAME", "Every layer of this built-in model (batchlab-train list), in each role.",
         &o->model, 0, 0},
        {BL_OPT_INT, 0, "image-size", "N", "Side of the model's images (default: its customary one).", &r->image_size,
         1, 1 << 16},
        {BL_OPT_STRING, 0, "backend", "LIST", "Libraries: onednn, openblas, plain (default: onednn).", &r->backend, 0,
         0},
        {BL_OPT_STRING, 0, "cache", "LIST",
         "warm: the same matrices again and again; cold: others each time (default: warm).", &r->cache, 0, 0},
        {BL_OPT_STRING, 0, "apart", "LIST",
         "Floats from row to row at least; large powers of two fall on the same sets of a cache (default: 0, no gaps).",
         &r->apart, 0, 0},
        {BL_OPT_STRING, 0, "pages", "LIST", "Pages to ask the kernel for: system, small, huge (default: system).",
         &r->pages, 0, 0},
        {BL_OPT_INT, 0, "threads", "N", "Threads (default: all processors that may be used).", &o->threads, 1, 1024},
        {BL_OPT_FLOAT, 0, "peak", "GFLOPS",
         "What shares are of (default: the better of 2048 x 2048 x 2048, measured before and after).", &o->peak_gflops,
         0, 0},
        {BL_OPT_FLOAT, 0, "bandwidth", "GB",
         "Gigabytes a second that memory moves, the roofline's slope (default: batchlab-train time stream, before and "
         "after).",
         &o->bandwidth_gb_s, 0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "How long", NULL, 0, 0},
        {BL_OPT_INT, 'n', "blocks", "N", "Blocks: trials of each case (default: 5).", &s->blocks, 1, 10000},
        {BL_OPT_INT, 's', "steps", "N", "Steps of a trial, of 20 ms or one product each (default: 50).", &s->steps, 1,
         1000000},
        {BL_OPT_INT, 0, "seed", "N", "Of the shuffling (default: drawn).", &s->seed, 0, INT64_MAX},
        {BL_OPT_STRING, 0, "margin", "M", "Differences smaller than this do not matter (default: 1%).", &s->margin_text,
         0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "What to keep and to say", NULL, 0, 0},
        {BL_OPT_STRING, 0, "name", "TEXT", "A name for the experiment.", &s->name, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &s->db, 0, 0},
        {BL_OPT_FLAG, 0, "plot", NULL,
         "Also a roofline: GFLOP/s over operations a byte, under what the machine can do.", &o->plot, 0, 0},
        {BL_OPT_STRING, 0, "picture", "FILE", "The roofline as SVG.", &o->picture, 0, 0},
        {BL_OPT_FLAG, 0, "dry-run", NULL, "Say what would be run, and leave.", &o->dry_run, 0, 0},
        {BL_OPT_FLAG, 0, "json", NULL, "The result as JSON.", &s->json, 0, 0},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "No progress, only the result.", &s->quiet, 0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= MAX_OPTIONS, "raise MAX_OPTIONS");
    memcpy(table, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

static bl_command command_of(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "gemm",
        .summary = "Measures products of float32 matrices, or a model's layers, over the batch size.",
        .usage = "MxNxK|--layer LAYER|--model NAME -b LIST [options]",
        .details =
            "M x K by K x N; B stands in the place of the batch: in N for a forward pass and its input's gradient, in "
            "K for "
            "the gradient of the weights. Every case is a process of batchlab-train time, in shuffled blocks like any "
            "sweep's, and the experiment is stored like one: batchlab show, report and export know it. Lists make "
            "factors: every combination is a case. Layers are timed by the kernels that train them, warm, each of "
            "their "
            "forward pass, gradient of the input and gradient of the weights by itself, equal ones once; sums over all "
            "of them, block by block, say what a step's products take at each batch size.",
        .examples = "  batchlab gemm 4096xBx1024 -b 126..130                  # forward: is 128 special?\n"
                    "  batchlab gemm 4096x1024xB -b 127,128,129 --backend onednn,openblas\n"
                    "  batchlab gemm 1024xBx1024 -b 1024 --apart 0,4096,4112    # rows a power of two apart\n"
                    "  batchlab gemm 2048xBx2048 -b 256 --pages small,huge --cache warm,cold\n"
                    "  batchlab gemm --layer conv:64x56x56:o64:k3 -b 31,32,33  # a layer, forward and back\n"
                    "  batchlab gemm --model resnet50 -b 31,32,33 --dry-run    # all layers of a model: how many?\n"
                    "  batchlab gemm --model resnet18 -b 8 --picture roofs.svg # under the machine's roofs\n",
        .options = table,
        .n_options = n,
    };
}

void bl_gemm_options_print_help(FILE *out)
{
    bl_gemm_options o = {0};
    raw r = {0};
    bl_option table[MAX_OPTIONS];
    int n = fill_table(&o, &r, table);
    bl_command command = command_of(table, n);
    bl_options_print_help(&command, out);
}

/* "4096xBx1024": two sizes and the batch's place. */
static int take_sizes(const char *text, bl_gemm_options *o, bl_error *err)
{
    const char *at = text;
    int code = BL_OK, batches = 0;
    for (int i = 0; code == BL_OK && i < 3; i++) {
        size_t n = strcspn(at, "x");
        if (n >= sizeof o->size[i] || (at[n] == '\0') != (i == 2)) {
            code = BL_ERR_USAGE;
            break;
        }
        memcpy(o->size[i], at, n);
        o->size[i][n] = '\0';
        at += n + (i < 2);
        int64_t value;
        if (strcmp(o->size[i], "B") == 0) {
            o->batch_at = i;
            batches++;
        } else {
            code = bl_parse_i64(o->size[i], "size", 1, SIZE_MAX_DIM, &value, NULL);
        }
    }
    if (code == BL_OK && batches == 1)
        return BL_OK;
    BL_FAIL(err, BL_ERR_USAGE, "'%.60s' is no product with one batch", text);
    bl_error_remedy(err, "M x N x K with B in the batch's place: 4096xBx1024");
    return BL_ERR_USAGE;
}

/* A list becomes a factor, a single word is just said. */
static int add_list(bl_gemm_options *o, const char *name, const char *list)
{
    char option[32], value[32];
    if (!list)
        return BL_OK;
    snprintf(option, sizeof option, "--%s", name);
    int code = bl_strv_push(&o->command, option);
    if (code == BL_OK && !strchr(list, ','))
        return bl_strv_push(&o->command, list);
    snprintf(value, sizeof value, "{%s}", name);
    if (code == BL_OK)
        code = bl_strv_push(&o->command, value);
    bl_str factor;
    bl_str_init(&factor);
    bl_str_printf(&factor, "%s=%s", name, list);
    if (code == BL_OK)
        code = factor.failed ? BL_ERR_NOMEM : bl_strv_push(&o->sweep.params, bl_str_text(&factor));
    bl_str_clear(&factor);
    return code;
}

/* Each layer in each role is a value of the factor "layer". */
static int add_layers(bl_gemm_options *o)
{
    bl_str factor;
    bl_str_init(&factor);
    for (size_t i = 0; i < o->layers.len; i++)
        bl_str_printf(&factor, "%s%s", i == 0 ? "layer=" : ",", o->layers.items[i].text);
    int code = factor.failed ? BL_ERR_NOMEM : bl_strv_push(&o->sweep.params, bl_str_text(&factor));
    bl_str_clear(&factor);
    return code;
}

static int make_command(bl_gemm_options *o, const raw *r, const char *program, bl_error *err)
{
    static const char *const dims[] = {"m", "n", "k"};
    bl_str trainer;
    bl_str_init(&trainer);
    bl_sweep_find_trainer(program, &trainer);
    char sizes[96], number[32];
    bool layers = o->layers.len > 0;
    snprintf(sizes, sizeof sizes, "%sx%sx%s", o->batch_at == 0 ? "{batch}" : o->size[0],
             o->batch_at == 1 ? "{batch}" : o->size[1], o->batch_at == 2 ? "{batch}" : o->size[2]);
    const char *const words[] = {bl_str_text(&trainer),
                                 "time",
                                 layers ? "{layer}" : sizes,
                                 "--quiet",
                                 layers ? "--batch-size" : "--batch-is",
                                 layers ? "{batch}" : dims[o->batch_at],
                                 "--steps",
                                 "1000000000"};
    int code = trainer.failed ? BL_ERR_NOMEM : BL_OK;
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(words); i++)
        code = bl_strv_push(&o->command, words[i]);
    if (code == BL_OK && o->threads > 0) {
        snprintf(number, sizeof number, "%lld", (long long)o->threads);
        code = bl_strv_push(&o->command, "--threads");
        if (code == BL_OK)
            code = bl_strv_push(&o->command, number);
    }
    const char *const lists[][2] = {
        {"backend", r->backend}, {"cache", r->cache}, {"apart", r->apart}, {"pages", r->pages}};
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(lists); i++)
        code = add_list(o, lists[i][0], lists[i][1]);
    if (code == BL_OK && layers)
        code = add_layers(o);
    bl_str_clear(&trainer);
    o->sweep.command = o->command.items;
    o->sweep.n_command = (int)o->command.len;
    return code == BL_OK ? code : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a command");
}

static int take_layers(bl_gemm_options *o, const raw *r, const char *program, bl_error *err)
{
    if (r->layers.len > 0 && o->model)
        return BL_FAIL(err, BL_ERR_USAGE, "--layer and --model exclude one another");
    if (r->backend || r->cache || r->apart || r->pages)
        return BL_FAIL(err, BL_ERR_USAGE, "--backend, --cache, --apart and --pages are for products");
    return o->model ? bl_gemm_layers_from_model(program, o->model, r->image_size, &o->layers, err)
                    : bl_gemm_layers_from_words(&r->layers, &o->layers, err);
}

static int take(bl_gemm_options *o, const raw *r, const bl_options_result *result, const char *program, bl_error *err)
{
    bool layers = r->layers.len > 0 || o->model;
    if (result->operands.len != (layers ? 0 : 1) || result->n_rest > 0 || !o->sweep.batches) {
        BL_FAIL(err, BL_ERR_USAGE, "one product, or layers, and the sizes of the batch are wanted");
        bl_error_remedy(err, "batchlab gemm 4096xBx1024 -b 127,128,129");
        return BL_ERR_USAGE;
    }
    if (o->peak_gflops < 0 || o->bandwidth_gb_s < 0)
        return BL_FAIL(err, BL_ERR_USAGE, "--peak and --bandwidth are more than nothing");
    if (r->image_size > 0 && !o->model)
        return BL_FAIL(err, BL_ERR_USAGE, "--image-size goes with --model");
    if (o->plot && o->sweep.json)
        return BL_FAIL(err, BL_ERR_USAGE, "--plot and --json exclude one another");
    int code = layers ? take_layers(o, r, program, err) : take_sizes(result->operands.items[0], o, err);
    if (code == BL_OK && o->sweep.margin_text &&
        bl_sweep_parse_margin(o->sweep.margin_text, &o->sweep.margin, err) != BL_OK)
        code = err ? (int)err->code : BL_ERR_USAGE;
    return code == BL_OK ? make_command(o, r, program, err) : code;
}

int bl_gemm_options_parse(int argc, char **argv, const char *program, bl_gemm_options *o, bl_error *err)
{
    *o = (bl_gemm_options){0};
    bl_sweep_options_init(&o->sweep);
    bl_strv_init(&o->command);
    raw r = {0};
    bl_strv_init(&r.layers);
    bl_option table[MAX_OPTIONS];
    int n = fill_table(o, &r, table);
    bl_command command = command_of(table, n);
    bl_options_result result = {0};
    int code = bl_options_parse(&command, argc, argv, &result, err);
    o->help = result.help;
    if (code == BL_OK && !o->help)
        code = take(o, &r, &result, program, err);
    bl_options_result_clear(&result);
    bl_strv_clear(&r.layers);
    return code;
}

void bl_gemm_options_clear(bl_gemm_options *o)
{
    bl_gemm_layers_clear(&o->layers);
    bl_sweep_options_clear(&o->sweep);
    bl_strv_clear(&o->command);
}
