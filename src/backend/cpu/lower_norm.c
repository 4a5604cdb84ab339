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

/* The sums over all processes lie behind what the kernels work in. */
static double *sums_in(const bl_cpu_kernel *k, void *scratch)
{
    return (double *)(void *)((char *)scratch + (bl_k_bn_scratch_b(&k->image) + 7) / 8 * 8);
}

static double whole_count(const bl_cpu_kernel *k)
{
    return (double)k->image.n * (double)k->image.h * (double)k->image.w * k->joint->parts;
}

static int run_joint_train(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    double *sums = sums_in(k, scratch);
    bl_k_bn_stats(&k->image, in[0], out[1], out[2], scratch);
    bl_k_bn_part_sums(&k->image, out[1], out[2], sums);
    int code = k->joint->sum(k->joint->context, sums, 2 * k->image.c, err);
    if (code != BL_OK)
        return code;
    bl_k_bn_whole_stats(k->image.c, sums, whole_count(k), out[1], out[2]);
    bl_k_norm norm = norm_of(k->node, in[1], in[2], out[1], out[2]);
    if (out[0])
        bl_k_bn_apply(&k->image, &norm, in[0], NULL, in[3], out[0], scratch);
    return BL_OK;
}

static int run_apply(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], in[3], in[4]);
    bl_k_bn_apply(&k->image, &norm, in[0], NULL, in[5], out[0], scratch);
    return BL_OK;
}

static bl_k_bn_dy dy_of(const bl_cpu_kernel *k, void *const *in)
{
    float pixels = (float)k->image.h * (float)k->image.w;
    return (bl_k_bn_dy){.dy = in[5], .gate = in[6], .add = in[7], .add_scale = 1 / pixels};
}

static int run_grad(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], in[3], in[4]);
    bl_k_bn_dy dy = dy_of(k, in);
    bl_k_bn_grad(&k->image, &norm, in[0], &dy, out[0], out[1], out[2], scratch);
    return BL_OK;
}

static int run_joint_grad(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    bl_k_norm norm = norm_of(k->node, in[1], in[2], in[3], in[4]);
    bl_k_bn_dy dy = dy_of(k, in);
    double *sums = sums_in(k, scratch);
    bl_k_bn_grad_sums(&k->image, &norm, in[0], &dy, sums, out[1], out[2], scratch);
    int code = k->joint->sum(k->joint->context, sums, 2 * k->image.c, err);
    if (code == BL_OK && out[0])
        bl_k_bn_grad_apply(&k->image, &norm, in[0], &dy, sums, whole_count(k), out[0]);
    return code;
}

static int run_track(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)
{
    const bl_cpu_kernel *k = (const bl_cpu_kernel *)base;
    /* Only the counts matter here, and x may lie in any layout. */
    const bl_shape *shape = &k->graph->values[k->node->in[5]].shape;
    int64_t own = bl_shape_count(shape) / shape->dim[1];
    double n = (double)own * (k->joint ? k->joint->parts : 1);
    bl_k_bn_track((int)shape->dim[1], n, k->node->attrs.norm.momentum, in[3], in[4], out[0], out[1]);
    *(float *)out[2] += 1;
    return BL_OK;
}

int bl_cpu_lower_norm(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    kernel->joint = cpu->joint;
    kernel->base.run = node->op == &bl_op_norm_act         ? cpu->joint ? run_joint_train : run_train
                       : node->op == &bl_op_norm_act_apply ? run_apply
                       : node->op == &bl_op_norm_act_grad  ? cpu->joint ? run_joint_grad : run_grad
                                                           : run_track;
    kernel->base.scratch_b = node->op == &bl_op_norm_track ? 0 : bl_k_bn_scratch_b(&kernel->image);
    if (cpu->joint && node->op != &bl_op_norm_track)
        kernel->base.scratch_b += 2 * (size_t)kernel->image.c * sizeof(double) + 8;
    return BL_OK;
}
