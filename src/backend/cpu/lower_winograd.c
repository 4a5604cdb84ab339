/* Dense 3 x 3 convolutions that the project's Winograd kernels do faster than oneDNN's direct ones. */
#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/winograd.h"
#include "graph/op.h"

static bool is_blocked(const bl_graph *graph, bl_value v)
{
    return graph->values[v].layout.kind == BL_LAYOUT_BLOCKED;
}

/* The values of the convolution that a node belongs to; false where the node wants what the kernels do not do. */
static bool describe(const bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_k_wino *out,
                     bl_k_wino_kind *kind)
{
    const bl_conv_attrs *a = &node->attrs.conv;
    bl_value x, y;
    bool bias = false;
    if (node->op == &bl_op_conv2d) {
        *kind = BL_K_WINO_FORWARD;
        x = node->in[0];
        y = node->out[0];
        bias = node->n_in > 2 && node->in[2] >= 0;
    } else if (node->op == &bl_op_conv2d_grad_data) {
        *kind = BL_K_WINO_GRAD_DATA;
        x = node->out[0];
        y = node->in[0];
    } else {
        *kind = BL_K_WINO_GRAD_WEIGHTS;
        x = node->in[0];
        y = node->in[1];
        bias = node->n_in > 3 && node->in[3] >= 0;
    }
    for (int axis = 0; axis < 2; axis++)
        if (a->kernel[axis] != 3 || a->stride[axis] != 1 || a->dilation[axis] != 1)
            return false;
    if (a->groups != 1 || a->pad[0] != a->pad[1] || bias || node->norm_at > 0 || !is_blocked(graph, x) ||
        !is_blocked(graph, y))
        return false;
    const bl_shape *in = &graph->values[x].shape;
    *out = (bl_k_wino){.n = (int)in->dim[0],
                       .c = (int)in->dim[1],
                       .k = (int)graph->values[y].shape.dim[1],
                       .block = cpu->block,
                       .h = (int)in->dim[2],
                       .w = (int)in->dim[3],
                       .pad = a->pad[0]};
    return true;
}

static int run(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    bl_cpu_kernel *k = (bl_cpu_kernel *)base;
    bl_k_wino shape;
    bl_k_wino_kind kind;
    bl_cpu cpu = {.block = k->image.block};
    if (!describe(&cpu, k->graph, k->node, &shape, &kind))
        return BL_FAIL(err, BL_ERR_INTERNAL, "a convolution has changed since its kernel was chosen");
    if (kind == BL_K_WINO_FORWARD)
        bl_k_wino_forward(&shape, in[0], in[1], out[0], scratch);
    else if (kind == BL_K_WINO_GRAD_DATA)
        bl_k_wino_grad_data(&shape, in[0], in[1], out[0], scratch);
    else
        bl_k_wino_grad_weights(&shape, in[0], in[1], out[0], scratch);
    return BL_OK;
}

bool bl_cpu_lower_winograd(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel)
{
    static const char *const labels[BL_K_N_ISA] = {"winograd:portable", "winograd:avx2", "winograd:avx512"};
    bl_k_wino shape;
    bl_k_wino_kind kind;
    if (!describe(cpu, graph, node, &shape, &kind) || !bl_k_wino_pays(&shape, kind))
        return false;
    kernel->image.block = cpu->block;
    kernel->base.run = run;
    kernel->base.label = labels[bl_k_active()];
    kernel->base.scratch_b = bl_k_wino_scratch_b(&shape, kind);
    return true;
}
