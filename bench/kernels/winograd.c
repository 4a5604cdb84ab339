/* The project's Winograd convolutions against oneDNN's direct ones, on the 3 x 3 layers of ResNet-50 at 224 x 224 and
 * of YOLOv7 at 640 x 640: both run in turn, so that what disturbs the machine disturbs both. Both take and give plain
 * filters and blocked images. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/dnnl_adapter.h"
#include "backend/cpu/kernels/winograd.h"
#include "base/error.h"
#include "base/options.h"
#include "paired.h"

typedef struct layer {
    int in, out, side, images; /* images: for a batch of 16 (ResNet-50) or 2 (YOLOv7) */
} layer;

static const layer layers[] = {
    {64, 64, 56, 16}, {128, 128, 28, 16}, {256, 256, 14, 16}, {512, 512, 7, 16}, {64, 64, 160, 2},
    {64, 64, 320, 2}, {128, 128, 80, 2},  {256, 256, 40, 2},  {512, 512, 20, 2}, {256, 512, 20, 2},
};
#define N_LAYERS (sizeof layers / sizeof *layers)

typedef struct bench {
    bl_dnnl *dnnl;
    int64_t threads, repeats;
} bench;

typedef struct rig {
    bl_k_wino wino;
    bl_dnnl_conv *conv;
    float *x, *w, *y, *out[2]; /* out: own, oneDNN */
    void *scratch[2];
    size_t out_count;
    int kind;
} rig;

static int open_rig(const bench *b, const layer *l, int kind, rig *r, bl_error *err)
{
    int block = bl_dnnl_preferred_block(b->dnnl);
    *r = (rig){.wino = {.n = l->images, .c = l->in, .k = l->out, .block = block, .h = l->side, .w = l->side, .pad = 1}};
    bl_dnnl_conv_desc desc = {.n = l->images,
                              .c = l->in,
                              .h = l->side,
                              .w = l->side,
                              .o = l->out,
                              .oh = l->side,
                              .ow = l->side,
                              .kernel = {3, 3},
                              .stride = {1, 1},
                              .pad = {1, 1},
                              .dilation = {1, 1},
                              .groups = 1,
                              .block = block};
    int code = bl_dnnl_conv_new(b->dnnl, &desc, (bl_dnnl_conv_kind)kind, false, &r->conv, err);
    if (code != BL_OK)
        return code;
    size_t pixels = (size_t)l->images * (size_t)(l->side * l->side);
    size_t x = pixels * (size_t)l->in, y = pixels * (size_t)l->out, w = (size_t)(l->in * l->out * 9);
    r->x = paired_floats(x, 1);
    r->w = paired_floats(w, 1);
    r->y = paired_floats(y, 1);
    r->out_count = kind == PAIRED_FORWARD ? y : kind == PAIRED_GRAD_DATA ? x : w;
    for (int i = 0; i < 2; i++)
        r->out[i] = paired_floats(r->out_count, 0);
    r->scratch[0] = paired_floats(bl_k_wino_scratch_b(&r->wino, (bl_k_wino_kind)kind) / sizeof(float), 0);
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
        bl_k_wino_forward(&r->wino, r->x, r->w, out, scratch);
    else if (kind == PAIRED_GRAD_DATA)
        bl_k_wino_grad_data(&r->wino, r->y, r->w, out, scratch);
    else
        bl_k_wino_grad_weights(&r->wino, r->x, r->y, out, scratch);
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
    printf("%-17s %2d x %3d -> %3d, %3d%s", paired_kind_names[kind], l->images, l->in, l->out, l->side,
           bl_k_wino_pays(&r.wino, (bl_k_wino_kind)kind) ? "  " : " *");
    double flop = 2.0 * 9 * l->images * l->side * l->side * l->in * l->out, median[2];
    code = paired_measure(&pair, b->repeats, flop, bl_dnnl_conv_implementation(r.conv), median, err);
    close_rig(&r);
    return code;
}

static int run(bench *b, bl_error *err)
{
    omp_set_num_threads((int)b->threads);
    int code = bl_dnnl_open(&b->dnnl, err);
    if (code != BL_OK)
        return code;
    printf("%d threads, up to %d rounds; own kernels %s, oneDNN %s. Medians and quartiles in ms, GFLOP/s, "
           "gain. GFLOP/s count the direct sum's work. *: too small a layer, the trainer leaves it to oneDNN.\n\n",
           (int)b->threads, (int)b->repeats, bl_k_isa_name(bl_k_active()), bl_dnnl_version());
    printf("%-37s  %-32s  %-32s\n", "layer: images x in -> out, side", "own", "oneDNN");
    for (int kind = 0; kind < PAIRED_KINDS; kind++)
        for (size_t i = 0; code == BL_OK && i < N_LAYERS; i++)
            code = measure(b, &layers[i], kind, err);
    bl_dnnl_close(b->dnnl);
    return code;
}

int main(int argc, char **argv)
{
    bench b = {.threads = omp_get_max_threads(), .repeats = 11};
    const bl_option options[] = {
        {BL_OPT_INT, 't', "threads", "N", "Threads (default: all processors).", &b.threads, 1, 1024},
        {BL_OPT_INT, 'r', "repeats", "N", "Rounds (default: 11).", &b.repeats, 1, PAIRED_MAX_REPEATS},
    };
    const bl_command command = {.program = "bench_winograd",
                                .summary = "Measures the project's Winograd convolutions against oneDNN's direct ones.",
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
    fprintf(stderr, "bench_winograd: %s\n", err.message);
    return code == BL_ERR_USAGE ? 2 : 1;
}
