#include "backend/cpu/cpu.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/layernorm.h"
#include "base/alloc.h"
#include "graph/op.h"

int bl_cpu_allowed_threads(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int open_cpu(int n_threads, bl_precision precision, const bl_joint *joint, void **state, bl_error *err)
{
    bl_cpu *cpu = bl_calloc(1, sizeof *cpu);
    if (!cpu)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the CPU backend");
    omp_set_num_threads(n_threads > 0 ? n_threads : bl_cpu_allowed_threads());
    int code = bl_dnnl_open(&cpu->dnnl, err);
    if (code == BL_OK && precision == BL_PRECISION_BFLOAT16)
        code = bl_dnnl_require_bfloat16(cpu->dnnl, err);
    if (code != BL_OK) {
        bl_dnnl_close(cpu->dnnl);
        free(cpu);
        return code;
    }
    cpu->precision = precision;
    cpu->joint = joint;
    cpu->block = bl_dnnl_preferred_block(cpu->dnnl);
    *state = cpu;
    return BL_OK;
}

static void close_cpu(void *state)
{
    bl_cpu *cpu = state;
    bl_dnnl_close(cpu->dnnl);
    free(cpu);
}

bool bl_cpu_is_depthwise(const bl_graph *graph, const bl_node *node)
{
    const bl_conv_attrs *a = &node->attrs.conv;
    /* The filter is (C, 1, k, k): output 0 of the weights' gradient, input 1 of the others. */
    bl_value filter = node->op == &bl_op_conv2d_grad_weights ? node->in[2] : node->in[1];
    const bl_shape *w = &graph->values[filter].shape;
    return a->groups > 1 && w->dim[0] == a->groups && w->dim[1] == 1 && a->kernel[0] == a->kernel[1] &&
           a->stride[0] == a->stride[1] && a->pad[0] == a->pad[1] && a->dilation[0] == 1 && a->dilation[1] == 1;
}

bl_k_shape bl_cpu_shape(const bl_graph *graph, bl_value v)
{
    const bl_value_info *info = &graph->values[v];
    if (info->shape.n_dims == 4 && info->layout.kind == BL_LAYOUT_BLOCKED)
        return (bl_k_shape){.n = (int)info->shape.dim[0],
                            .c = (int)info->shape.dim[1],
                            .h = (int)info->shape.dim[2],
                            .w = (int)info->shape.dim[3],
                            .block = info->layout.block};
    return (bl_k_shape){.n = 1, .c = (int)bl_shape_count(&info->shape), .h = 1, .w = 1, .block = 1};
}

const bl_k_norm *bl_cpu_absorbed(const bl_node *node, void *const *in, bl_k_norm *out)
{
    if (node->norm_at == 0)
        return NULL;
    void *const *at = in + node->norm_at;
    *out = (bl_k_norm){
        .gamma = at[0], .beta = at[1], .mean = at[2], .var = at[3], .eps = node->norm.eps, .act = node->norm.act};
    return out;
}

static void free_kernel(bl_kernel *kernel)
{
    bl_cpu_kernel *k = (bl_cpu_kernel *)kernel;
    bl_dnnl_conv_free(k->conv);
    free(k);
}

/* Counts of elements and extents are ints here and in oneDNN. */
static int check_extents(const bl_graph *graph, const bl_node *node, bl_error *err)
{
    char text[128];
    for (int k = 0; k < node->n_in + node->n_out; k++) {
        bl_value v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
        if (v >= 0 && bl_shape_count(&graph->values[v].shape) > INT32_MAX)
            return BL_FAIL(err, BL_ERR_NOMEM, "a tensor of %s is too large",
                           bl_shape_format(&graph->values[v].shape, text, sizeof text));
    }
    return BL_OK;
}

/* The kernels normalise images, and rows of whole vectors; other matrices are rare enough for the reference. */
static bool has_kernel(const bl_graph *graph, const bl_node *node)
{
    bool batch = node->op == &bl_op_norm_act || node->op == &bl_op_norm_act_apply || node->op == &bl_op_norm_act_grad;
    bool layer = node->op == &bl_op_layer_norm || node->op == &bl_op_layer_norm_grad;
    const bl_shape *x = &graph->values[node->in[0] >= 0 ? node->in[0] : node->out[0]].shape;
    bool image = x->n_dims == 4, rows = layer && x->dim[x->n_dims == 3 ? 2 : 1] % BL_K_MATRIX_C == 0;
    return !(batch || layer) || image || rows;
}

static bool joint_without_kernel(const bl_cpu *cpu, const bl_graph *graph, const bl_node *node)
{
    bool batch = node->op == &bl_op_norm_act || node->op == &bl_op_norm_act_grad;
    return cpu->joint && batch && !has_kernel(graph, node);
}

int bl_cpu_lower(void *state, const bl_graph *graph, const bl_node *node, bl_kernel **out, bl_error *err)
{
    static const struct {
        const bl_op *op;
        bl_cpu_lowering *lower;
    } table[] = {
        {&bl_op_conv2d, bl_cpu_lower_conv},
        {&bl_op_conv2d_grad_data, bl_cpu_lower_conv},
        {&bl_op_conv2d_grad_weights, bl_cpu_lower_conv},
        {&bl_op_linear, bl_cpu_lower_linear},
        {&bl_op_linear_grad_data, bl_cpu_lower_linear},
        {&bl_op_linear_grad_weights, bl_cpu_lower_linear},
        {&bl_op_attention, bl_cpu_lower_attention},
        {&bl_op_attention_grad, bl_cpu_lower_attention},
        {&bl_op_patches, bl_cpu_lower_attention},
        {&bl_op_patches_grad, bl_cpu_lower_attention},
        {&bl_op_tokens, bl_cpu_lower_attention},
        {&bl_op_tokens_grad, bl_cpu_lower_attention},
        {&bl_op_first_token, bl_cpu_lower_attention},
        {&bl_op_first_token_grad, bl_cpu_lower_attention},
        {&bl_op_norm_act, bl_cpu_lower_norm},
        {&bl_op_norm_act_apply, bl_cpu_lower_norm},
        {&bl_op_norm_act_grad, bl_cpu_lower_norm},
        {&bl_op_norm_track, bl_cpu_lower_norm},
        {&bl_op_detection_loss, bl_cpu_lower_detect},
        {&bl_op_detection_loss_grad, bl_cpu_lower_detect},
    };
    int code = check_extents(graph, node, err);
    if (code == BL_OK && joint_without_kernel(state, graph, node))
        code = BL_FAIL(err, BL_ERR_USAGE, "only the batch normalisation of images can be taken over several processes");
    if (code == BL_OK && !has_kernel(graph, node))
        return bl_cpu_lower_reference(graph, node, out, err);
    bl_cpu_kernel *kernel = code == BL_OK ? bl_calloc(1, sizeof *kernel) : NULL;
    if (!kernel)
        return code != BL_OK ? code : BL_FAIL(err, BL_ERR_NOMEM, "no memory for a kernel");
    bl_cpu_lowering *lower = bl_cpu_lower_plain;
    for (size_t i = 0; i < BL_ARRAY_LEN(table); i++)
        if (table[i].op == node->op)
            lower = table[i].lower;
    kernel->graph = graph;
    kernel->node = node;
    kernel->base.free = free_kernel;
    kernel->base.label = bl_k_isa_name(bl_k_active());
    bl_value main_value = node->in[0] >= 0 ? node->in[0] : node->out[0];
    kernel->image = bl_cpu_shape(graph, main_value);
    kernel->count = bl_k_count(&kernel->image);
    code = lower(state, graph, node, kernel, err);
    if (code != BL_OK) {
        free_kernel(&kernel->base);
        return code;
    }
    *out = &kernel->base;
    return BL_OK;
}

const bl_backend bl_backend_cpu = {
    .name = "cpu",
    .open = open_cpu,
    .close = close_cpu,
    .assign_layouts = bl_cpu_assign_layouts,
    .lower = bl_cpu_lower,
};

const char *bl_cpu_describe(void)
{
    static char text[96];
    snprintf(text, sizeof text, "oneDNN %s, own kernels %s", bl_dnnl_version(), bl_k_isa_name(bl_k_active()));
    return text;
}
