/* The detectors' loss (detect/loss.h). Its gradient is made together with it, so that predictions are assigned to boxes
 * once a step, and waits as further outputs until the backward pass wants it. */
#include "graph/op.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "detect/loss.h"

enum { LOSS, PARTS, GRADS }; /* outputs */

int bl_detection_batch(const bl_node *node, const bl_shape *const *in, bl_detect_batch *out, bl_error *err)
{
    const bl_detect_spec *spec = &node->attrs.detection.setup->spec;
    const bl_shape *targets = in[node->n_in - 1];
    char text[128];
    *out = (bl_detect_batch){.n_heads = node->n_in - 1};
    int code = bl_detect_spec_check(spec, err);
    if (code != BL_OK)
        return code;
    if (out->n_heads > BL_DETECT_MAX_HEADS || targets->n_dims != 2 || targets->dim[1] != BL_DETECT_TARGET_COLS)
        return BL_FAIL(err, BL_ERR_INTERNAL, "%d heads with targets of %s", out->n_heads,
                       bl_shape_format(targets, text, sizeof text));
    for (int k = 0; k < out->n_heads; k++) {
        const bl_shape *lead = in[k % spec->n_levels], *head = in[k];
        if (head->n_dims != 4 || !bl_shape_equal(head, lead) || head->dim[0] != in[0]->dim[0] ||
            head->dim[1] != BL_DETECT_ANCHORS * (5 + spec->n_classes) || bl_shape_count(head) > INT32_MAX)
            return BL_FAIL(err, BL_ERR_INTERNAL, "a head of %s does not predict %d classes",
                           bl_shape_format(head, text, sizeof text), spec->n_classes);
        out->h[k % spec->n_levels] = (int)head->dim[2];
        out->w[k % spec->n_levels] = (int)head->dim[3];
    }
    out->n = (int)in[0]->dim[0];
    out->n_targets = targets->dim[0];
    return bl_detect_batch_check(spec, out, err);
}

static int infer_detection(const bl_node *node, const bl_shape *const *in, bl_shape *out, bl_error *err)
{
    bl_detect_batch batch;
    int code = bl_detection_batch(node, in, &batch, err);
    if (code != BL_OK)
        return code;
    out[LOSS] = BL_SHAPE1(1);
    out[PARTS] = BL_SHAPE1(3);
    for (int k = 0; k < BL_DETECT_MAX_HEADS; k++)
        out[GRADS + k] = k < batch.n_heads && node->attrs.detection.gradient ? *in[k] : BL_SHAPE_ABSENT;
    return BL_OK;
}

static int gradient_detection(bl_graph *graph, int index, const bl_value *d_out, bl_value *d_in, bl_error *err)
{
    const bl_node node = graph->nodes[index];
    int code = BL_OK;
    for (int k = 0; code == BL_OK && k < node.n_in - 1 && node.attrs.detection.gradient; k++) {
        if (!graph->values[node.in[k]].needs_grad)
            continue;
        d_in[k] = node.out[GRADS + k];
        if (d_out[LOSS] >= 0)
            code = bl_graph_emit(graph, &bl_op_detection_loss_grad, NULL, (bl_value[]){d_in[k], d_out[LOSS]}, 2,
                                 node.name, &d_in[k], err);
    }
    return code;
}

static int reference_detection(const bl_ref_call *call, bl_error *err)
{
    const bl_detect_loss_setup *setup = call->node->attrs.detection.setup;
    bl_detect_batch batch;
    bl_detect_losses losses;
    size_t bytes = 0;
    int code = bl_detection_batch(call->node, call->in_shape, &batch, err);
    if (code == BL_OK)
        code = bl_detect_loss_scratch_b(setup, &batch, &bytes, err);
    if (code != BL_OK)
        return code;
    batch.wide = true;
    for (int k = 0; k < batch.n_heads; k++) {
        batch.head[k] = call->in[k];
        batch.grad[k] = call->node->attrs.detection.gradient ? call->out[GRADS + k] : NULL;
    }
    batch.targets = call->in[batch.n_heads];
    void *scratch = bl_calloc(1, bytes);
    code = scratch ? bl_detect_loss(setup, &batch, scratch, &losses, err)
                   : BL_FAIL(err, BL_ERR_NOMEM, "no memory for the detection loss");
    free(scratch);
    if (code != BL_OK)
        return code;
    call->out[LOSS][0] = losses.loss;
    for (int k = 0; k < 3; k++)
        call->out[PARTS][k] = losses.parts[k];
    return BL_OK;
}

static int reference_scaled(const bl_ref_call *call, bl_error *err)
{
    for (int64_t i = 0; i < bl_shape_count(call->in_shape[0]); i++)
        call->out[0][i] = call->in[0][i] * call->in[1][0];
    return BL_OK;
}

const bl_op bl_op_detection_loss = {.name = "detection_loss",
                                    .min_in = 2,
                                    .max_in = 1 + BL_DETECT_MAX_HEADS,
                                    .n_out = GRADS + BL_DETECT_MAX_HEADS,
                                    .layout = BL_OP_PLAIN,
                                    .infer = infer_detection,
                                    .gradient = gradient_detection,
                                    .reference = reference_detection};
const bl_op bl_op_detection_loss_grad = {.name = "detection_loss_grad",
                                         .min_in = 2,
                                         .max_in = 2,
                                         .n_out = 1,
                                         .layout = BL_OP_PLAIN,
                                         .in_place = {{1}},
                                         .infer = bl_op_infer_first,
                                         .reference = reference_scaled};
