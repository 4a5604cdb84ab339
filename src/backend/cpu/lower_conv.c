/* Convolutions: depthwise ones and those of 3 x 3 by the project's kernels, the others by oneDNN. */
#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/depthwise.h"
#include "graph/op.h"

bl_cpu_conv bl_cpu_conv_of(const bl_node *node)
{
    if (node->op == &bl_op_conv2d)
        return (bl_cpu_conv){node->in[0], node->in[1], node->out[0], node->n_in > 2 && node->in[2] >= 0};
    if (node->op == &bl_op_conv2d_grad_data)
        return (bl_cpu_conv){node->out[0], node->in[1], node->in[0], false};
    return (bl_cpu_conv){node->in[0], node->in[2], node->in[1], node->n_in > 3 && node->in[3] >= 0};
}

static bl_k_dw describe_depthwise(const bl_graph *graph, const bl_node *node, int block)
{
    bl_cpu_conv v = bl_cpu_conv_of(node);
    const bl_shape *x = &graph->values[v.x].shape, *y = &graph->values[v.y].shape;
    return (bl_k_dw){.n = (int)x->dim[0],
                     .c = (int)x->dim[1],
                     .block = block,
                     .ih = (int)x->dim[2],
                     .iw = (int)x->dim[3],
                     .oh = (int)y->dim[2],
                     .ow = (int)y->dim[3],
                     .k = node->attrs.conv.kernel[0],
                     .stride = node->attrs.conv.stride[0],
                     .pad = node->attrs.conv.pad[0]};
}

static int run_depthwise(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    bl_cpu_kernel *k = (bl_cpu_kernel *)base;
    bl_k_dw dw = describe_depthwise(k->graph, k->node, k->image.block);
    bl_k_norm storage;
    const bl_k_norm *norm = bl_cpu_absorbed(k->node, in, &storage);
    if (k->node->op == &bl_op_conv2d)
        bl_k_dw_forward(&dw, norm, in[0], in[1], in[2], out[0], scratch);
    else if (k->node->op == &bl_op_conv2d_grad_data)
        bl_k_dw_grad_data(&dw, in[0], in[1], out[0], scratch);
    else
        bl_k_dw_grad_weights(&dw, norm, in[0], in[1], out[0], bl_cpu_conv_of(k->node).bias ? out[1] : NULL, scratch);
    return BL_OK;
}

bool bl_cpu_weights_changed(bl_cpu_kernel *k)
{
    uint64_t version = bl_params_version(k->graph->params);
    bool changed = !k->ran || version != k->params_version;
    k->ran = true;
    k->params_version = version;
    return changed;
}

static int run_forward(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    bl_cpu_kernel *k = (bl_cpu_kernel *)base;
    return bl_dnnl_conv_forward(k->conv, in[0], in[1], in[2], out[0], scratch, bl_cpu_weights_changed(k), err);
}

static int run_grad_data(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    return bl_dnnl_conv_grad_data(((bl_cpu_kernel *)base)->conv, in[0], in[1], out[0], scratch, err);
}

static int run_grad_weights(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    return bl_dnnl_conv_grad_weights(((bl_cpu_kernel *)base)->conv, in[0], in[1], out[0], out[1], scratch, err);
}

int bl_cpu_make_conv(bl_cpu *cpu, const bl_graph *graph, const bl_dnnl_conv_desc *desc, bl_dnnl_conv_kind kind,
                     bl_cpu_kernel *kernel, bl_error *err)
{
    int code = bl_dnnl_conv_new(cpu->dnnl, desc, kind, graph->mode == BL_MODE_EVAL, &kernel->conv, err);
    if (code != BL_OK)
        return code;
    kernel->base.scratch_b = bl_dnnl_conv_scratch_b(kernel->conv);
    kernel->base.kept_b = bl_dnnl_conv_kept_b(kernel->conv);
    kernel->base.label = bl_dnnl_conv_implementation(kernel->conv);
    return BL_OK;
}

static int lower_dense(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    bl_cpu_conv v = bl_cpu_conv_of(node);
    const bl_shape *x = &graph->values[v.x].shape, *y = &graph->values[v.y].shape;
    const bl_conv_attrs *a = &node->attrs.conv;
    bool plain_x = graph->values[v.x].layout.kind == BL_LAYOUT_PLAIN && graph->values[v.x].kind == BL_VALUE_INPUT;
    bl_dnnl_conv_desc desc = {.n = (int)x->dim[0],
                              .c = (int)x->dim[1],
                              .h = (int)x->dim[2],
                              .w = (int)x->dim[3],
                              .o = (int)y->dim[1],
                              .oh = (int)y->dim[2],
                              .ow = (int)y->dim[3],
                              .kernel = {a->kernel[0], a->kernel[1]},
                              .stride = {a->stride[0], a->stride[1]},
                              .pad = {a->pad[0], a->pad[1]},
                              .dilation = {a->dilation[0], a->dilation[1]},
                              .groups = a->groups,
                              .bias = v.bias,
                              .plain_x = plain_x,
                              .block = cpu->block,
                              .precision = cpu->precision};
    bl_dnnl_conv_kind kind = BL_DNNL_FORWARD;
    kernel->base.run = run_forward;
    if (node->op == &bl_op_conv2d_grad_data) {
        kind = BL_DNNL_GRAD_DATA;
        kernel->base.run = run_grad_data;
    } else if (node->op == &bl_op_conv2d_grad_weights) {
        kind = BL_DNNL_GRAD_WEIGHTS;
        kernel->base.run = run_grad_weights;
    }
    return bl_cpu_make_conv(cpu, graph, &desc, kind, kernel, err);
}

int bl_cpu_lower_conv(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    if (!bl_cpu_is_depthwise(graph, node) && bl_cpu_lower_winograd(cpu, graph, node, kernel))
        return BL_OK;
    if (!bl_cpu_is_depthwise(graph, node))
        return lower_dense(cpu, graph, node, kernel, err);
    bl_k_dw dw = describe_depthwise(graph, node, cpu->block);
    if (dw.k > BL_K_DW_MAX)
        return BL_FAIL(err, BL_ERR_INTERNAL, "a depthwise filter of %d x %d is too large", dw.k, dw.k);
    kernel->image.block = cpu->block;
    kernel->base.run = run_depthwise;
    kernel->base.scratch_b = bl_k_dw_scratch_b(&dw);
    return BL_OK;
}
