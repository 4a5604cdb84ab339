/* Everything that has no file of its own: a run function an op. */
#include "backend/cpu/internal.h"

#include <string.h>

#include "backend/cpu/kernels/branch.h"
#include "backend/cpu/kernels/channels.h"
#include "backend/cpu/kernels/excite.h"
#include "backend/cpu/kernels/layernorm.h"
#include "backend/cpu/kernels/maxpool.h"
#include "backend/cpu/kernels/pointwise.h"
#include "graph/op.h"

#define RUN(name) static int name(bl_kernel *base, void *const *in, void *const *out, void *scratch, bl_error *err)

static const bl_cpu_kernel *self(const bl_kernel *base)
{
    return (const bl_cpu_kernel *)base;
}

static const bl_shape *shape_of(const bl_cpu_kernel *k, bl_value v)
{
    return &k->graph->values[v].shape;
}

RUN(run_activation)
{
    bl_k_act_forward(&self(base)->image, self(base)->node->attrs.act, in[0], out[0]);
    return BL_OK;
}

RUN(run_activation_grad)
{
    bl_k_act_grad(self(base)->count, self(base)->node->attrs.act, in[0], in[1], out[0]);
    return BL_OK;
}

RUN(run_add)
{
    bl_k_add(self(base)->count, in[0], in[1], out[0]);
    return BL_OK;
}

RUN(run_gate)
{
    bl_k_norm norm;
    bl_k_gate_forward(&self(base)->image, bl_cpu_absorbed(self(base)->node, in, &norm), in[0], in[1], out[0], scratch);
    return BL_OK;
}

RUN(run_gate_grad)
{
    bl_k_norm norm;
    bl_k_gate_grad(&self(base)->image, bl_cpu_absorbed(self(base)->node, in, &norm), in[0], in[1], in[2], out[0],
                   out[1], scratch);
    return BL_OK;
}

RUN(run_dropout)
{
    const bl_dropout_attrs *a = &self(base)->node->attrs.dropout;
    const bl_shape *x = &self(base)->graph->values[self(base)->node->in[0]].shape;
    bl_k_dropout dropout = {.p = a->p,
                            .stream = a->stream,
                            .seed = base->seed,
                            .step = base->step,
                            .first = base->first_sample * (uint64_t)(bl_shape_count(x) / x->dim[0])};
    bl_k_dropout_apply(&self(base)->image, &dropout, in[0], out[0]);
    return BL_OK;
}

RUN(run_copy)
{
    const bl_value_info *from = &self(base)->graph->values[self(base)->node->in[0]];
    const bl_value_info *to = &self(base)->graph->values[self(base)->node->out[0]];
    bl_k_shape blocked = bl_cpu_shape(
        self(base)->graph, to->layout.kind == BL_LAYOUT_BLOCKED ? self(base)->node->out[0] : self(base)->node->in[0]);
    if (bl_layout_equal(&from->layout, &to->layout))
        memcpy(out[0], in[0], self(base)->count * sizeof(float));
    else if (to->layout.kind == BL_LAYOUT_BLOCKED)
        bl_k_to_blocked(&blocked, in[0], out[0]);
    else
        bl_k_to_plain(&blocked, in[0], out[0]);
    return BL_OK;
}

RUN(run_pool)
{
    bl_k_norm norm;
    bl_k_pool_forward(&self(base)->image, bl_cpu_absorbed(self(base)->node, in, &norm), in[0], out[0], scratch);
    return BL_OK;
}

RUN(run_pool_grad)
{
    bl_k_shape x = bl_cpu_shape(self(base)->graph, self(base)->node->out[0]);
    bl_k_pool_grad(&x, in[0], out[0]);
    return BL_OK;
}

static bl_k_maxpool maxpool_of(const bl_cpu_kernel *k, bl_value y)
{
    const bl_conv_attrs *a = &k->node->attrs.conv;
    return (bl_k_maxpool){.x = k->image,
                          .oh = (int)shape_of(k, y)->dim[2],
                          .ow = (int)shape_of(k, y)->dim[3],
                          .k = a->kernel[0],
                          .stride = a->stride[0],
                          .pad = a->pad[0]};
}

RUN(run_max_pool)
{
    bl_k_norm norm;
    bl_k_maxpool pool = maxpool_of(self(base), self(base)->node->out[0]);
    bl_k_maxpool_forward(&pool, bl_cpu_absorbed(self(base)->node, in, &norm), in[0], out[0]);
    return BL_OK;
}

RUN(run_max_pool_grad)
{
    bl_k_norm norm;
    bl_k_maxpool pool = maxpool_of(self(base), self(base)->node->in[1]);
    bl_k_maxpool_grad(&pool, bl_cpu_absorbed(self(base)->node, in, &norm), in[0], in[1], out[0]);
    return BL_OK;
}

static bl_k_rows rows_of(const bl_cpu_kernel *k)
{
    const bl_shape *x = shape_of(k, k->node->in[0]);
    int64_t c = x->dim[x->n_dims == 3 ? 2 : 1];
    return x->n_dims == 4 ? bl_k_rows_of_image(&k->image) : bl_k_rows_of_matrix((int)(bl_shape_count(x) / c), (int)c);
}

RUN(run_layer_norm)
{
    bl_k_rows rows = rows_of(self(base));
    bl_k_layernorm_forward(&rows, in[1], in[2], self(base)->node->attrs.norm.eps, in[0], out[0], out[1], out[2]);
    return BL_OK;
}

RUN(run_layer_norm_grad)
{
    bl_k_rows rows = rows_of(self(base));
    bl_k_layernorm_grad(&rows, in[1], in[2], in[3], in[0], in[4], out[0], out[1], out[2], scratch);
    return BL_OK;
}

RUN(run_channel_scale)
{
    bl_k_scale_forward(&self(base)->image, in[1], in[0], out[0]);
    return BL_OK;
}

RUN(run_channel_scale_grad)
{
    bl_k_scale_grad(&self(base)->image, in[1], in[0], in[2], out[0], out[1], scratch);
    return BL_OK;
}

RUN(run_channel_shift)
{
    bl_k_shift_forward(&self(base)->image, in[1], in[0], out[0]);
    return BL_OK;
}

RUN(run_channel_sum)
{
    bl_k_channel_sum(&self(base)->image, in[0], out[0], scratch);
    return BL_OK;
}

/* The image's shape with another number of channels: tensors of one node share the rest. */
static bl_k_shape with_channels(const bl_cpu_kernel *k, bl_value v)
{
    bl_k_shape shape = k->image;
    shape.c = (int)shape_of(k, v)->dim[1];
    return shape;
}

RUN(run_concat)
{
    const bl_node *node = self(base)->node;
    bl_k_shape y = with_channels(self(base), node->out[0]);
    int start = 0;
    for (int i = 0; i < node->n_in; i++) {
        bl_k_shape x = with_channels(self(base), node->in[i]);
        bl_k_copy_channels(&x, in[i], 0, &y, out[0], start, x.c);
        start += x.c;
    }
    bl_k_clear_padding_of(&y, out[0]);
    return BL_OK;
}

RUN(run_slice)
{
    const bl_node *node = self(base)->node;
    bl_k_shape y = with_channels(self(base), node->out[0]);
    bl_k_copy_channels(&self(base)->image, in[0], node->attrs.slice.start, &y, out[0], 0, y.c);
    bl_k_clear_padding_of(&y, out[0]);
    return BL_OK;
}

RUN(run_upsample)
{
    bl_k_upsample_forward(&self(base)->image, in[0], out[0]);
    return BL_OK;
}

RUN(run_upsample_grad)
{
    bl_k_shape x = self(base)->image;
    x.h /= 2;
    x.w /= 2;
    bl_k_upsample_grad(&x, in[0], out[0]);
    return BL_OK;
}

RUN(run_space_to_depth)
{
    const bl_shape *x = shape_of(self(base), self(base)->node->in[0]);
    bl_k_space_to_depth((int)x->dim[0], (int)x->dim[1], (int)x->dim[2], (int)x->dim[3], in[0], out[0]);
    return BL_OK;
}

RUN(run_depth_to_space)
{
    const bl_shape *x = shape_of(self(base), self(base)->node->out[0]);
    bl_k_depth_to_space((int)x->dim[0], (int)x->dim[1], (int)x->dim[2], (int)x->dim[3], in[0], out[0]);
    return BL_OK;
}

/* What is dropped is whole samples, however they lie. */
static bl_k_shape by_samples(const bl_cpu_kernel *k)
{
    int n = (int)shape_of(k, k->node->in[0])->dim[0];
    return (bl_k_shape){.n = n, .c = (int)(k->count / (size_t)n), .h = 1, .w = 1, .block = 1};
}

RUN(run_drop_path)
{
    const bl_dropout_attrs *a = &self(base)->node->attrs.dropout;
    bl_k_dropout dropout = {
        .p = a->p, .stream = a->stream, .seed = base->seed, .step = base->step, .first = base->first_sample};
    bl_k_drop_path(&self(base)->image, &dropout, in[0], out[0]);
    return BL_OK;
}

RUN(run_reshape)
{
    if (in[0] != out[0])
        memcpy(out[0], in[0], (size_t)bl_shape_count(shape_of(self(base), self(base)->node->out[0])) * sizeof(float));
    return BL_OK;
}

/* others_at: the input that holds the other labels of mixed samples, before their share. */
static bl_k_targets targets_of(const bl_node *node, void *const *in, int others_at)
{
    bool mixed = node->n_in > others_at;
    return (bl_k_targets){.labels = in[1],
                          .others = mixed ? in[others_at] : NULL,
                          .share = mixed ? *(const float *)in[others_at + 1] : 1,
                          .smoothing = node->attrs.loss.label_smoothing};
}

RUN(run_loss)
{
    const bl_shape *x = shape_of(self(base), self(base)->node->in[0]);
    const bl_k_targets targets = targets_of(self(base)->node, in, 2);
    double loss;
    bl_k_softmax_loss((int)x->dim[0], (int)x->dim[1], in[0], &targets, out[1], &loss, NULL);
    *(float *)out[0] = (float)loss;
    return BL_OK;
}

RUN(run_loss_grad)
{
    const bl_shape *x = shape_of(self(base), self(base)->node->in[0]);
    const bl_k_targets targets = targets_of(self(base)->node, in, 3);
    const float *dloss = in[2];
    bl_k_softmax_loss_grad((int)x->dim[0], (int)x->dim[1], in[0], &targets, dloss ? *dloss : 1, out[0]);
    return BL_OK;
}

int bl_cpu_lower_plain(bl_cpu *cpu, const bl_graph *graph, const bl_node *node, bl_cpu_kernel *kernel, bl_error *err)
{
    static const struct {
        const bl_op *op;
        int (*run)(bl_kernel *, void *const *, void *const *, void *, bl_error *);
    } table[] = {
        {&bl_op_activation, run_activation},
        {&bl_op_activation_grad, run_activation_grad},
        {&bl_op_add, run_add},
        {&bl_op_gate, run_gate},
        {&bl_op_gate_grad, run_gate_grad},
        {&bl_op_dropout, run_dropout},
        {&bl_op_dropout_grad, run_dropout},
        {&bl_op_copy, run_copy},
        {&bl_op_global_avg_pool, run_pool},
        {&bl_op_global_avg_pool_grad, run_pool_grad},
        {&bl_op_layer_norm, run_layer_norm},
        {&bl_op_layer_norm_grad, run_layer_norm_grad},
        {&bl_op_channel_scale, run_channel_scale},
        {&bl_op_channel_scale_grad, run_channel_scale_grad},
        {&bl_op_channel_shift, run_channel_shift},
        {&bl_op_channel_sum, run_channel_sum},
        {&bl_op_concat, run_concat},
        {&bl_op_slice, run_slice},
        {&bl_op_upsample, run_upsample},
        {&bl_op_upsample_grad, run_upsample_grad},
        {&bl_op_space_to_depth, run_space_to_depth},
        {&bl_op_depth_to_space, run_depth_to_space},
        {&bl_op_drop_path, run_drop_path},
        {&bl_op_drop_path_grad, run_drop_path},
        {&bl_op_max_pool, run_max_pool},
        {&bl_op_max_pool_grad, run_max_pool_grad},
        {&bl_op_reshape, run_reshape},
        {&bl_op_softmax_loss, run_loss},
        {&bl_op_softmax_loss_grad, run_loss_grad},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(table); i++)
        if (table[i].op == node->op)
            kernel->base.run = table[i].run;
    if (!kernel->base.run)
        return BL_FAIL(err, BL_ERR_INTERNAL, "the CPU backend has no kernel for it");
    /* The blocked image of an input that may have come as (N, C) in memory. */
    if (node->op->layout == BL_OP_IMAGE && graph->values[node->in[0]].shape.n_dims == 4) {
        const bl_shape *x = &graph->values[node->in[0]].shape;
        kernel->image = (bl_k_shape){
            .n = (int)x->dim[0], .c = (int)x->dim[1], .h = (int)x->dim[2], .w = (int)x->dim[3], .block = cpu->block};
        kernel->count = bl_k_count(&kernel->image);
    }
    if (node->op == &bl_op_drop_path || node->op == &bl_op_drop_path_grad)
        kernel->image = by_samples(kernel);
    bl_k_rows rows = {0};
    if (node->op == &bl_op_layer_norm_grad)
        rows = rows_of(kernel);
    kernel->base.scratch_b = node->op == &bl_op_layer_norm_grad      ? bl_k_layernorm_grad_scratch_b(&rows)
                             : node->op == &bl_op_channel_scale_grad ? bl_k_scale_grad_scratch_b(&kernel->image)
                             : node->op == &bl_op_channel_sum        ? bl_k_channel_sum_scratch_b(&kernel->image)
                                                                     : bl_k_excite_scratch_b(&kernel->image);
    return BL_OK;
}
