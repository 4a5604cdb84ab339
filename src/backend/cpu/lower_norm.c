/* Batch normalisation by the project's kernels. */
#include "backend/cpu/internal.h"
#include "backend/cpu/kernels/batchnorm.h"
#include "graph/op.h"

static bl_k_norm norm_of(const bl_node *node, const float *gamma, const float *beta, const float *mean,
                         const float *var)
{
    return (bl_k_norm){.gamma = gamma,
                       .beta = beta,
                       .mean = mean,
                       .var = var,
                       .eps = node->attrs.norm.eps,
                       .act = node->attrs.norm.act};
}

static int run_train(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], NULL, NULL);
    if (!out[0]) /* those who read the result normalise by themselves */
        bl_k_bn_stats(&k->image, in[0], out[1], out[2], scratch);
    else
        bl_k_bn_train(&k->image, &norm, in[0], in[3], out[1], out[2], out[0], scratch);
    return BL_OK;
}

static int run_apply(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], in[3], in[4]);
    bl_k_bn_apply(&k->image, &norm, in[0], NULL, in[5], out[0], scratch);
    return BL_OK;
}

static int run_grad(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], in[3], in[4]);
    float pixels = (float)k->image.h * (float)k->image.w;
    bl_k_bn_dy dy = {.dy = in[5], .gate = in[6], .add = in[7], .add_scale = 1 / pixels};
    bl_k_bn_grad(&k->image, &norm, in[0], &dy, out[0], out[1], out[2], scratch);
    return BL_OK;
}

static int run_track(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    /* Only the counts matter here, and x may lie in any layout. */
    const bl_shape *shape = &k->graph->values[k->node->in[5]].shape;
    bl_k_shape x = {.n = (int)(bl_shape_count(shape) / shape->dim[1]), .c = (int)shape->dim[1], .h = 1, .w = 1};
    bl_k_bn_track(&x, k->node->attrs.norm.momentum, in[3], in[4], out[0], out[1]);
    *(float *)out[2] += 1;
    return BL_OK;
}

int bl_cpu_lower_norm(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    kernel->base.run = node->op == &bl_op_norm_act         ? run_train
                       : node->op == &bl_op_norm_act_apply ? run_apply
                       : node->op == &bl_op_norm_act_grad  ? run_grad
                                                           : run_track;
    kernel->base.scratch_b = node->op == &bl_op_norm_track ? 0 : bl_k_bn_scratch_b(&kernel->image);
    return BL_OK;
}
