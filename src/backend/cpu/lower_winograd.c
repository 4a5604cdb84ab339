/* Dense 3 x 3 convolutions that the project's Winograd kernels do faster than oneDNN's direct ones. */
#include <omp.h>

#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/winograd.h"
#include "graph/op.h"

static bool is_blocked(const bl_graph *graph, bl_value v)
{
    return graph->values[v].layout.kind == BL_LAYOUT_BLOCKED;
}

/* Is it a convolution that the kernels know, whatever its size? */
static bool is_known(const bl_graph *graph, const bl_node *node)
{
    const bl_conv_attrs *a = &node->attrs.conv;
    bl_cpu_conv v = bl_cpu_conv_of(node);
    for (int axis = 0; axis < 2; axis++)
        if (a->kernel[axis] != 3 || a->stride[axis] != 1 || a->dilation[axis] != 1 || a->pad[axis] != a->pad[0])
            return false;
    return a->groups == 1 && !v.bias && node->norm_at == 0 && is_blocked(graph, v.x) && is_blocked(graph, v.y);
}

static bl_k_wino shape_of(const bl_graph *graph, const bl_node *node, int block, int threads)
{
    bl_cpu_conv v = bl_cpu_conv_of(node);
    const bl_shape *x = &graph->values[v.x].shape, *y = &graph->values[v.y].shape;
    return (bl_k_wino){.n = (int)x->dim[0],
                       .c = (int)x->dim[1],
                       .k = (int)y->dim[1],
                       .block = block,
                       .h = (int)x->dim[2],
                       .w = (int)x->dim[3],
                       .pad = node->attrs.conv.pad[0],
                       .threads = threads};
}

static bl_k_wino_kind kind_of(const bl_node *node)
{
    return node->op == &bl_op_conv2d             ? BL_K_WINO_FORWARD
           : node->op == &bl_op_conv2d_grad_data ? BL_K_WINO_GRAD_DATA
                                                 : BL_K_WINO_GRAD_WEIGHTS;
}

static int run(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_wino shape = shape_of(k->graph, k->node, k->image.block, k->threads);
    switch (kind_of(k->node)) {
    case BL_K_WINO_FORWARD:
        bl_k_wino_forward(&shape, in[0], in[1], out[0], scratch);
        break;
    case BL_K_WINO_GRAD_DATA:
        bl_k_wino_grad_data(&shape, in[0], in[1], out[0], scratch);
        break;
    case BL_K_WINO_GRAD_WEIGHTS:
        bl_k_wino_grad_weights(&shape, in[0], in[1], out[0], scratch);
        break;
    }
    return BL_OK;
}

bool bl_cpu_lower_winograd(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel)
{
    static const char *const labels[BL_K_N_ISA] = {"winograd:portable", "winograd:avx2", "winograd:avx512"};
    int threads = omp_get_max_threads();
    /* Its transforms would round at other places than a direct convolution does. */
    if (cpu->precision != BL_PRECISION_FLOAT32 || !is_known(graph, node))
        return false;
    bl_k_wino shape = shape_of(graph, node, cpu->block, threads);
    bl_k_wino_kind kind = kind_of(node);
    if (!bl_k_wino_pays(&shape, kind))
        return false;
    kernel->image.block = cpu->block;
    kernel->threads = threads;
    kernel->base.run = run;
    kernel->base.label = labels[bl_k_active()];
    kernel->base.scratch_b = bl_k_wino_scratch_b(&shape, kind);
    return true;
}
