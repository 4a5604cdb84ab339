#include "timing/timing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/products.h"
#include "base/log.h"
#include "base/options.h"
#include "base/str.h"
#include "batchlab_marker.h"
#include "shapes/layer.h"
#include "timing/layer_work.h"
#include "timing/model_time.h"
#include "timing/operands.h"
#include "timing/steps.h"
#include "timing/stream.h"

/* What is timed: a product of matrices, a layer, a model's nodes, or memory. */
typedef enum subject { PRODUCT, LAYER, MODEL, STREAM } subject;

typedef struct timing {
    const char *backend, *cache, *pages, *batch_is;
    int64_t threads, steps, apart, batch, image_size;
    bool turn_a, turn_b, quiet;
    subject subject;
    char *text; /* the operand */
    bl_product product;
    bl_layer layer;
    bl_role role;
    const bl_model *model;
} timing;

static volatile sig_atomic_t stop;

static void ask_to_stop(int signal)
{
    stop = 1;
}

static int choose(const char *option, const char *given, const char *const *words, int n, int *out, bl_error *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(given, words[i]) == 0) {
            *out = i;
            return BL_OK;
        }
    return BL_FAIL(err, BL_ERR_USAGE, "%s '%s' is not known; it is one of %s, %s%s%s", option, given, words[0],
                   words[1], n > 2 ? ", " : "", n > 2 ? words[2] : "");
}

/* Models have names, layers have colons; all else should be a product. */
static int take_subject(timing *t, const char *text, bl_error *err)
{
    t->text = bl_strdup(text);
    if (!t->text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a name");
    t->model = bl_model_find(text);
    t->subject = t->model ? MODEL : strchr(text, ':') ? LAYER : strcmp(text, "stream") == 0 ? STREAM : PRODUCT;
    bool cold = strcmp(t->cache, "cold") == 0, product = t->subject == PRODUCT;
    if (!product && (t->apart > 0 || t->turn_a || t->turn_b || strcmp(t->pages, "system") != 0 ||
                     strcmp(t->backend, "onednn") != 0))
        return BL_FAIL(err, BL_ERR_USAGE, "--backend, --apart, --pages, --turn-a and --turn-b are for products");
    if (cold && (t->subject == LAYER || t->subject == STREAM))
        return BL_FAIL(err, BL_ERR_USAGE, "--cache cold is for products and models");
    if (t->subject == PRODUCT)
        return bl_product_parse(text, &t->product, err);
    return t->subject == LAYER ? bl_layer_role_parse(text, &t->layer, &t->role, err) : BL_OK;
}

static int parse(int argc, char **argv, timing *t, bool *help, bl_error *err)
{
    const bl_option options[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "Layers and models", NULL, 0, 0},
        {BL_OPT_INT, 'b', "batch-size", "N", "Samples of a layer's or model's batch (default: 1).", &t->batch, 1,
         1 << 20},
        {BL_OPT_INT, 0, "image-size", "N", "Side of a model's images (default: its customary one).", &t->image_size, 1,
         1 << 16},
        {BL_OPT_GROUP, 0, NULL, NULL, "Products", NULL, 0, 0},
        {BL_OPT_STRING, 0, "backend", "NAME", "Which library multiplies: onednn, openblas or plain (default: onednn).",
         &t->backend, 0, 0},
        {BL_OPT_STRING, 0, "batch-is", "DIM",
         "Which of m, n and k stands for the batch: what a sample is (default: n).", &t->batch_is, 0, 0},
        {BL_OPT_FLAG, 0, "turn-a", NULL, "A is stored as K x M.", &t->turn_a, 0, 0},
        {BL_OPT_FLAG, 0, "turn-b", NULL, "B is stored as N x K.", &t->turn_b, 0, 0},
        {BL_OPT_INT, 0, "apart", "N",
         "Rows begin at least N floats apart: large powers of two fall on the same sets of a cache (default: no gaps).",
         &t->apart, 0, 1 << 24},
        {BL_OPT_STRING, 0, "pages", "SIZE", "small, huge or system: pages to ask the kernel for (default: system).",
         &t->pages, 0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "All of them", NULL, 0, 0},
        {BL_OPT_STRING, 0, "cache", "STATE",
         "warm: the same data again and again; cold: other matrices each time, 512 MiB of them in turn, or a model's "
         "nodes with caches full of other data; not for layers (default: warm).",
         &t->cache, 0, 0},
        {BL_OPT_INT, 0, "threads", "N", "Threads (default: all processors that may be used).", &t->threads, 1, 1024},
        {BL_OPT_INT, 's', "steps", "N", "Steps of 20 ms or one run, whichever is longer (default: 50).", &t->steps, 1,
         1 << 30},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "Say nothing on standard output.", &t->quiet, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab-train",
        .name = "time",
        .summary = "Times a product of float32 matrices, a layer, the nodes of a model, or memory, over and over.",
        .usage = "MxNxK|LAYER[@ROLE]|MODEL|stream [options]",
        .details =
            "MxNxK: M x K by K x N. LAYER: as batchlab explain and --layers have it, by the kernels that train it. "
            "MODEL: each distinct node of its training step alone. stream: a = b + s c over large arrays. Data are "
            "random "
            "numbers. Under batchlab (batchlab gemm) steps are marked: a sample is one row or column of the "
            "product's batch dimension, or one of the layer's batch.",
        .examples = "  batchlab-train time 2048x2048x2048 --backend openblas\n"
                    "  batchlab-train time 4096x129x1024 --cache cold --threads 1\n"
                    "  batchlab-train time conv:64x56x56:o64:k3@weights -b 16\n"
                    "  batchlab-train time resnet50 -b 16 --image-size 64\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options)};
    bl_options_result result = {0};
    int code = bl_options_parse(&command, argc, argv, &result, err);
    *help = result.help;
    if (code == BL_OK && result.help) {
        bl_options_print_help(&command, stdout);
    } else if (code == BL_OK && (result.operands.len != 1 || result.n_rest > 0)) {
        code = BL_FAIL(err, BL_ERR_USAGE, "one product, layer or model is wanted");
        bl_error_remedy(err, "batchlab-train time 2048x2048x2048");
    } else if (code == BL_OK) {
        code = take_subject(t, result.operands.items[0], err);
    }
    bl_options_result_clear(&result);
    return code;
}

static int take_words(const timing *t, bl_operands_options *o, int *batch_at, bl_error *err)
{
    static const char *const caches[] = {"warm", "cold"}, *const pages[] = {"system", "small", "huge"};
    static const char *const dims[] = {"m", "n", "k"};
    int cache = 0, page = 0;
    int code = choose("--cache", t->cache, caches, 2, &cache, err);
    if (code == BL_OK)
        code = choose("--pages", t->pages, pages, 3, &page, err);
    if (code == BL_OK)
        code = choose("--batch-is", t->batch_is, dims, 3, batch_at, err);
    *o = (bl_operands_options){.m = (int)t->product.m,
                               .n = (int)t->product.n,
                               .k = (int)t->product.k,
                               .turn_a = t->turn_a,
                               .turn_b = t->turn_b,
                               .apart = (int)t->apart,
                               .cold = cache == 1,
                               .pages = (bl_page_kind)page};
    return code;
}

static int threads_of(const timing *t)
{
    return t->threads > 0 ? (int)t->threads : bl_cpu_allowed_threads();
}

/* Marked steps of work that is ready. */
static int run_steps(const timing *t, const bl_work *work, const char *what, const char *unit, batchlab_marker *marker,
                     bl_error *err)
{
    bl_rates rates;
    int code = bl_steps_run(work, t->steps, &stop, marker, &rates, err);
    if (code == BL_OK && rates.steps > 0 && !t->quiet)
        printf("%s: %.2f %s, best step %.2f; %lld runs a step\n", what, rates.mean, unit, rates.best,
               (long long)rates.runs_a_step);
    return code;
}

/* ---- products ---- */

typedef struct product_run {
    const bl_products *backend;
    const bl_operands *operands;
    size_t next;
} product_run;

static int run_product(void *context, bl_error *err)
{
    product_run *r = context;
    const bl_dnnl_product *product = &r->operands->products[r->next];
    r->next = r->next + 1 < r->operands->n_products ? r->next + 1 : 0;
    return r->backend->multiply(product, err);
}

static int time_product(const timing *t, batchlab_marker *marker, bl_error *err)
{
    const bl_products *backend = bl_products_find(t->backend);
    bl_operands_options options;
    bl_operands operands = {0};
    int batch_at = 0;
    if (!backend) {
        BL_FAIL(err, BL_ERR_USAGE, "--backend '%s' is not known", t->backend);
        bl_error_remedy(err, "one of: %s", bl_products_names());
        return BL_ERR_USAGE;
    }
    int code = take_words(t, &options, &batch_at, err);
    if (code == BL_OK)
        code = backend->open(threads_of(t), err);
    if (code != BL_OK)
        return code;
    int64_t batch = batch_at == 0 ? options.m : batch_at == 1 ? options.n : options.k;
    batchlab_marker_hello(marker, "batchlab-train time", BATCHLAB_VERSION, "float32", 1, batch);
    code = bl_operands_make(&options, &operands, err);
    if (code == BL_OK) {
        product_run run = {.backend = backend, .operands = &operands};
        const bl_work work = {.context = &run, .run = run_product, .samples = batch, .amount = t->product.flop};
        char what[160];
        snprintf(what, sizeof what, "%.0f x %.0f x %.0f by %s (%s)%s", t->product.m, t->product.n, t->product.k,
                 backend->name, backend->describe(), operands.huge ? ", huge pages" : "");
        code = run_steps(t, &work, what, "GFLOP/s", marker, err);
    }
    bl_operands_clear(&operands);
    return code;
}

/* ---- layers, models, memory ---- */

static int time_layer(const timing *t, batchlab_marker *marker, bl_error *err)
{
    bl_layer_work layer;
    batchlab_marker_hello(marker, "batchlab-train time", BATCHLAB_VERSION, "float32", 1, t->batch);
    int code = bl_layer_work_make(&t->layer, t->role, (int)t->batch, threads_of(t), &layer, err);
    if (code == BL_OK) {
        const bl_work work = {.context = &layer, .run = bl_layer_work_run, .samples = t->batch, .amount = layer.flop};
        char what[400];
        snprintf(what, sizeof what, "%s, batch %lld by %s", t->text, (long long)t->batch, layer.kernel);
        code = run_steps(t, &work, what, "GFLOP/s", marker, err);
    }
    bl_layer_work_clear(&layer);
    return code;
}

static int time_model(const timing *t, bl_error *err)
{
    const bl_model_time_options options = {.model = t->model,
                                           .batch = (int)t->batch,
                                           .image_size = (int)t->image_size,
                                           .threads = threads_of(t),
                                           .cold = strcmp(t->cache, "cold") == 0,
                                           .stop = &stop};
    bl_model_time time;
    int code = bl_model_time_make(&options, &time, err);
    if (code == BL_OK && !t->quiet)
        bl_model_time_print(&time, stdout);
    bl_model_time_clear(&time);
    return code;
}

static int time_stream(const timing *t, batchlab_marker *marker, bl_error *err)
{
    bl_stream stream;
    batchlab_marker_hello(marker, "batchlab-train time", BATCHLAB_VERSION, "float32", 1, (int64_t)BL_STREAM_NUMBERS);
    int code = bl_stream_make(BL_STREAM_NUMBERS, threads_of(t), &stream, err);
    const bl_work work = {.context = &stream,
                          .run = bl_stream_run,
                          .samples = (int64_t)BL_STREAM_NUMBERS,
                          .amount = 3 * sizeof(float) * (double)BL_STREAM_NUMBERS};
    if (code == BL_OK)
        code = run_steps(t, &work, "stream: a = b + s c", "GB/s", marker, err);
    bl_stream_clear(&stream);
    return code;
}

static int time_subject(const timing *t, bl_error *err)
{
    batchlab_marker marker;
    batchlab_marker_open(&marker);
    int code = t->subject == PRODUCT  ? time_product(t, &marker, err)
               : t->subject == LAYER  ? time_layer(t, &marker, err)
               : t->subject == STREAM ? time_stream(t, &marker, err)
                                      : time_model(t, err);
    if (code == BL_ERR_NOMEM)
        batchlab_marker_oom(&marker, 0);
    else if (code == BL_OK && !stop)
        batchlab_marker_done(&marker);
    return code == BL_OK && stop ? BL_ERR_INTERRUPTED : code;
}

int bl_timing_main(int argc, char **argv)
{
    timing t = {.backend = "onednn", .cache = "warm", .pages = "system", .batch_is = "n", .batch = 1, .steps = 50};
    bl_error err = {0};
    bool help = false;
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int code = parse(argc, argv, &t, &help, &err);
    if (code == BL_OK && !help)
        code = time_subject(&t, &err);
    free(t.text);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
