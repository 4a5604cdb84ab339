#include "lab/explain.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "report/format.h"

#define EDGE 0.005 /* less is no edge worth a word */

/* ---- figures ---- */

static bl_explain_row predict_row(const bl_explain *e, int64_t batch)
{
    bl_explain_row row = {.batch = batch, .busy = NAN, .measured = NAN, .residual = NAN};
    double tile_time = 0, busy_time = 0, memory_time = 0;
    for (bl_layers_walk w = bl_layers_begin(e->layers, e->n_layers, (double)batch); bl_layers_next(&w);) {
        bl_estimate estimate = bl_predict(&e->device, e->type, &w.product);
        row.flop += w.product.flop;
        row.bytes += w.product.elements * bl_number_b(e->type);
        row.seconds += estimate.seconds;
        memory_time += estimate.memory_s >= estimate.arithmetic_s ? estimate.seconds : 0;
        tile_time += estimate.tiles > 0 ? estimate.arithmetic_s : 0;
        busy_time += estimate.tiles > 0 ? estimate.arithmetic_s * estimate.busy * estimate.fill : 0;
    }
    if (tile_time > 0)
        row.busy = busy_time / tile_time;
    row.memory = memory_time / row.seconds;
    if (batch > 1) {
        double before = bl_predict_layers(&e->device, e->type, e->layers, e->n_layers, (double)(batch - 1));
        row.edge = row.seconds / (double)batch / (before / (double)(batch - 1)) - 1;
    }
    return row;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The factor that the machine stays behind the prediction by, the median over the sizes; what is left is residual. */
static int take_measured(bl_explain_row *rows, size_t n, const double *measured_s, double *scale, bl_error *err)
{
    double *ratios = bl_calloc(n, sizeof *ratios);
    size_t found = 0;
    if (!ratios)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for measurements");
    for (size_t i = 0; i < n; i++) {
        rows[i].measured = measured_s[i];
        if (!isnan(measured_s[i]))
            ratios[found++] = measured_s[i] / rows[i].seconds;
    }
    qsort(ratios, found, sizeof *ratios, compare_doubles);
    *scale = found == 0 ? NAN : (ratios[(found - 1) / 2] + ratios[found / 2]) / 2;
    for (size_t i = 0; i < n; i++)
        rows[i].residual = rows[i].measured / (rows[i].seconds * *scale) - 1;
    free(ratios);
    return BL_OK;
}

int bl_explain_rows(const bl_explain *e, const double *measured_s, bl_explain_row **rows, double *scale, bl_error *err)
{
    *scale = NAN;
    *rows = bl_calloc(e->batches.len, sizeof **rows);
    if (!*rows)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %zu batch sizes", e->batches.len);
    for (size_t i = 0; i < e->batches.len; i++)
        (*rows)[i] = predict_row(e, e->batches.items[i]);
    return measured_s ? take_measured(*rows, e->batches.len, measured_s, scale, err) : BL_OK;
}

/* ---- texts ---- */

static void add_share(bl_grid *grid, double share)
{
    char cell[64];
    snprintf(cell, sizeof cell, "%.0f %%", 100 * share);
    bl_grid_add(grid, isnan(share) ? "" : cell);
}

static void add_change(bl_grid *grid, double change)
{
    char cell[64];
    bl_format_percent(1 + change, cell, sizeof cell);
    bl_grid_add(grid, isnan(change) ? "" : cell);
}

static void add_number(bl_grid *grid, double value)
{
    char cell[64];
    bl_format_number(value, cell, sizeof cell);
    bl_grid_add(grid, isnan(value) ? "" : cell);
}

static void add_whole(bl_grid *grid, double value)
{
    char cell[64];
    snprintf(cell, sizeof cell, "%.0f", value);
    bl_grid_add(grid, cell);
}

static void add_count(bl_grid *grid, bool known, double value)
{
    if (known)
        add_whole(grid, value);
    else
        bl_grid_add(grid, "");
}

static void add_all(bl_grid *grid, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bl_grid_add(grid, texts[i]);
}

void bl_explain_print_devices(const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"name", "device", "units", "MHz",  "double",          "float32",
                                           "tf32", "half",   "int8",  "GB/s", "ops a byte, half"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "llrrrrrrrrr");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (int i = 0; i < bl_n_devices; i++) {
        const bl_device *d = &bl_devices[i];
        bl_grid_add(&grid, d->name);
        bl_grid_add(&grid, d->title);
        add_whole(&grid, d->units);
        add_whole(&grid, d->clock_mhz);
        for (bl_number type = BL_DOUBLE; type < BL_N_NUMBERS; type++)
            add_number(&grid, d->madds[type] > 0 ? bl_device_flops(d, type) / 1e12 : NAN);
        add_number(&grid, d->bandwidth_gb_s);
        add_number(&grid, d->madds[BL_HALF] > 0 ? bl_device_ops_per_byte(d, BL_HALF) : NAN);
    }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
    bl_str_append(out, "\nTFLOP/s of dense products, a multiply-add counted as two. Sources:\n");
    for (int i = 0; i < bl_n_devices; i++)
        bl_str_printf(out, "  %-10s %s\n", bl_devices[i].name, bl_devices[i].source);
}

static void print_seconds(const char *what, double seconds, bl_str *out)
{
    char number[64];
    bl_format_number(seconds * 1e3, number, sizeof number);
    bl_str_printf(out, "%s%s ms", what, number);
}

static void print_product(const bl_explain *e, const bl_product *p, bl_str *out)
{
    const bl_device *d = &e->device;
    bl_estimate s = bl_predict(d, e->type, p);
    char bytes[64], flop[64];
    bl_format_bytes(p->elements * bl_number_b(e->type), bytes, sizeof bytes);
    bl_format_number(p->flop / 1e9, flop, sizeof flop);
    double wanted = bl_device_ops_per_byte(d, e->type);
    bl_str_printf(out, "%.0f x %.0f x %.0f (M x N x K), %s, on %s\n", p->m, p->n, p->k, bl_number_name(e->type),
                  d->title);
    bl_str_printf(out, "  operations  %s GFLOP (2 M N K)\n  bytes       %s, each element once\n", flop, bytes);
    bl_str_printf(out, "  intensity   %.1f operations a byte; the device does %.1f in that time: bound by %s\n",
                  s.intensity, wanted, s.intensity < wanted ? "memory" : "arithmetic");
    if (s.tiles > 0)
        bl_str_printf(out,
                      "  tiles       %.0f of %d x %d, in %.0f wave%s of %d: %.0f %% of the units' time has a tile,\n"
                      "              %.0f %% of the tiles' area lies in the result\n",
                      s.tiles, d->tile[0], d->tile[1], s.waves, s.waves > 1 ? "s" : "", d->units, 100 * s.busy,
                      100 * s.fill);
    const char *odd = bl_predict_misaligned(d, e->type, p);
    bl_str_printf(out, "  alignment   to %d bytes: ", d->alignment_b);
    if (odd[0])
        bl_str_printf(out, "%s %s no multiple%s of %d\n", odd, odd[1] ? "are" : "is", odd[1] ? "s" : "",
                      bl_device_alignment(d, e->type));
    else
        bl_str_printf(out, "M, N and K are multiples of %d\n", bl_device_alignment(d, e->type));
    print_seconds("  at best     ", s.seconds, out);
    print_seconds(" (arithmetic ", s.arithmetic_s, out);
    print_seconds(", memory ", s.memory_s, out);
    bl_str_append(out, ")\n");
}

void bl_explain_print_products(const bl_explain *e, bl_str *out)
{
    for (size_t i = 0; i < e->n_products; i++) {
        bl_str_append(out, i > 0 ? "\n" : "");
        print_product(e, &e->products[i], out);
    }
}

static void print_each_product(const bl_explain *e, int64_t batch, const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"layer", "role", "M",      "N",       "K",  "times",    "tiles",
                                           "waves", "busy", "filled", "op/byte", "us", "bound by", "odd"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "llrrrrrrrrrrll");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (bl_layers_walk w = bl_layers_begin(e->layers, e->n_layers, (double)batch); bl_layers_next(&w);) {
        const bl_product *p = &w.product;
        bl_estimate s = bl_predict(&e->device, e->type, p);
        bl_str name;
        bl_str_init(&name);
        bl_layer_format(w.layer, &name);
        bl_grid_add(&grid, bl_str_text(&name));
        bl_str_clear(&name);
        bl_grid_add(&grid, bl_role_name(w.role));
        const double sizes[] = {p->m, p->n, p->k, p->count};
        for (size_t size = 0; size < BL_ARRAY_LEN(sizes); size++)
            add_whole(&grid, sizes[size]);
        bool tiled = s.tiles > 0;
        add_count(&grid, tiled, s.tiles);
        add_count(&grid, tiled, s.waves);
        add_share(&grid, tiled ? s.busy : NAN);
        add_share(&grid, tiled ? s.fill : NAN);
        add_number(&grid, s.intensity);
        add_number(&grid, s.seconds * 1e6);
        bl_grid_add(&grid, s.memory_s >= s.arithmetic_s ? "memory" : "arithmetic");
        bl_grid_add(&grid, bl_predict_misaligned(&e->device, e->type, p));
    }
    bl_str_printf(out, "\nBatch %lld: every product\n", (long long)batch);
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
}

static void print_edges(const bl_explain *e, const bl_explain_row *rows, bl_str *out)
{
    bool any = false;
    for (size_t i = 0; i < e->batches.len; i++)
        if (rows[i].edge > EDGE) {
            bl_str_printf(out, "%s%lld (%+.1f %%)",
                          any ? ", " : "\nJust past an edge, where a sample costs more than with one fewer: ",
                          (long long)rows[i].batch, 100 * rows[i].edge);
            any = true;
        }
    if (any)
        bl_str_append(out, ".\n");
    else if (e->device.tile[0] > 0)
        bl_str_append(out, "\nNone of these sizes lies just past an edge.\n");
}

/* For images: what a rule of thumb would name, beside what the shapes say. */
static void print_rule(const bl_explain *e, bl_str *out)
{
    if (e->height <= 0 || e->device.tile[0] == 0)
        return;
    bl_str_append(out, "A rule that goes around, int(n 2^14 units / (height width channels)), would name ");
    for (int n = 1; n <= 4; n++)
        bl_str_printf(out, "%s%.0f", n > 1 ? ", " : "",
                      bl_predict_rule(&e->device, n, e->height, e->width, e->channels));
    bl_str_append(out, "; nothing here follows from it.\n");
}

static void print_plot(const bl_explain *e, const bl_explain_row *rows, const bl_report_style *style, bl_str *out)
{
    double most = 0;
    int columns = (style->width > 0 ? style->width : 80) - 32;
    for (size_t i = 0; i < e->batches.len; i++)
        most = fmax(most, (double)rows[i].batch / rows[i].seconds);
    bl_str_append(out, "\n   batch  samples/s at best\n");
    for (size_t i = 0; i < e->batches.len; i++) {
        char number[64];
        double rate = (double)rows[i].batch / rows[i].seconds;
        bl_format_number(rate, number, sizeof number);
        bl_str_printf(out, "%8lld  ", (long long)rows[i].batch);
        for (int k = 0; k < (int)(rate / most * (columns > 20 ? columns : 20) + 0.5); k++)
            bl_str_append(out, style->utf8 ? "█" : "#");
        bl_str_printf(out, " %s%s\n", number, rows[i].edge > EDGE ? " <" : "");
    }
}

void bl_explain_print_layers(const bl_explain *e, const bl_explain_row *rows, double scale,
                             const bl_report_style *style, bl_str *out)
{
    static const char *const headings[] = {"batch",      "GFLOP",  "ms at best", "samples/s",   "of peak",
                                           "tiles full", "memory", "edge",       "measured ms", "residual"};
    bl_str_printf(out, "%s: %zu layer%s, %s, on %s; forward and backward\n\n", e->title, e->n_layers,
                  e->n_layers > 1 ? "s" : "", bl_number_name(e->type), e->device.title);
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "rrrrrrrrrr");
    add_all(&grid, headings, BL_ARRAY_LEN(headings));
    for (size_t i = 0; i < e->batches.len; i++) {
        const bl_explain_row *r = &rows[i];
        add_whole(&grid, (double)r->batch);
        add_number(&grid, r->flop / 1e9);
        add_number(&grid, r->seconds * 1e3);
        add_number(&grid, (double)r->batch / r->seconds);
        add_share(&grid, r->flop / r->seconds / bl_device_flops(&e->device, e->type));
        add_share(&grid, r->busy);
        add_share(&grid, r->memory);
        add_change(&grid, r->edge > EDGE ? r->edge : NAN);
        add_number(&grid, r->measured * 1e3);
        add_change(&grid, r->residual);
    }
    bl_grid_print(&grid, style, 0, out);
    bl_grid_clear(&grid);
    print_edges(e, rows, out);
    print_rule(e, out);
    if (!isnan(scale))
        bl_str_printf(
            out,
            "Measured steps take %.2f times what these products take at best (median); residuals are what is left.\n",
            scale);
    if (e->plot)
        print_plot(e, rows, style, out);
    for (size_t i = 0; e->all && i < e->batches.len; i++)
        print_each_product(e, e->batches.items[i], style, out);
}

/* ---- JSON ---- */

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *product_json(const bl_explain *e, const bl_product *p)
{
    bl_estimate s = bl_predict(&e->device, e->type, p);
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:s}", "m", p->m, "n",
                     p->n, "k", p->k, "count", p->count, "flop", p->flop, "bytes", p->elements * bl_number_b(e->type),
                     "flop_per_byte", s.intensity, "tiles", real_or_null(s.tiles > 0 ? s.tiles : NAN), "waves",
                     real_or_null(s.tiles > 0 ? s.waves : NAN), "busy", real_or_null(s.tiles > 0 ? s.busy : NAN),
                     "filled", real_or_null(s.tiles > 0 ? s.fill : NAN), "arithmetic_s", s.arithmetic_s, "memory_s",
                     s.memory_s, "seconds", s.seconds, "misaligned", bl_predict_misaligned(&e->device, e->type, p));
}

static json_t *row_json(const bl_explain *e, const bl_explain_row *r)
{
    json_t *row = json_pack("{s:I, s:f, s:f, s:f, s:o, s:f, s:f, s:o, s:o}", "batch", (json_int_t)r->batch, "flop",
                            r->flop, "seconds", r->seconds, "samples_per_s", (double)r->batch / r->seconds,
                            "tiles_full", real_or_null(r->busy), "memory_bound", r->memory, "edge", r->edge,
                            "measured_s", real_or_null(r->measured), "residual", real_or_null(r->residual));
    if (!e->all || !row)
        return row;
    json_t *list = json_array();
    for (bl_layers_walk w = bl_layers_begin(e->layers, e->n_layers, (double)r->batch); bl_layers_next(&w);) {
        json_t *product = product_json(e, &w.product);
        bl_str name;
        bl_str_init(&name);
        bl_layer_format(w.layer, &name);
        json_object_set_new(product, "layer", json_string(bl_str_text(&name)));
        json_object_set_new(product, "role", json_string(bl_role_name(w.role)));
        bl_str_clear(&name);
        json_array_append_new(list, product);
    }
    json_object_set_new(row, "products", list);
    return row;
}

int bl_explain_json(const bl_explain *e, const bl_explain_row *rows, double scale, bl_str *out, bl_error *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_products; i++)
        json_array_append_new(list, product_json(e, &e->products[i]));
    for (size_t i = 0; rows && i < e->batches.len; i++)
        json_array_append_new(list, row_json(e, &rows[i]));
    json_t *root = json_pack("{s:s, s:s, s:f, s:f, s:[i,i], s:o, s:o}", "device", e->device.name, "type",
                             bl_number_name(e->type), "flops", bl_device_flops(&e->device, e->type), "bandwidth_b_s",
                             e->device.bandwidth_gb_s * 1e9, "tile", e->device.tile[0], e->device.tile[1], "scale",
                             real_or_null(scale), rows ? "batches" : "products", list);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for JSON");
    bl_str_append(out, text);
    bl_str_append(out, "\n");
    free(text);
    return BL_OK;
}
