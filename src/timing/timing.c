#include "timing/timing.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/products.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "batchlab_marker.h"
#include "shapes/layer.h"
#include "timing/operands.h"

#define STEP_S 0.02 /* a step is as many products as fill it: far above a clock's or a marker's cost */

typedef struct timing {
    const char *backend, *cache, *pages, *batch;
    int64_t threads, steps, apart, warmup;
    bool turn_a, turn_b, quiet;
    bl_product product;
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

static int parse(int argc, char **argv, timing *t, bool *help, bl_error *err)
{
    const bl_option options[] = {
        {BL_OPT_STRING, 0, "backend", "NAME", "Which library multiplies: onednn, openblas or plain (default: onednn).",
         &t->backend, 0, 0},
        {BL_OPT_STRING, 0, "batch-is", "DIM",
         "Which of m, n and k stands for the batch: what a sample is (default: n).", &t->batch, 0, 0},
        {BL_OPT_FLAG, 0, "turn-a", NULL, "A is stored as K x M.", &t->turn_a, 0, 0},
        {BL_OPT_FLAG, 0, "turn-b", NULL, "B is stored as N x K.", &t->turn_b, 0, 0},
        {BL_OPT_STRING, 0, "cache", "STATE",
         "warm: the same matrices again and again; cold: others each time, 512 MiB of them in turn (default: warm).",
         &t->cache, 0, 0},
        {BL_OPT_INT, 0, "apart", "N",
         "Rows begin at least N floats apart: large powers of two fall on the same sets of a cache (default: no gaps).",
         &t->apart, 0, 1 << 24},
        {BL_OPT_STRING, 0, "pages", "SIZE", "small, huge or system: pages to ask the kernel for (default: system).",
         &t->pages, 0, 0},
        {BL_OPT_INT, 0, "threads", "N", "Threads (default: all processors that may be used).", &t->threads, 1, 1024},
        {BL_OPT_INT, 's', "steps", "N", "Steps of 20 ms or one product, whichever is longer (default: 50).", &t->steps,
         1, 1 << 30},
        {BL_OPT_FLAG, 'q', "quiet", NULL, "Say nothing on standard output.", &t->quiet, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab-train",
        .name = "time",
        .summary = "Times a product of float32 matrices, M x K by K x N, over and over.",
        .usage = "MxNxK [options]",
        .details = "Matrices hold random numbers. Under batchlab (batchlab gemm) its steps are marked: "
                   "a sample is one row or column of the batch's dimension.",
        .examples = "  batchlab-train time 2048x2048x2048 --backend openblas\n"
                    "  batchlab-train time 4096x129x1024 --cache cold --threads 1\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options)};
    bl_options_result result = {0};
    int code = bl_options_parse(&command, argc, argv, &result, err);
    *help = result.help;
    if (code == BL_OK && result.help) {
        bl_options_print_help(&command, stdout);
    } else if (code == BL_OK && (result.operands.len != 1 || result.n_rest > 0)) {
        code = BL_FAIL(err, BL_ERR_USAGE, "one product is wanted");
        bl_error_remedy(err, "batchlab-train time 2048x2048x2048");
    } else if (code == BL_OK) {
        code = bl_product_parse(result.operands.items[0], &t->product, err);
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
        code = choose("--batch-is", t->batch, dims, 3, batch_at, err);
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

/* Products a step, by the fastest of a few runs. */
static int calibrate(const bl_products *backend, const bl_operands *o, int64_t *count, bl_error *err)
{
    double best_s = INFINITY;
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < 3 && !stop; i++) {
        int64_t start_ns = bl_clock_ns();
        code = backend->multiply(&o->products[(size_t)i % o->n_products], err);
        best_s = fmin(best_s, (double)(bl_clock_ns() - start_ns) / BL_NS_PER_S);
    }
    *count = best_s < STEP_S ? (int64_t)ceil(STEP_S / fmax(best_s, 1e-7)) : 1;
    return code;
}

static int run_steps(const timing *t, const bl_products *backend, const bl_operands *o, int64_t batch,
                     batchlab_marker *marker, bl_error *err)
{
    int64_t count, best_ns = INT64_MAX, total_ns = 0, steps = 0;
    size_t next = 0;
    int code = calibrate(backend, o, &count, err);
    batchlab_marker_ready(marker);
    for (; code == BL_OK && steps < t->steps && !stop; steps++) {
        int64_t start_ns = bl_clock_ns();
        for (int64_t i = 0; code == BL_OK && i < count; i++) {
            code = backend->multiply(&o->products[next], err);
            next = next + 1 < o->n_products ? next + 1 : 0;
        }
        int64_t took_ns = bl_clock_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        total_ns += took_ns;
        batchlab_marker_step(marker, batch * count, NAN, -1);
    }
    if (code == BL_OK && steps > 0 && !t->quiet)
        printf("%.0f x %.0f x %.0f by %s (%s)%s: %.2f GFLOP/s, best step %.2f; %lld products a step\n", t->product.m,
               t->product.n, t->product.k, backend->name, backend->describe(), o->huge ? ", huge pages" : "",
               t->product.flop * (double)(count * steps) / (double)total_ns,
               t->product.flop * (double)count / (double)best_ns, (long long)count);
    return code;
}

static int time_product(const timing *t, bl_error *err)
{
    const bl_products *backend = bl_products_find(t->backend);
    bl_operands_options options;
    bl_operands operands = {0};
    batchlab_marker marker;
    int batch_at = 0;
    if (!backend) {
        BL_FAIL(err, BL_ERR_USAGE, "--backend '%s' is not known", t->backend);
        bl_error_remedy(err, "one of: %s", bl_products_names());
        return BL_ERR_USAGE;
    }
    int code = take_words(t, &options, &batch_at, err);
    if (code == BL_OK)
        code = backend->open(t->threads > 0 ? (int)t->threads : bl_cpu_allowed_threads(), err);
    if (code != BL_OK)
        return code;
    int64_t batch = batch_at == 0 ? options.m : batch_at == 1 ? options.n : options.k;
    batchlab_marker_open(&marker);
    batchlab_marker_hello(&marker, "batchlab-train time", BATCHLAB_VERSION, "float32", 1, batch);
    code = bl_operands_make(&options, &operands, err);
    if (code == BL_OK)
        code = run_steps(t, backend, &operands, batch, &marker, err);
    if (code == BL_ERR_NOMEM)
        batchlab_marker_oom(&marker, 0);
    else if (code == BL_OK && !stop)
        batchlab_marker_done(&marker);
    bl_operands_clear(&operands);
    return code == BL_OK && stop ? BL_ERR_INTERRUPTED : code;
}

int bl_timing_main(int argc, char **argv)
{
    timing t = {.backend = "onednn", .cache = "warm", .pages = "system", .batch = "n", .steps = 50};
    bl_error err = {0};
    bool help = false;
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    int code = parse(argc, argv, &t, &help, &err);
    if (code == BL_OK && !help)
        code = time_product(&t, &err);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
