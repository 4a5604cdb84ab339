#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "lab/gemm.h"
#include "report/roofline.h"
#include "report/svg.h"

/* Layers by their roles; products by the other factors, where there are few combinations. */
static void name_series(const bl_gemm_options *o, const bl_analysis *a, bl_roofline *r)
{
    size_t n_others = a->n_cases / a->experiment->factors[0].n_values;
    r->names[0] = "";
    r->marks[0] = 'o';
    r->n_series = 1;
    if (o->layers.len > 0)
        for (r->n_series = 0; r->n_series < BL_N_ROLES; r->n_series++) {
            r->names[r->n_series] = bl_role_word((bl_role)r->n_series);
            r->marks[r->n_series] = r->names[r->n_series][0];
        }
    else if (n_others > 1 && n_others <= BL_ROOFLINE_SERIES_MAX)
        for (r->n_series = 0; r->n_series < n_others; r->n_series++) {
            const char *others = strchr(a->cases[r->n_series].label, ' ');
            r->names[r->n_series] = others ? others + 1 : a->cases[r->n_series].label;
            r->marks[r->n_series] = (char)('1' + r->n_series);
        }
}

static int fill(const bl_gemm_options *o, const bl_analysis *a, const bl_gemm_figures *f, const bl_gemm_roofs *roofs,
                bl_arena *arena, bl_roofline *out, bl_error *err)
{
    bl_roofline_point *points = bl_arena_alloc(arena, a->n_cases, sizeof *points);
    if (!points)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a roofline");
    *out = (bl_roofline){.title = o->model ? o->model : "Roofline",
                         .peak_gflops = roofs->peak_gflops,
                         .bandwidth_gb_s = roofs->bandwidth_gb_s,
                         .points = points,
                         .n_points = a->n_cases};
    name_series(o, a, out);
    for (size_t i = 0; i < a->n_cases; i++) {
        const bl_gemm_row *r = &f->rows[i];
        points[i] = (bl_roofline_point){.intensity = r->intensity,
                                        .gflops = r->gflops.estimate,
                                        .low = r->gflops.has_interval ? r->gflops.low : NAN,
                                        .high = r->gflops.has_interval ? r->gflops.high : NAN,
                                        .name = a->cases[i].label,
                                        .series = r->layer ? (size_t)r->layer->role : i % out->n_series};
    }
    return BL_OK;
}

int bl_gemm_draw(const bl_gemm_options *o, const bl_analysis *a, const bl_gemm_figures *f, const bl_gemm_roofs *roofs,
                 const bl_report_style *style, bl_arena *arena, bl_str *text, bl_error *err)
{
    bl_roofline roofline;
    int code = fill(o, a, f, roofs, arena, &roofline, err);
    if (code == BL_OK && o->plot) {
        bl_roofline_text(&roofline, style, text);
        bl_str_printf(text, "  Roofs: %.1f GFLOP/s, %.1f GB/s (%s).\n", roofs->peak_gflops, roofs->bandwidth_gb_s,
                      o->bandwidth_gb_s > 0 ? "as given" : "the better step of batchlab-train time stream");
    }
    if (code != BL_OK || !o->picture)
        return code;
    bl_chart chart;
    bl_str svg;
    bl_str_init(&svg);
    code = bl_roofline_chart(&roofline, arena, &chart, err);
    if (code == BL_OK)
        bl_svg_chart(&chart, true, &svg);
    if (code == BL_OK && svg.failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for a picture");
    if (code == BL_OK)
        code = bl_fs_replace(o->picture, bl_str_text(&svg), svg.len, err);
    bl_str_clear(&svg);
    return code;
}
