#include "lab/explain_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/parse.h"
#include "lab/model_layers.h"
#include "lab/sweep_options.h"

enum { MAX_OPTIONS = 24, FILE_MAX_B = 4 << 20 };

/* What is still text. */
typedef struct raw {
    const char *device, *type, *tile, *batches, *model, *file;
    bl_strv layers;
    int64_t image_size;
    double peak, bandwidth;
} raw;

static int fill_table(bl_explain *e, raw *r, bl_option *table)
{
    const bl_option rows[] = {
        {BL_OPT_GROUP, 0, NULL, NULL, "What", NULL, 0, 0},
        {BL_OPT_STRINGS, 'l', "layer", "LAYER",
         "linear:IN:oOUT[:rROWS], conv:CxHxW:oOUT:kK[:sSTRIDE][:pPAD][:gGROUPS] or attention:tTOKENS:hHEADS:wWIDTH; "
         "may "
         "be given several times.",
         &r->layers, 0, 0},
        {BL_OPT_STRING, 0, "layers", "FILE", "The same, one a line; -: from standard input.", &r->file, 0, 0},
        {BL_OPT_STRING, 'm', "model", "NAME", "Every layer of this built-in model (batchlab-train list).", &r->model, 0,
         0},
        {BL_OPT_INT, 0, "image-size", "N", "Side of the model's images (default: its customary one).", &r->image_size,
         1, 1 << 20},
        {BL_OPT_STRING, 'b', "batch", "LIST", "Batch sizes, as in sweep: 127,128,129 or 1..64 (default: pow2:1..256).",
         &r->batches, 0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "On what", NULL, 0, 0},
        {BL_OPT_STRING, 'd', "device", "NAME", "One of --devices (default: a100).", &r->device, 0, 0},
        {BL_OPT_STRING, 't', "type", "TYPE",
         "Of the numbers: double, float32, tf32, half (float16 and bfloat16 mean it too) or int8 (default: half where "
         "that is the faster, else float32).",
         &r->type, 0, 0},
        {BL_OPT_STRING, 0, "tile", "SIZE",
         "Rows x columns of a result that one unit makes at a time, such as 128x64 (default: the device's).", &r->tile,
         0, 0},
        {BL_OPT_FLOAT, 0, "peak", "GFLOPS", "The device's peak in GFLOP/s instead of the table's: a measured one, say.",
         &r->peak, 0, 0},
        {BL_OPT_FLOAT, 0, "bandwidth", "GB", "Gigabytes a second that its memory moves, likewise.", &r->bandwidth, 0,
         0},
        {BL_OPT_FLAG, 0, "devices", NULL, "List the devices, with the source of each one's figures, and leave.",
         &e->devices, 0, 0},
        {BL_OPT_GROUP, 0, NULL, NULL, "How it is shown", NULL, 0, 0},
        {BL_OPT_FLAG, 'a', "all", NULL, "Every product of every layer, at each batch size.", &e->all, 0, 0},
        {BL_OPT_FLAG, 0, "plot", NULL, "Also a plot of samples/s over batch size.", &e->plot, 0, 0},
        {BL_OPT_FLAG, 0, "json", NULL, "As JSON.", &e->json, 0, 0},
        {BL_OPT_INT, 0, "measured", "ID", "Hold the predictions against this experiment's measurements.", &e->measured,
         1, INT64_MAX},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &e->db, 0, 0},
    };
    _Static_assert(sizeof rows / sizeof rows[0] <= MAX_OPTIONS, "raise MAX_OPTIONS");
    memcpy(table, rows, sizeof rows);
    return (int)BL_ARRAY_LEN(rows);
}

static bl_command command_of(const bl_option *table, int n)
{
    return (bl_command){
        .program = "batchlab",
        .name = "explain",
        .summary = "Predicts what batch sizes cost on a device, from shapes alone: nothing is run.",
        .usage = "[MxNxK...] [options]",
        .details =
            "For products of matrices, layers or whole models: operations, bytes, arithmetic intensity against the "
            "device's, tiles, waves of tiles and how full they are, alignment, and the time that these allow at "
            "best. Sizes that lie just past an edge are named with what it costs. Real times are longer: "
            "measure them (batchlab sweep), and hold them against this (--measured).",
        .examples = "  batchlab explain 8192x128x8192 --device v100\n"
                    "  batchlab explain --layer linear:1024:o4096 -b 127,128,129 --device a100 --type tf32\n"
                    "  batchlab explain --model resnet50 -b 120..136 --device p40 --plot\n"
                    "  batchlab explain --model resnet50 -b 8,16,32 --device epyc-7763 --peak 170 --bandwidth 20 "
                    "--measured 3\n",
        .options = table,
        .n_options = n,
    };
}

void bl_explain_print_help(FILE *out)
{
    bl_explain e = {0};
    raw r = {0};
    bl_option table[MAX_OPTIONS];
    int n = fill_table(&e, &r, table);
    bl_command command = command_of(table, n);
    bl_options_print_help(&command, out);
}

static int take_device(bl_explain *e, const raw *r, bl_error *err)
{
    const bl_device *device = bl_device_find(r->device);
    if (!device) {
        BL_FAIL(err, BL_ERR_USAGE, "--device '%s' is not known", r->device);
        bl_error_remedy(err, "batchlab explain --devices lists them; --peak and --bandwidth describe another one");
        return BL_ERR_USAGE;
    }
    e->device = *device;
    e->type = device->madds[BL_HALF] > device->madds[BL_FLOAT32] ? BL_HALF : BL_FLOAT32;
    if (r->type && !bl_number_from_name(r->type, &e->type)) {
        BL_FAIL(err, BL_ERR_USAGE, "--type '%s' is not known", r->type);
        bl_error_remedy(err, "one of: double, float32, tf32, half, float16, bfloat16, int8");
        return BL_ERR_USAGE;
    }
    if (r->peak < 0 || r->bandwidth < 0)
        return BL_FAIL(err, BL_ERR_USAGE, "--peak and --bandwidth are more than nothing");
    if (r->bandwidth > 0)
        e->device.bandwidth_gb_s = r->bandwidth;
    if (r->peak > 0)
        e->device.madds[e->type] = e->device.madds[e->type] > 0
                                       ? e->device.madds[e->type] * r->peak * 1e9 / bl_device_flops(&e->device, e->type)
                                       : r->peak * 1e3 / (2 * e->device.units * e->device.clock_mhz);
    if (bl_device_flops(&e->device, e->type) <= 0) {
        BL_FAIL(err, BL_ERR_USAGE, "%s multiplies no %s", e->device.title, bl_number_name(e->type));
        bl_error_remedy(err, "--type float32, or --peak with what it reaches");
        return BL_ERR_USAGE;
    }
    if (r->tile) {
        char text[64];
        bl_product tile;
        snprintf(text, sizeof text, "%sx1", r->tile);
        int code = strlen(r->tile) < 40 ? bl_product_parse(text, &tile, NULL) : BL_ERR_USAGE;
        if (code != BL_OK || tile.m > 65536 || tile.n > 65536)
            return BL_FAIL(err, BL_ERR_USAGE, "--tile '%.40s' is not two sizes, such as 256x128", r->tile);
        e->device.tile[0] = (int)tile.m;
        e->device.tile[1] = (int)tile.n;
    }
    return BL_OK;
}

static int read_file(const char *path, bl_str *out, bl_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int code = bl_fs_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, FILE_MAX_B, &text, &length, err);
    if (code == BL_OK)
        bl_str_append(out, text);
    free(text);
    return code;
}

static int take_layers(bl_explain *e, const raw *r, const char *program, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    int sources = (r->layers.len > 0) + (r->file != NULL) + (r->model != NULL), code = BL_OK;
    if (sources > 1)
        code = BL_FAIL(err, BL_ERR_USAGE, "--layer, --layers and --model exclude one another");
    for (size_t i = 0; code == BL_OK && i < r->layers.len; i++)
        bl_str_printf(&text, "%s\n", r->layers.items[i]);
    if (code == BL_OK && r->file)
        code = read_file(r->file, &text, err);
    if (code == BL_OK && r->model)
        code = bl_model_layers(program, r->model, r->image_size, &text, err);
    if (code == BL_OK && text.failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for layers");
    if (code == BL_OK && sources > 0)
        code = bl_layers_parse(bl_str_text(&text), &e->layers, &e->n_layers, err);
    bl_str_clear(&text);
    if (code == BL_OK && sources > 0) {
        e->title = bl_strdup(r->model             ? r->model
                             : r->file            ? r->file
                             : r->layers.len == 1 ? r->layers.items[0]
                                                  : "layers");
        code = e->title ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a title");
    }
    if (code == BL_OK && sources > 0 && e->layers[0].kind == BL_LAYER_CONV) {
        e->height = (double)e->layers[0].height;
        e->width = (double)e->layers[0].width;
        e->channels = (double)e->layers[0].in;
    }
    return code;
}

static int take_products(bl_explain *e, const bl_strv *operands, bl_error *err)
{
    if (operands->len == 0)
        return BL_OK;
    e->products = bl_calloc(operands->len, sizeof *e->products);
    if (!e->products)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for products");
    for (size_t i = 0; i < operands->len; i++) {
        int code = bl_product_parse(operands->items[i], &e->products[i], err);
        if (code != BL_OK)
            return code;
        e->n_products++;
    }
    return BL_OK;
}

static int check(const bl_explain *e, const raw *r, bl_error *err)
{
    if (e->n_products == 0 && e->n_layers == 0) {
        BL_FAIL(err, BL_ERR_USAGE, "nothing to explain");
        bl_error_remedy(err, "batchlab explain 8192x128x8192, or --layer, or --model resnet50");
        return BL_ERR_USAGE;
    }
    if (e->n_products > 0 && e->n_layers > 0)
        return BL_FAIL(err, BL_ERR_USAGE, "products and layers are explained one after the other");
    if (e->n_products > 0 && (r->batches || e->plot || e->measured || e->all))
        return BL_FAIL(err, BL_ERR_USAGE, "a plain product has no batch size: give --layer or --model");
    if (r->image_size > 0 && !r->model)
        return BL_FAIL(err, BL_ERR_USAGE, "--image-size goes with --model");
    return BL_OK;
}

static int take_all(bl_explain *e, const raw *r, const bl_options_result *result, const char *program, bl_error *err)
{
    if (result->n_rest > 0)
        return BL_FAIL(err, BL_ERR_USAGE, "'%s' after -- means nothing here", result->rest[0]);
    int code = take_device(e, r, err);
    if (code == BL_OK)
        code = take_products(e, &result->operands, err);
    if (code == BL_OK)
        code = take_layers(e, r, program, err);
    if (code == BL_OK)
        code = check(e, r, err);
    if (code == BL_OK)
        code = bl_batch_list_parse(r->batches ? r->batches : "pow2:1..256", &e->batches, err);
    return code;
}

int bl_explain_parse(int argc, char **argv, const char *program, bl_explain *e, bl_error *err)
{
    *e = (bl_explain){.db = BL_SWEEP_DB};
    raw r = {.device = "a100"};
    bl_option table[MAX_OPTIONS];
    bl_strv_init(&r.layers);
    int n = fill_table(e, &r, table);
    bl_command command = command_of(table, n);
    bl_options_result result = {0};
    int code = bl_options_parse(&command, argc, argv, &result, err);
    e->help = result.help;
    if (code == BL_OK && !e->help && !e->devices)
        code = take_all(e, &r, &result, program, err);
    bl_options_result_clear(&result);
    bl_strv_clear(&r.layers);
    return code;
}

void bl_explain_clear(bl_explain *e)
{
    free(e->products);
    free(e->layers);
    free(e->title);
    bl_batch_list_clear(&e->batches);
}
