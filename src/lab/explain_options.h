/* What batchlab explain is asked: read from the command line and made ready. */
#ifndef BL_LAB_EXPLAIN_OPTIONS_H
#define BL_LAB_EXPLAIN_OPTIONS_H

#include "base/options.h"
#include "plan/batch_list.h"
#include "shapes/predict.h"

typedef struct bl_explain {
    bl_device device; /* with what the options say otherwise */
    bl_number type;
    bl_product *products; /* plain ones: the operands */
    size_t n_products;
    bl_layer *layers;
    size_t n_layers;
    char *title; /* of the layers */
    bl_batch_list batches;
    int64_t measured; /* an experiment to hold against; 0: none */
    const char *db;
    double height, width, channels; /* of a model's images; 0: not known */
    bool help, devices, plot, json, all;
} bl_explain;

/* `out` is initialised, and to be cleared in any case. With help or devices set, nothing else is. */
int bl_explain_parse(int argc, char **argv, const char *program, bl_explain *out, bl_error *err);
void bl_explain_clear(bl_explain *explain);
void bl_explain_print_help(FILE *out);

#endif
