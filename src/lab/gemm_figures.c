#include "lab/gemm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "lab/model_layers.h"
#include "shapes/layer.h"

/* ---- roofs ---- */

/* The best step that batchlab-train time prints for `what`; NaN where it cannot be had. */
static double ask_best(const bl_gemm_options *o, const char *what)
{
    char time[] = "time", subject[32], steps_option[] = "--steps", steps[] = "10", threads_option[] = "--threads";
    char threads[32];
    bl_str out;
    bl_str_init(&out);
    snprintf(subject, sizeof subject, "%s", what);
    snprintf(threads, sizeof threads, "%lld", (long long)o->threads);
    char *argv[] = {
        o->command.items[0], time, subject, steps_option, steps, o->threads > 0 ? threads_option : NULL, threads, NULL};
    double best = NAN;
    bl_error err = {0};
    if (bl_trainer_ask(argv, &out, &err) == BL_OK) {
        static const char before[] = "best step ";
        char *at = out.len > 0 ? strstr(out.data, before) : NULL;
        if (at) {
            at += sizeof before - 1;
            at[strcspn(at, ";")] = '\0';
            if (bl_parse_f64(at, "rate", &best, NULL) != BL_OK)
                best = NAN;
        }
    }
    bl_str_clear(&out);
    return best;
}

void bl_gemm_measure_roofs(const bl_gemm_options *o, bl_gemm_roofs *roofs)
{
    if (o->peak_gflops > 0)
        roofs->peak_gflops = o->peak_gflops;
    else
        roofs->peak_gflops = fmax(roofs->peak_gflops, ask_best(o, "2048x2048x2048"));
    if (o->bandwidth_gb_s > 0)
        roofs->bandwidth_gb_s = o->bandwidth_gb_s;
    else if (o->plot || o->picture)
        roofs->bandwidth_gb_s = fmax(roofs->bandwidth_gb_s, ask_best(o, "stream"));
}

/* ---- cases ---- */

/* A case's product, from the options and its batch size. */
static bl_product product_of(const bl_gemm_options *o, int64_t batch)
{
    double size[3];
    for (int i = 0; i < 3; i++) {
        int64_t value = batch;
        if (i != o->batch_at && bl_parse_i64(o->size[i], "size", 1, INT64_MAX, &value, NULL) != BL_OK)
            value = 0; /* was checked when the options were read */
        size[i] = (double)value;
    }
    return bl_product_make(size[0], size[1], size[2]);
}

static bl_interval scaled(bl_interval i, double factor)
{
    i.estimate *= factor;
    i.low *= factor;
    i.high *= factor;
    return i;
}

static bl_gemm_row row_of(const bl_gemm_options *o, const bl_analysis *a, size_t c)
{
    const bl_case_figure *figure = &a->cases[c];
    bl_gemm_row row = {.name = figure->label, .batch = figure->batch};
    double elements;
    if (o->layers.len > 0) {
        row.layer = &o->layers.items[c % o->layers.len];
        row.name = row.layer->text;
        bl_gemm_layer_work(row.layer, (double)row.batch, &row.flop, &elements);
    } else {
        row.product = product_of(o, row.batch);
        row.flop = row.product.flop;
        elements = row.product.elements;
    }
    row.intensity = row.flop / (4 * elements);
    row.seconds = scaled(figure->seconds, (double)row.batch);
    row.gflops = scaled(bl_interval_reciprocal(&row.seconds), row.flop * 1e-9);
    return row;
}

/* ---- sums ---- */

/* Seconds a sample of a case in a block. Where that trial gave none, the case's own estimate stands in, lest one of a
 * hundred layers take a block from the sum. */
static double seconds_in(const bl_analysis *a, size_t c, size_t block, size_t *filled)
{
    double seconds = a->seconds[c * a->n_blocks + block];
    if (isnan(seconds)) {
        seconds = a->cases[c].seconds.estimate;
        (*filled)++;
    }
    return seconds;
}

/* Of a role or, where it is BL_N_ROLES, of all; seconds a sample in each of the blocks that all cases have run in. */
static void add_up(const bl_gemm_options *o, const bl_analysis *a, size_t at, bl_role role, double *y, size_t *filled)
{
    size_t n = o->layers.len;
    *filled = 0;
    for (size_t b = 0; b < a->n_blocks; b++) {
        y[b] = b < a->n_blocks_done ? 0 : NAN;
        for (size_t i = 0; i < n && b < a->n_blocks_done; i++)
            if (role == BL_N_ROLES || o->layers.items[i].role == role)
                y[b] += o->layers.items[i].count * seconds_in(a, at * n + i, b, filled);
        if (y[b] == 0) /* none has this role */
            y[b] = NAN;
    }
}

static int make_sums(const bl_gemm_options *o, const bl_analysis *a, bl_arena *arena, bl_gemm_figures *f, bl_error *err)
{
    size_t n = a->experiment->factors[0].n_values, filled;
    double *y = bl_arena_alloc(arena, n * a->n_blocks, sizeof *y),
           *part = bl_arena_alloc(arena, a->n_blocks, sizeof *part);
    int64_t *batches = bl_arena_alloc(arena, n, sizeof *batches);
    f->sums = bl_arena_alloc(arena, n, sizeof *f->sums);
    if (!y || !part || !batches || !f->sums)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for sums");
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        bl_gemm_sum *s = &f->sums[i];
        *s = (bl_gemm_sum){.batch = a->cases[i * o->layers.len].batch};
        batches[i] = s->batch;
        for (size_t k = 0; k < o->layers.len; k++)
            s->flop += o->layers.items[k].count * f->rows[i * o->layers.len + k].flop;
        for (int role = 0; code == BL_OK && role < BL_N_ROLES; role++) {
            bl_interval of_role;
            add_up(o, a, i, (bl_role)role, part, &filled);
            code = bl_case_interval(part, a->n_blocks, BL_REPORT_LEVEL, &of_role, err);
            s->by_role_s[role] = of_role.estimate * (double)s->batch;
        }
        add_up(o, a, i, BL_N_ROLES, y + i * a->n_blocks, &filled);
        f->n_filled += filled;
        if (code == BL_OK)
            code = bl_case_interval(y + i * a->n_blocks, a->n_blocks, BL_REPORT_LEVEL, &s->seconds, err);
        s->seconds = scaled(s->seconds, (double)s->batch);
    }
    f->n_sums = n;
    f->best = n;
    if (code == BL_OK)
        code = bl_contrast_best(y, n, a->n_blocks, &f->best, err);
    for (size_t i = 0; code == BL_OK && i < n && f->best < n; i++)
        code = bl_contrast_pair(y + f->best * a->n_blocks, y + i * a->n_blocks, a->n_blocks, BL_REPORT_LEVEL,
                                &f->sums[i].against_best, err);
    return code == BL_OK ? bl_neighbours_compute(batches, y, n, a->n_blocks, BL_REPORT_LEVEL, a->experiment->margin,
                                                 &f->neighbours, err)
                         : code;
}

int bl_gemm_figures_make(const bl_gemm_options *o, const bl_analysis *a, bl_arena *arena, bl_gemm_figures *f,
                         bl_error *err)
{
    *f = (bl_gemm_figures){0};
    f->rows = bl_arena_alloc(arena, a->n_cases, sizeof *f->rows);
    if (!f->rows)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for figures");
    for (size_t c = 0; c < a->n_cases; c++)
        f->rows[c] = row_of(o, a, c);
    return o->layers.len > 0 ? make_sums(o, a, arena, f, err) : BL_OK;
}

void bl_gemm_figures_clear(bl_gemm_figures *f)
{
    bl_neighbours_clear(&f->neighbours);
}
