/* What batchlab explain prints. */
#ifndef BL_LAB_EXPLAIN_H
#define BL_LAB_EXPLAIN_H

#include "lab/explain_options.h"
#include "report/report.h"

typedef struct bl_explain_row {
    int64_t batch;
    double flop;     /* of a step */
    double bytes;    /* that its products read and write, each element once */
    double seconds;  /* a step at best */
    double busy;     /* the share of the units' time that works on a tile, over all tiled products; NaN: no tiles */
    double memory;   /* the share of the time that moving bytes bounds */
    double edge;     /* what a sample costs more than with a batch smaller by one, as a ratio less 1 */
    double measured; /* seconds a step, NaN: not measured */
    double residual; /* measured / (predicted x the median of that ratio) - 1; NaN */
} bl_explain_row;

/* One for each batch size; the caller frees *rows. measured_s: seconds a step by batch (NaN: none), or NULL. */
int bl_explain_rows(const bl_explain *explain, const double *measured_s, bl_explain_row **rows, double *scale,
                    bl_error *err);

void bl_explain_print_devices(const bl_report_style *style, bl_str *out);
void bl_explain_print_products(const bl_explain *explain, bl_str *out);
void bl_explain_print_layers(const bl_explain *explain, const bl_explain_row *rows, double scale,
                             const bl_report_style *style, bl_str *out);
int bl_explain_json(const bl_explain *explain, const bl_explain_row *rows, double scale, bl_str *out, bl_error *err);

#endif
