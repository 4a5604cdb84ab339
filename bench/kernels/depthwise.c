/* The project's depthwise kernels against oneDNN's, on the layers of MobileNetV3-Large at 224 x 224: both run in turn,
 * so that what disturbs the machine disturbs both. Both take and give plain filters and blocked images. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_adapter.h"
#include "backend/cpu/kernels/depthwise.h"
#include "base/error.h"
#include "base/options.h"
#include "paired.h"

typedef struct layer {
    int channels, side, k, stride, count; /* count: of such layers in the model */
} layer;

static const layer layers[] = {
    {16, 112, 3, 1, 1}, {64, 112, 3, 2, 1}, {72, 56, 3, 1, 1},  {72, 56, 5, 2, 1},
    {120, 28, 5, 1, 2}, {240, 28, 3, 2, 1}, {200, 14, 3, 1, 1}, {184, 14, 3, 1, 2},
    {480, 14, 3, 1, 1}, {672, 14, 3, 1, 1}, {672, 14, 5, 2, 1}, {960, 7, 5, 1, 2},
};
#define N_LAYERS (sizeof layers / sizeof *layers)

typedef struct bench {
    bl_dnnl *dnnl;
    int64_t batch, threads, repeats;
    double totals[PAIRED_KINDS][2]; /* ms of a step: own, oneDNN */
} bench;

typedef struct rig {
    bl_k_dw dw;
    bl_dnnl_conv *conv;
    float *x, *w, *y, *out[2]; /* out: own, oneDNN */
    void *scratch[2];
    size_t out_count;
    int kind;
} rig;

static int open_rig(const bench *b, const layer *l, int kind, rig *r, bl_error *err)
{
    int block = bl_dnnl_preferred_block(b->dnnl), n = (int)b->batch, pad = l->k / 2;
    int out = (l->side + 2 * pad - l->k) / l->stride + 1;
    size_t padded = (size_t)((l->channels + block - 1) / block * block);
    *r = (rig){.dw = {.n = n,
                      .c = l->channels,
                      .block = block,
                      .ih = l->side,
                      .iw = l->side,
                      .oh = out,
                      .ow = out,
                      .k = l->k,
                      .stride = l->stride,
                      .pad = pad}};
    bl_dnnl_conv_desc desc = {.n = n,
                              .c = l->channels,
                              .h = l->side,
                              .w = l->side,
                              .o = l->channels,
                              .oh = out,
                              .ow = out,
                              .kernel = {l->k, l->k},
                              .stride = {l->stride, l->stride},
                              .pad = {pad, pad},
                              .dilation = {1, 1},
                              .groups = l->channels,
                              .block = block};
    int code = bl_dnnl_conv_new(b->dnnl, &desc, (bl_dnnl_conv_kind)kind, false, &r->conv, err);
    if (code != BL_OK)
        return code;
    size_t x = (size_t)n * padded * (size_t)(l->side * l->side), y = (size_t)n * padded * (size_t)(out * out);
    size_t w = (size_t)(l->channels * l->k * l->k);
    r->x = paired_floats(x, 1);
    r->w = paired_floats(w, 1);
    r->y = paired_floats(y, 1);
    r->out_count = kind == PAIRED_FORWARD ? y : kind == PAIRED_GRAD_DATA ? x : w;
    for (int i = 0; i < 2; i++)
        r->out[i] = paired_floats(r->out_count, 0);
    r->scratch[0] = paired_floats(bl_k_dw_scratch_b(&r->dw) / sizeof(float), 0);
    r->scratch[1] = paired_floats(bl_dnnl_conv_scratch_b(r->conv) / sizeof(float), 0);
    return BL_OK;
}

static void close_rig(rig *r)
{
    bl_dnnl_conv_free(r->conv);
    free(r->x);
    free(r->w);
    free(r->y);
    for (int i = 0; i < 2; i++) {
        free(r->out[i]);
        free(r->scratch[i]);
    }
}

static int run_one(void *of, int who, bl_error *err)
{
    rig *r = of;
    int kind = r->kind;
    float *out = r->out[who];
    void *scratch = r->scratch[who];
    if (who == 1)
        return kind == PAIRED_FORWARD     ? bl_dnnl_conv_forward(r->conv, r->x, r->w, NULL, out, scratch, true, err)
               : kind == PAIRED_GRAD_DATA ? bl_dnnl_conv_grad_data(r->conv, r->y, r->w, out, scratch, err)
                                          : bl_dnnl_conv_grad_weights(r->conv, r->x, r->y, out, NULL, scratch, err);
    if (kind == PAIRED_FORWARD)
        bl_k_dw_forward(&r->dw, NULL, r->x, r->w, NULL, out, scratch);
    else if (kind == PAIRED_GRAD_DATA)
        bl_k_dw_grad_data(&r->dw, r->y, r->w, out, scratch);
    else
        bl_k_dw_grad_weights(&r->dw, NULL, r->x, r->y, out, NULL, scratch);
    return BL_OK;
}

static int measure(bench *b, const layer *l, int kind, bl_error *err)
{
    rig r;
    int code = open_rig(b, l, kind, &r, err);
    if (code != BL_OK)
        return code;
    r.kind = kind;
    paired pair = {.run = run_one, .rig = &r, .out = {r.out[0], r.out[1]}, .out_count = r.out_count};
    printf("%-17s %4d x %3d  k%d s%d", paired_kind_names[kind], l->channels, l->side, l->k, l->stride);
    double flop = 2.0 * (double)b->batch * l->channels * r.dw.oh * r.dw.ow * l->k * l->k, median[2] = {0};
    code = paired_measure(&pair, b->repeats, flop, bl_dnnl_conv_implementation(r.conv), median, err);
    for (int who = 0; code == BL_OK && who < 2; who++)
        b->totals[kind][who] += l->count * median[who];
    close_rig(&r);
    return code;
}

static int run(bench *b, bl_error *err)
{
    omp_set_num_threads((int)b->threads);
    int code = bl_dnnl_open(&b->dnnl, err);
    if (code != BL_OK)
        return code;
    printf("batch %d, %d threads, up to %d rounds; own kernels %s, oneDNN %s. Medians and quartiles in ms, GFLOP/s, "
           "gain.\n\n",
           (int)b->batch, (int)b->threads, (int)b->repeats, bl_k_isa_name(bl_k_active()), bl_dnnl_version());
    printf("%-37s  %-32s  %-32s\n", "layer: channels x side, filter", "own", "oneDNN");
    for (int kind = 0; kind < PAIRED_KINDS; kind++)
        for (size_t i = 0; code == BL_OK && i < N_LAYERS; i++)
            code = measure(b, &layers[i], kind, err);
    bl_dnnl_close(b->dnnl);
    if (code != BL_OK)
        return code;
    printf("\nall %d layers of a step, ms:\n", 15);
    for (int kind = 0; kind < PAIRED_KINDS; kind++)
        printf("%-17s own %8.2f  oneDNN %8.2f  %6.2fx\n", paired_kind_names[kind], b->totals[kind][0],
               b->totals[kind][1], b->totals[kind][1] / b->totals[kind][0]);
    return BL_OK;
}

int main(int argc, char **argv)
{
    bench b = {.batch = 16, .threads = omp_get_max_threads(), .repeats = 11};
    const bl_option options[] = {
        {BL_OPT_INT, 'b', "batch", "N", "Images (default: 16).", &b.batch, 1, 4096},
        {BL_OPT_INT, 't', "threads", "N", "Threads (default: all processors).", &b.threads, 1, 1024},
        {BL_OPT_INT, 'r', "repeats", "N", "Rounds (default: 11).", &b.repeats, 1, PAIRED_MAX_REPEATS},
    };
    const bl_command command = {.program = "bench_depthwise",
                                .summary = "Measures the project's depthwise kernels against oneDNN's.",
                                .usage = "[options]",
                                .options = options,
                                .n_options = sizeof options / sizeof *options};
    bl_options_result parsed = {0};
    bl_error err = {0};
    int code = bl_options_parse(&command, argc, argv, &parsed, &err);
    if (code == BL_OK && parsed.help)
        bl_options_print_help(&command, stdout);
    else if (code == BL_OK)
        code = run(&b, &err);
    bl_options_result_clear(&parsed);
    if (code == BL_OK)
        return 0;
    fprintf(stderr, "bench_depthwise: %s\n", err.message);
    return code == BL_ERR_USAGE ? 2 : 1;
}
