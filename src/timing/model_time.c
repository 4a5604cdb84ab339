#include "timing/model_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/attributes.h"
#include "base/clock.h"
#include "base/str.h"
#include "graph/exec.h"
#include "graph/op.h"
#include "optim/optim.h"
#include "timing/samples.h"

enum { RUNS_MIN = 5, RUNS_MAX = 200, CLASSES = 1000, EVICT_FLOATS = 24 << 20 };
#define NODE_S 0.01 /* each distinct node runs at least so long in sum */

typedef struct bench {
    const bl_model_time_options *options;
    bl_params *params;
    bl_exec *exec;
    bl_optim *optim;
    float *images, *evicting;
    int32_t *labels;
    char **keys; /* of each node */
    double seconds;
} bench;

/* ---- what a node is ---- */

static void add_value(const bl_graph *graph, bl_value v, bl_str *out)
{
    if (v < 0) {
        bl_str_append(out, " -");
        return;
    }
    const bl_value_info *info = &graph->values[v];
    bl_str_printf(out, " %d:%d:%d", (int)info->kind, (int)info->layout.kind, info->layout.block);
    for (int i = 0; i < info->shape.n_dims; i++)
        bl_str_printf(out, "x%lld", (long long)info->shape.dim[i]);
}

/* Nodes with the same text take the same time: op, kernel, attributes, shapes and layouts. */
static char *key_of(const bl_graph *graph, const bl_node *node, const char *kernel)
{
    bl_str key;
    bl_str_init(&key);
    bl_str_printf(&key, "%s %s %d/%d ", node->op->name, kernel, node->norm_at, (int)node->norm.act);
    const unsigned char *attrs = (const unsigned char *)&node->attrs;
    bool random = node->op == &bl_op_dropout || node->op == &bl_op_dropout_grad || node->op == &bl_op_drop_path ||
                  node->op == &bl_op_drop_path_grad; /* which stream it draws from does not matter */
    for (size_t i = 0; !random && i < sizeof node->attrs; i++)
        bl_str_printf(&key, "%02x", attrs[i]);
    for (int i = 0; i < node->n_in; i++)
        add_value(graph, node->in[i], &key);
    bl_str_append(&key, " >");
    for (int i = 0; i < node->n_out; i++)
        add_value(graph, node->out[i], &key);
    return bl_str_take(&key);
}

static double count_of(const bl_graph *graph, bl_value v)
{
    return (double)bl_shape_count(&graph->values[v].shape);
}

/* Operations of a product, a multiply-add as two; 0 for all others. */
static double flop_of(const bl_graph *graph, const bl_node *node)
{
    bool forward = node->op == &bl_op_conv2d || node->op == &bl_op_linear;
    bool data = node->op == &bl_op_conv2d_grad_data || node->op == &bl_op_linear_grad_data;
    bool weights = node->op == &bl_op_conv2d_grad_weights || node->op == &bl_op_linear_grad_weights;
    if (node->op == &bl_op_attention || node->op == &bl_op_attention_grad) {
        const bl_shape *qkv = &graph->values[node->in[0]].shape;
        int64_t width = qkv->dim[2] / 3;
        double once = 2.0 * (double)qkv->dim[0] * (double)(qkv->dim[1] * qkv->dim[1]) * (double)width;
        return node->op == &bl_op_attention ? 2 * once : 4 * once;
    }
    if (!forward && !data && !weights)
        return 0;
    bl_value y = forward ? node->out[0] : data ? node->in[0] : node->in[1];
    /* Each number of the result takes one filter: (O, C / groups, k, k) or (O, I). */
    bl_value w = weights ? node->out[0] : node->in[1];
    if (w < 0)
        return 0;
    return 2 * count_of(graph, y) * count_of(graph, w) / (double)graph->values[w].shape.dim[0];
}

/* ---- making ---- */

static int build(bench *b, bl_error *err)
{
    const bl_model_time_options *o = b->options;
    int side = o->image_size > 0 ? o->image_size : o->model->image_size;
    bl_graph *graph = NULL;
    int code = bl_params_new(&b->params, err);
    if (code == BL_OK)
        code = bl_graph_new(b->params, BL_MODE_TRAIN, &graph, err);
    if (code != BL_OK)
        return code;
    bl_value images = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(o->batch, 3, side, side));
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(o->batch));
    bl_value logits = o->model->build(graph, images, o->classes > 0 ? o->classes : CLASSES);
    bl_build_softmax_cross_entropy(graph, logits, labels, 0);
    bl_exec_options options = {
        .n_threads = o->threads, .no_reuse = true, .profile = true, .recompute = BL_RECOMPUTE_CHEAP, .seed = 1};
    return bl_exec_new(&bl_backend_cpu, graph, &options, &b->exec, err);
}

static int prepare(bench *b, bl_error *err)
{
    const bl_model_time_options *o = b->options;
    size_t side = (size_t)(o->image_size > 0 ? o->image_size : o->model->image_size);
    size_t n = (size_t)o->batch * 3 * side * side;
    bl_optim_options sgd = {.kind = BL_OPTIM_SGD, .momentum = 0.9};
    b->images = bl_aligned_alloc(64, n * sizeof *b->images);
    b->labels = bl_calloc((size_t)o->batch, sizeof *b->labels);
    b->evicting = bl_aligned_alloc(64, EVICT_FLOATS * sizeof *b->evicting);
    if (!b->images || !b->labels || !b->evicting)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a batch");
    bl_samples_fill(b->images, n);
    bl_samples_fill(b->evicting, EVICT_FLOATS);
    for (int i = 0; i < o->batch; i++)
        b->labels[i] = i % (o->classes > 0 ? o->classes : CLASSES);
    int code = bl_params_init(b->params, 1, err);
    if (code == BL_OK)
        code = bl_exec_bind(b->exec, "images", b->images, err);
    if (code == BL_OK)
        code = bl_exec_bind(b->exec, "labels", b->labels, err);
    if (code == BL_OK)
        code = bl_optim_new(b->params, &sgd, &b->optim, err);
    return code == BL_OK ? bl_exec_run(b->exec, err) : code;
}

static int make_keys(bench *b, bl_error *err)
{
    const bl_graph *graph = bl_exec_graph(b->exec);
    const bl_exec_profile_row *rows;
    bl_exec_profile(b->exec, &rows);
    b->keys = bl_calloc((size_t)graph->n_nodes, sizeof *b->keys);
    for (int i = 0; b->keys && i < graph->n_nodes; i++)
        if (!(b->keys[i] = key_of(graph, &graph->nodes[i], rows[i].kernel)))
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a node's text");
    return b->keys ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the nodes' texts");
}

static void clear(bench *b)
{
    int n = b->exec ? bl_exec_graph(b->exec)->n_nodes : 0;
    for (int i = 0; b->keys && i < n; i++)
        free(b->keys[i]);
    free(b->keys);
    bl_optim_free(b->optim);
    bl_exec_free(b->exec);
    bl_params_free(b->params);
    free(b->images);
    free(b->labels);
    free(b->evicting);
}

/* ---- timing ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads and writes what no cache holds beside anything else. */
static void evict(bench *b)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < EVICT_FLOATS; i++)
        b->evicting[i] += 1;
}

/* The median of some runs: node -1 is the optimizer's step. */
static int time_node(bench *b, int node, double *seconds, bl_error *err)
{
    const bl_optim_rates rates = bl_optim_rates_of(1e-6);
    double took[RUNS_MAX], sum = 0;
    int n = 0, code = BL_OK;
    for (int i = -1; code == BL_OK && i < RUNS_MAX && (i < RUNS_MIN || sum < NODE_S); i++) {
        if (*b->options->stop)
            return BL_ERR_INTERRUPTED;
        if (b->options->cold)
            evict(b);
        int64_t start_ns = bl_clock_ns();
        if (node < 0)
            bl_optim_step(b->optim, &rates);
        else
            code = bl_exec_run_node(b->exec, node, err);
        if (i < 0)
            continue; /* to warm up */
        took[n] = (double)(bl_clock_ns() - start_ns) / BL_NS_PER_S;
        sum += took[n++];
    }
    qsort(took, (size_t)n, sizeof *took, compare_doubles);
    *seconds = n > 0 ? (took[n / 2] + took[(n - 1) / 2]) / 2 : NAN;
    return code;
}

/* The row of an op by a kernel, made where there is none. */
static bl_model_time_row *row_of(bl_model_time *t, const char *op, const char *kernel)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->rows[i].op, op) == 0 && strcmp(t->rows[i].kernel, kernel) == 0)
            return &t->rows[i];
    t->rows[t->n] = (bl_model_time_row){.op = op};
    snprintf(t->rows[t->n].kernel, sizeof t->rows[t->n].kernel, "%s", kernel);
    return &t->rows[t->n++];
}

static int time_nodes(bench *b, bl_model_time *t, bl_error *err)
{
    const bl_graph *graph = bl_exec_graph(b->exec);
    const bl_exec_profile_row *rows;
    bl_exec_profile(b->exec, &rows);
    int code = BL_OK;
    for (int i = 0; code == BL_OK && i < graph->n_nodes; i++) {
        int count = 0, before = 0;
        for (int k = 0; k < graph->n_nodes; k++) {
            bool same = strcmp(b->keys[i], b->keys[k]) == 0;
            count += same;
            before += same && k < i;
        }
        if (before > 0)
            continue;
        double seconds = 0, flop = flop_of(graph, &graph->nodes[i]);
        code = time_node(b, i, &seconds, err);
        bl_model_time_row *row = row_of(t, graph->nodes[i].op->name, rows[i].kernel);
        row->product = flop > 0 || row->product;
        row->nodes += count;
        row->distinct++;
        row->seconds += count * seconds;
        row->flop += count * flop;
    }
    return code;
}

static int compare_rows(const void *a, const void *b)
{
    const bl_model_time_row *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static int time_all(bench *b, bl_model_time *t, bl_error *err)
{
    int n = bl_exec_graph(b->exec)->n_nodes;
    t->rows = bl_calloc((size_t)n + 1, sizeof *t->rows);
    if (!t->rows)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %d rows", n);
    int code = time_nodes(b, t, err);
    for (int i = 0; i < t->n; i++)
        *(t->rows[i].product ? &t->products_s : &t->others_s) += t->rows[i].seconds;
    if (code == BL_OK)
        code = time_node(b, -1, &t->optimizer_s, err);
    bl_model_time_row *row = row_of(t, "sgd", "optimizer");
    row->nodes = row->distinct = 1;
    row->seconds = t->optimizer_s;
    qsort(t->rows, (size_t)t->n, sizeof *t->rows, compare_rows);
    return code;
}

int bl_model_time_make(const bl_model_time_options *o, bl_model_time *out, bl_error *err)
{
    *out = (bl_model_time){0};
    bench b = {.options = o};
    if (!o->model->build)
        return BL_FAIL(err, BL_ERR_USAGE, "%s is a detector: only classifiers are timed node by node", o->model->name);
    int code = build(&b, err);
    if (code == BL_OK)
        code = prepare(&b, err);
    if (code == BL_OK)
        code = make_keys(&b, err);
    if (code == BL_OK)
        code = time_all(&b, out, err);
    clear(&b);
    return code;
}

void bl_model_time_print(const bl_model_time *t, FILE *out)
{
    fprintf(out, "%-24s %-24s %6s %9s %12s %9s\n", "op", "kernel", "nodes", "distinct", "ms a step", "GFLOP/s");
    for (int i = 0; i < t->n; i++) {
        const bl_model_time_row *r = &t->rows[i];
        fprintf(out, "%-24s %-24s %6d %9d %12.3f", r->op, r->kernel, r->nodes, r->distinct, 1e3 * r->seconds);
        if (r->flop > 0)
            fprintf(out, " %9.1f", r->flop / r->seconds * 1e-9);
        fprintf(out, "\n");
    }
    fprintf(out, "\nproducts %.3f ms, other nodes %.3f ms, optimizer %.3f ms: a step of %.3f ms\n", 1e3 * t->products_s,
            1e3 * t->others_s, 1e3 * t->optimizer_s, 1e3 * (t->products_s + t->others_s + t->optimizer_s));
}

void bl_model_time_clear(bl_model_time *t)
{
    free(t->rows);
    *t = (bl_model_time){0};
}
