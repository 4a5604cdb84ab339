#include "train/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/op.h"
#include "optim/sums.h"

/* Images are drawn in another order than the training's. */
#define SEED_OF_NOISE UINT64_C(0x6e6f697365)

typedef struct meter {
    bl_trainer *t;
    bl_exec *exec;
    bl_loader *loader;
    int64_t epoch; /* of the loader */
    size_t count;  /* of the gradient slab */
    float *sum, *scale, *buffers;
    double *partial;
    double *squares; /* of single samples' gradients in this micro-batch; NULL: not had */
} meter;

static bool has_batch_norms(const bl_graph *graph)
{
    for (int i = 0; i < graph->n_nodes; i++)
        if (graph->nodes[i].op == &bl_op_norm_act)
            return true;
    return false;
}

/* ---- exact norms of single samples ---- */

static bool is_rows(const bl_graph *graph, bl_value v)
{
    return graph->values[v].shape.n_dims == 2;
}

/* Whether every gradient of a parameter comes from a linear layer with a row for each sample. */
static bool all_linear(const bl_graph *graph)
{
    int grads = 0, linear = 0;
    for (int v = 0; v < graph->n_values; v++)
        grads += graph->values[v].kind == BL_VALUE_GRAD;
    for (int i = 0; i < graph->n_nodes; i++) {
        const bl_node *node = &graph->nodes[i];
        if (node->op != &bl_op_linear_grad_weights || !is_rows(graph, node->in[0]))
            continue;
        for (int k = 0; k < node->n_out; k++)
            linear += node->out[k] >= 0 && graph->values[node->out[k]].kind == BL_VALUE_GRAD;
    }
    return grads > 0 && grads == linear;
}

static double row_squares(const float *row, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)row[i] * (double)row[i];
    return sum;
}

/* A sample's gradient of a layer is the outer product of its rows, and its bias's is the output gradient's row. */
static int add_layer(void *context, int index, bl_error *err)
{
    meter *m = context;
    const bl_graph *graph = bl_exec_graph(m->exec);
    const bl_node *node = &graph->nodes[index];
    if (node->op != &bl_op_linear_grad_weights)
        return BL_OK;
    const float *x = bl_exec_data(m->exec, node->in[0]), *d = bl_exec_data(m->exec, node->in[1]);
    const bl_shape *x_shape = &graph->values[node->in[0]].shape, *d_shape = &graph->values[node->in[1]].shape;
    bool bias = node->n_in > 2 && node->in[2] >= 0;
    for (int64_t i = 0; i < x_shape->dim[0]; i++)
        m->squares[i] += row_squares(d + i * d_shape->dim[1], d_shape->dim[1]) *
                         (row_squares(x + i * x_shape->dim[1], x_shape->dim[1]) + (bias ? 1 : 0));
    return BL_OK;
}

/* ---- gradients ---- */

static int next_batch(meter *m, bl_batch *out, bl_error *err)
{
    for (int tries = 0; tries < 2; tries++) {
        if (bl_loader_next(m->loader, out, err))
            return BL_OK;
        if (err && err->code != BL_OK)
            return err->code;
        bl_loader_start_epoch(m->loader, ++m->epoch);
    }
    return BL_FAIL(err, BL_ERR_INTERNAL, "an epoch without a batch");
}

/* The gradient of the next micro-batch, in the table. */
static int run_micro(meter *m, bl_error *err)
{
    bl_batch batch;
    int code = next_batch(m, &batch, err);
    if (code == BL_OK)
        code = bl_exec_bind(m->exec, "images", batch.images, err);
    if (code == BL_OK)
        code = bl_exec_bind(m->exec, "labels", batch.labels, err);
    if (code == BL_OK && m->squares)
        memset(m->squares, 0, (size_t)batch.n * sizeof *m->squares);
    return code == BL_OK ? bl_exec_run(m->exec, err) : code;
}

static void add_norms(meter *m, const float *g, double share, double *plain, double *scaled)
{
    *plain += share * bl_update_squares(m->count, g, m->partial);
    if (m->scale)
        *scaled += share * bl_update_scaled_squares(m->count, g, m->scale, m->partial);
}

static int measure_round(meter *m, int micros, const volatile int *stop, bl_gradient_norms *plain,
                         bl_gradient_norms *scaled, bl_error *err)
{
    int micro = (int)m->t->options->noise_batch;
    const float *g = bl_params_grad_slab(m->t->params);
    *plain = (bl_gradient_norms){.small_n = m->squares ? 1 : micro, .big_n = (double)micros * micro};
    *scaled = *plain;
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < micros; i++) {
        code = stop && *stop ? BL_ERR_INTERRUPTED : run_micro(m, err);
        if (code != BL_OK)
            break;
        /* The loss is a mean: a sample's own gradient is `micro` times its part of it. */
        for (int k = 0; m->squares && k < micro; k++)
            plain->small_sq += m->squares[k] * micro / micros;
        if (!m->squares)
            add_norms(m, g, 1.0 / micros, &plain->small_sq, &scaled->small_sq);
        bl_update_sum(m->count, i == 0, 1.0F / (float)micros, g, m->sum);
    }
    if (code == BL_OK)
        add_norms(m, m->sum, 1, &plain->big_sq, &scaled->big_sq);
    return code;
}

/* ---- before and after ---- */

static float *floats(size_t count)
{
    size_t bytes;
    return bl_size_mul(count > 0 ? count : 1, sizeof(float), &bytes) ? bl_aligned_alloc(BL_ALIGN_B, bytes) : NULL;
}

static int allocate(meter *m, bool scales, bool per_sample, bl_error *err)
{
    m->count = (size_t)bl_params_slab_count(m->t->params);
    size_t n_buffers = (size_t)bl_params_whole_count(m->t->params) - m->count;
    m->sum = floats(m->count);
    m->buffers = floats(n_buffers);
    m->partial = bl_calloc(bl_update_partials(m->count), sizeof *m->partial);
    bool ok = m->sum && m->buffers && m->partial;
    if (ok && scales)
        ok = (m->scale = floats(m->count)) != NULL;
    if (ok && per_sample)
        ok = (m->squares = bl_calloc((size_t)m->t->options->noise_batch, sizeof *m->squares)) != NULL;
    if (!ok)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to measure the gradient's noise");
    memcpy(m->buffers, bl_params_value_slab(m->t->params) + m->count, n_buffers * sizeof(float));
    return BL_OK;
}

static int open_loader(meter *m, bl_error *err)
{
    const bl_train_options *o = m->t->options;
    bl_loader_options options = {.split = BL_SPLIT_TRAIN,
                                 .batch = (int)o->noise_batch,
                                 .size = (int)o->image_size,
                                 .augment = o->augment,
                                 .shuffle = true,
                                 .drop_last = true,
                                 .n_workers = (int)o->workers,
                                 .seed = (uint64_t)o->seed ^ SEED_OF_NOISE};
    int code = bl_loader_new(m->t->dataset, &options, &m->loader, err);
    m->epoch = m->t->step;
    if (code == BL_OK)
        bl_loader_start_epoch(m->loader, m->epoch);
    return code;
}

static int open_meter(meter *m, bl_noise_report *out, bl_error *err)
{
    const bl_train_options *o = m->t->options;
    bool adam = o->optim.kind != BL_OPTIM_SGD;
    int code = bl_trainer_make_exec(m->t, BL_MODE_TRAIN, (int)o->noise_batch, &m->exec, err);
    if (code != BL_OK)
        return code;
    out->micro = (int)o->noise_batch;
    out->batch_norms = has_batch_norms(bl_exec_graph(m->exec));
    out->per_sample = !adam && o->noise_batch > 1 && all_linear(bl_exec_graph(m->exec));
    if (out->batch_norms && o->noise_batch == 1) {
        BL_FAIL(err, BL_ERR_USAGE, "%s normalises over batches: a single sample has no gradient", o->model->name);
        bl_error_remedy(err, "--noise-batch 8");
        return BL_ERR_USAGE;
    }
    code = allocate(m, adam && bl_optim_steps(m->t->optim) > 0, out->per_sample, err);
    if (code == BL_OK && m->squares)
        bl_exec_set_watch(m->exec, &(bl_exec_watch){.context = m, .after = add_layer});
    if (code == BL_OK && m->scale)
        out->has_scaled = bl_optim_scaling(m->t->optim, m->scale);
    /* Dropout draws otherwise than in training, and anew each time. */
    bl_exec_set_step(m->exec, (uint64_t)m->t->step << 20 | UINT64_C(1) << 63);
    return code == BL_OK ? open_loader(m, err) : code;
}

static void close_meter(meter *m)
{
    if (m->buffers) {
        size_t n = (size_t)bl_params_whole_count(m->t->params) - m->count;
        memcpy(bl_params_value_slab(m->t->params) + m->count, m->buffers, n * sizeof(float));
    }
    bl_loader_free(m->loader);
    bl_exec_free(m->exec);
    free(m->sum);
    free(m->scale);
    free(m->buffers);
    free(m->partial);
    free(m->squares);
}

int bl_noise_measure(bl_trainer *t, const volatile int *stop, bl_noise_report *out, bl_error *err)
{
    *out = (bl_noise_report){0};
    meter m = {.t = t};
    int micros = (int)(t->options->noise_samples / (t->options->noise_batch * BL_NOISE_ROUNDS));
    int code = open_meter(&m, out, err);
    for (int r = 0; code == BL_OK && r < BL_NOISE_ROUNDS; r++)
        code = measure_round(&m, micros, stop, &out->plain[r], &out->scaled[r], err);
    close_meter(&m);
    return code;
}
