#include "graph/exec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "graph/builder.h"
#include "graph/op.h"
#include "graph/passes.h"
#include "graph/plan.h"

struct bl_exec {
    const bl_backend *backend;
    void *state;
    bl_graph *graph;
    bl_exec_options options;
    bl_kernel **kernels; /* one a node */
    bl_plan_result plan;
    char *slab;
    size_t slab_mapped_b;
    const void **inputs; /* bound data, one a value */
    void **pointers;     /* of each value; NULL for inputs that are not bound */
    bl_exec_memory memory;
    bl_exec_profile_row *rows;
    uint64_t step;
    bl_exec_watch watch; /* after NULL: none */
};

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the executor");
}

/* ---- making ---- */

static int transform(bl_exec *exec, bl_error *err)
{
    bl_graph *graph = exec->graph;
    int code = bl_graph_finish(graph, err);
    if (code == BL_OK && !exec->options.no_fuse)
        code = bl_graph_fuse(graph, err);
    if (code == BL_OK && graph->mode == BL_MODE_TRAIN) {
        bl_value loss = bl_graph_find_value(graph, "loss"), seed = bl_graph_find_value(graph, "loss_gradient");
        if (loss < 0)
            return BL_FAIL(err, BL_ERR_INTERNAL, "a graph in training mode has no loss");
        code = bl_graph_differentiate(graph, &loss, &seed, 1, err);
    }
    if (code == BL_OK && !exec->options.no_fuse)
        code = bl_graph_absorb(graph, err);
    if (code == BL_OK && graph->mode == BL_MODE_TRAIN)
        code = bl_graph_recompute(graph, exec->options.recompute, err);
    if (code == BL_OK)
        code = bl_graph_sweep(graph, err);
    if (code == BL_OK)
        code = exec->backend->assign_layouts(exec->state, graph, err);
    return code;
}

static int lower(bl_exec *exec, bl_error *err)
{
    const bl_graph *graph = exec->graph;
    exec->kernels = bl_calloc((size_t)graph->n_nodes, sizeof *exec->kernels);
    exec->rows = bl_calloc((size_t)graph->n_nodes, sizeof *exec->rows);
    size_t *scratch_b = bl_calloc((size_t)graph->n_nodes, sizeof *scratch_b);
    int code = exec->kernels && exec->rows && scratch_b ? BL_OK : no_memory(err);
    for (int i = 0; code == BL_OK && i < graph->n_nodes; i++) {
        const bl_node *node = &graph->nodes[i];
        code = exec->backend->lower(exec->state, graph, node, &exec->kernels[i], err);
        if (code != BL_OK) {
            bl_error_context(err, "%s%s%s", node->name ? node->name : "", node->name ? ": " : "", node->op->name);
            break;
        }
        scratch_b[i] = exec->kernels[i]->scratch_b;
        exec->memory.weights_b += exec->kernels[i]->kept_b;
        exec->rows[i] = (bl_exec_profile_row){
            .op = node->op->name, .name = node->name, .kernel = exec->kernels[i]->label, .backward = node->backward};
    }
    if (code == BL_OK)
        code = bl_graph_plan(graph, scratch_b, !exec->options.no_reuse, &exec->plan, err);
    free(scratch_b);
    return code;
}

/* Mapped, not malloc'd: aligned to large pages, which the kernel then gives where it can; and zero to begin with. */
static int map_slab(bl_exec *exec, bl_error *err)
{
    size_t bytes = exec->plan.slab_b > 0 ? exec->plan.slab_b : 1;
    void *slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a slab of %zu MiB", bytes >> 20);
    madvise(slab, bytes, MADV_HUGEPAGE);
    exec->slab = slab;
    exec->slab_mapped_b = bytes;
    return BL_OK;
}

static void point(bl_exec *exec)
{
    bl_graph *graph = exec->graph;
    for (int v = 0; v < graph->n_values; v++) {
        const bl_value_info *info = &graph->values[v];
        if (info->kind == BL_VALUE_PARAM)
            exec->pointers[v] = bl_params_value(graph->params, info->param);
        else if (info->kind == BL_VALUE_GRAD)
            exec->pointers[v] = bl_params_grad(graph->params, info->param);
        else if (info->kind == BL_VALUE_TEMP)
            exec->pointers[v] = exec->slab + exec->plan.offset[v];
    }
}

static int allocate(bl_exec *exec, bl_error *err)
{
    bl_graph *graph = exec->graph;
    exec->memory.slab_b = exec->plan.slab_b;
    exec->memory.lower_bound_b = exec->plan.lower_bound_b;
    exec->memory.naive_b = exec->plan.naive_b;
    exec->memory.activations_b = exec->plan.forward_b;
    exec->memory.gradients_b = exec->plan.backward_b;
    exec->memory.workspace_b = exec->plan.scratch_b;
    uint64_t limit = exec->options.memory_limit_b, wanted = exec->plan.slab_b + exec->memory.weights_b;
    if (limit > 0 && wanted > limit)
        return BL_FAIL(err, BL_ERR_NOMEM, "%zu MiB are needed, %zu MiB are allowed", (size_t)(wanted >> 20),
                       (size_t)(limit >> 20));
    if (exec->options.plan_only)
        return BL_OK;
    int code = bl_params_alloc(graph->params, graph->mode == BL_MODE_TRAIN, err);
    exec->memory.params_b = bl_params_bytes(graph->params);
    exec->pointers = bl_calloc((size_t)graph->n_values, sizeof *exec->pointers);
    exec->inputs = bl_calloc((size_t)graph->n_values, sizeof *exec->inputs);
    if (code == BL_OK && (!exec->pointers || !exec->inputs))
        code = no_memory(err);
    if (code == BL_OK)
        code = map_slab(exec, err);
    if (code == BL_OK)
        point(exec);
    return code;
}

int bl_exec_new(const bl_backend *backend, bl_graph *graph, const bl_exec_options *options, bl_exec **out,
                bl_error *err)
{
    bl_exec *exec = bl_calloc(1, sizeof *exec);
    if (!exec) {
        bl_graph_free(graph);
        return no_memory(err);
    }
    exec->backend = backend;
    exec->graph = graph;
    if (options)
        exec->options = *options;
    int code = backend->open(exec->options.n_threads, exec->options.precision, exec->options.joint, &exec->state, err);
    if (code == BL_OK)
        code = transform(exec, err);
    if (code == BL_OK)
        code = lower(exec, err);
    if (code == BL_OK)
        code = allocate(exec, err);
    if (code != BL_OK) {
        bl_exec_free(exec);
        return code;
    }
    *out = exec;
    return BL_OK;
}

void bl_exec_free(bl_exec *exec)
{
    if (!exec)
        return;
    for (int i = 0; exec->kernels && i < exec->graph->n_nodes; i++) {
        bl_kernel *kernel = exec->kernels[i];
        if (kernel && kernel->free)
            kernel->free(kernel);
        else
            free(kernel);
    }
    if (exec->slab)
        munmap(exec->slab, exec->slab_mapped_b);
    if (exec->state)
        exec->backend->close(exec->state);
    bl_plan_result_clear(&exec->plan);
    bl_graph_free(exec->graph);
    free(exec->kernels);
    free(exec->rows);
    free(exec->inputs);
    free(exec->pointers);
    free(exec);
}

/* ---- running ---- */

int bl_exec_bind(bl_exec *exec, const char *name, const void *data, bl_error *err)
{
    bl_value v = bl_graph_find_value(exec->graph, name);
    if (v < 0 || exec->graph->values[v].kind != BL_VALUE_INPUT || !exec->pointers)
        return BL_FAIL(err, BL_ERR_INTERNAL, "the graph has no input '%s'", name);
    exec->inputs[v] = data;
    exec->pointers[v] = (void *)data; /* read only: no op writes to an input */
    return BL_OK;
}

static int run_node(bl_exec *exec, int index, bl_error *err)
{
    const bl_node *node = &exec->graph->nodes[index];
    bl_kernel *kernel = exec->kernels[index];
    void *in[BL_MAX_IN] = {NULL}, *out[BL_MAX_OUT] = {NULL};
    for (int k = 0; k < node->n_in; k++) {
        if (node->in[k] < 0)
            continue;
        in[k] = exec->pointers[node->in[k]];
        if (!in[k])
            return BL_FAIL(err, BL_ERR_INTERNAL, "input '%s' is not bound", exec->graph->values[node->in[k]].name);
    }
    for (int k = 0; k < node->n_out; k++)
        out[k] = node->out[k] >= 0 ? exec->pointers[node->out[k]] : NULL;
    kernel->seed = exec->options.seed;
    kernel->step = exec->step;
    kernel->first_sample = (uint64_t)exec->options.first_sample;
    return kernel->run(kernel, in, out, exec->slab + exec->plan.scratch_offset[index], err);
}

int bl_exec_run(bl_exec *exec, bl_error *err)
{
    if (!exec->slab)
        return BL_FAIL(err, BL_ERR_INTERNAL, "this executor only plans");
    for (int i = 0; i < exec->graph->n_nodes; i++) {
        int64_t before_ns = exec->options.profile ? bl_clock_ns() : 0;
        int code = run_node(exec, i, err);
        if (code == BL_OK && exec->watch.after)
            code = exec->watch.after(exec->watch.context, i, err);
        if (code != BL_OK)
            return code;
        if (exec->options.profile) {
            exec->rows[i].calls++;
            exec->rows[i].total_ns += bl_clock_ns() - before_ns;
        }
    }
    exec->step += exec->graph->mode == BL_MODE_TRAIN;
    return BL_OK;
}

int bl_exec_run_node(bl_exec *exec, int node, bl_error *err)
{
    if (!exec->slab || node < 0 || node >= exec->graph->n_nodes)
        return BL_FAIL(err, BL_ERR_INTERNAL, "no node %d to run", node);
    return run_node(exec, node, err);
}

int bl_exec_read(const bl_exec *exec, const char *name, float *out, int64_t n, bl_error *err)
{
    bl_value v = bl_graph_find_value(exec->graph, name);
    if (v < 0 || !exec->graph->values[v].is_output || !exec->slab)
        return BL_FAIL(err, BL_ERR_INTERNAL, "the graph has no output '%s'", name);
    const bl_value_info *info = &exec->graph->values[v];
    if (n != bl_shape_count(&info->shape))
        return BL_FAIL(err, BL_ERR_INTERNAL, "output '%s' has %lld elements, not %lld", name,
                       (long long)bl_shape_count(&info->shape), (long long)n);
    return bl_layout_copy_f32(&info->shape, &info->layout, exec->pointers[v], &BL_PLAIN, out, err);
}

void bl_exec_set_watch(bl_exec *exec, const bl_exec_watch *watch)
{
    exec->watch = *watch;
}

const void *bl_exec_data(const bl_exec *exec, bl_value value)
{
    return exec->pointers[value];
}

void bl_exec_set_step(bl_exec *exec, uint64_t step)
{
    exec->step = step;
}

const bl_exec_memory *bl_exec_memory_info(const bl_exec *exec)
{
    return &exec->memory;
}

int bl_exec_profile(const bl_exec *exec, const bl_exec_profile_row **out)
{
    *out = exec->rows;
    return exec->options.profile ? exec->graph->n_nodes : 0;
}

const bl_graph *bl_exec_graph(const bl_exec *exec)
{
    return exec->graph;
}
