/* What the user typed after `batchlab gemm`, made into a sweep of `batchlab-train time`. */
#ifndef BL_LAB_GEMM_OPTIONS_H
#define BL_LAB_GEMM_OPTIONS_H

#include "lab/gemm_layers.h"
#include "lab/sweep_options.h"

typedef struct bl_gemm_options {
    bl_sweep_options sweep; /* its command is `command` */
    char size[3][24];       /* M, N and K as typed; the batch's is "B" */
    int batch_at;           /* 0, 1 or 2 */
    bl_gemm_layers layers;  /* in place of a product: the factor "layer" */
    const char *model;      /* whose layers they are, or NULL */
    double peak_gflops;     /* 0: to be measured */
    double bandwidth_gb_s;  /* 0: to be measured, where a roofline is drawn */
    int64_t threads;        /* 0: the program's default */
    bool plot;              /* a roofline on the terminal */
    const char *picture;    /* and as an SVG file, or NULL */
    bool dry_run;
    bl_strv command;
    bool help;
} bl_gemm_options;

/* `options` is initialised, and to be cleared in any case. `program` is the lab's argv[0]. */
int bl_gemm_options_parse(int argc, char **argv, const char *program, bl_gemm_options *options, bl_error *err);
void bl_gemm_options_clear(bl_gemm_options *options);
void bl_gemm_options_print_help(FILE *out);

#endif
