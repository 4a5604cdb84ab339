#include <string.h>

#include "graph/op.h"

const bl_op *const bl_op_table[] = {
    &bl_op_conv2d,
    &bl_op_conv2d_grad_data,
    &bl_op_conv2d_grad_weights,
    &bl_op_norm_act,
    &bl_op_norm_act_apply,
    &bl_op_norm_act_grad,
    &bl_op_norm_track,
    &bl_op_activation,
    &bl_op_activation_grad,
    &bl_op_add,
    &bl_op_gate,
    &bl_op_gate_grad,
    &bl_op_dropout,
    &bl_op_dropout_grad,
    &bl_op_copy,
    &bl_op_layer_norm,
    &bl_op_layer_norm_grad,
    &bl_op_channel_scale,
    &bl_op_channel_scale_grad,
    &bl_op_channel_shift,
    &bl_op_channel_sum,
    &bl_op_drop_path,
    &bl_op_drop_path_grad,
    &bl_op_concat,
    &bl_op_slice,
    &bl_op_upsample,
    &bl_op_upsample_grad,
    &bl_op_space_to_depth,
    &bl_op_depth_to_space,
    &bl_op_patches,
    &bl_op_patches_grad,
    &bl_op_tokens,
    &bl_op_tokens_grad,
    &bl_op_first_token,
    &bl_op_first_token_grad,
    &bl_op_attention,
    &bl_op_attention_grad,
    &bl_op_global_avg_pool,
    &bl_op_global_avg_pool_grad,
    &bl_op_max_pool,
    &bl_op_max_pool_grad,
    &bl_op_reshape,
    &bl_op_linear,
    &bl_op_linear_grad_data,
    &bl_op_linear_grad_weights,
    &bl_op_softmax_loss,
    &bl_op_softmax_loss_grad,
    &bl_op_detection_loss,
    &bl_op_detection_loss_grad,
    NULL,
};

const bl_op *bl_op_find(const char *name)
{
    for (size_t i = 0; bl_op_table[i]; i++)
        if (strcmp(bl_op_table[i]->name, name) == 0)
            return bl_op_table[i];
    return NULL;
}

int bl_op_infer_first(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    out[0] = *in[0];
    return BL_OK;
}
